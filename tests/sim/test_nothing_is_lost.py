"""Nothing is replaced or deleted that this program did not write, and never through a link."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sim import Run, find_runs, train, train_together
from sim.runs.beginning import check_folder, open_folder
from sim.runs.folder import METRICS, PLAN, RunFolder, planned_runs
from sim.runs.manifest import Manifest
from tests.run_folder import change, every_file
from tests.sim.conftest import small, small_member
from theory import InputError

NAME = "gamma0.8_seed0"


def _is_refused(folder: Path, words: str, **options: bool) -> None:
    before = every_file(folder)
    with pytest.raises(InputError, match=words):
        train(small(), folder.parent, **options)
    assert every_file(folder) == before


@pytest.mark.parametrize(
    "name",
    [
        *("snapshots/mine.safetensors", "snapshots/epoch_-1.safetensors", "checkpoints/step_abc.safetensors"),
        *("NOTES.md", "sub/thesis.tex", ".gitignore", ".thesis.json.20261123", ".anchorflow-tmp-mine"),
    ],
)
def test_a_users_file_in_a_run_stays(name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("years of work")
    _is_refused(folder, Path(name).name, overwrite=True)
    change(folder / "provenance.json", status="interrupted")
    assert train(small(), folder.parent, resume=True)[0].snapshot_epochs == (0, 2, 4)
    assert (folder / name).read_text() == "years of work"


@pytest.mark.parametrize("name", ["metrics.jsonl", "snapshots/epoch_000002.safetensors", "manifest.json"])
def test_a_file_that_was_changed_stays(name: str, folder: Path) -> None:
    (folder / name).write_text("{}\n")
    _is_refused(folder, "not written by this program|not a list of checksums", overwrite=True)


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "metrics.jsonl"])
@pytest.mark.parametrize("content", ["3", "{}", '{"format_version": 1}', "\x00\xff"])
def test_another_programs_folder_is_no_run(name: str, content: str, tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / name).write_text(content, encoding="latin-1")
    for options in ({}, {"overwrite": True}):
        _is_refused(folder, "already exists|not written by this program|not a list", **options)


@pytest.mark.parametrize("name", ["snapshots/thesis.tex", "metrics.jsonl", "config.json"])
def test_what_appears_after_the_check_stays(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def then_a_file_appears(path: Path, *args: Any, **options: Any) -> bool:
        exists = check_folder(path, *args, **options)
        (path / name).write_text("years of work")
        return exists

    monkeypatch.setattr("sim.runs.beginning.check_folder", then_a_file_appears)
    with pytest.raises(InputError, match=name):
        open_folder(folder, small_member(), overwrite=True)
    assert (folder / name).read_text() == "years of work"
    assert sorted(path.name for path in folder.parent.iterdir() if path.is_dir()) == [folder.name]


@pytest.mark.parametrize("lost", ["config.json", "provenance.json", "metrics.jsonl", "manifest.json"])
def test_a_run_that_lost_a_file_is_refused_and_not_passed_over(lost: str, folder: Path) -> None:
    (folder / lost).unlink()
    assert find_runs([folder.parent, folder]) == [folder]  # Named twice, it is one run.
    with pytest.raises(InputError, match=rf"{lost} is missing"):
        Run.open(folder)
    if lost != "provenance.json":  # A run that was killed at once has none.
        with pytest.raises(InputError, match=rf"{lost} is missing"):
            train(small(), folder.parent, resume=True)


@pytest.mark.parametrize(
    ("inside", "how"),
    [
        *itertools.product(("checkpoints", "snapshots"), ("link", "file", "lost", "closed")),
        *itertools.product(("metrics.jsonl",), ("link", "folder")),
    ],
)
def test_what_cannot_be_read_is_not_taken_for_nothing(
    inside: str, how: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is another run trained first."""
    change(folder / "provenance.json", status="interrupted")
    part, read = folder / inside, Path.iterdir

    def closed(path: Path) -> Any:
        if path == part:
            raise PermissionError(13, "Permission denied")
        return read(path)

    if how == "closed":
        monkeypatch.setattr(Path, "iterdir", closed)
    else:
        part.rename(folder.parent.parent / "away")
        makes = {"link": lambda: part.symlink_to("nowhere"), "file": part.touch, "folder": part.mkdir}
        makes.get(how, dict)()
    with pytest.raises(InputError, match=rf"{inside}.*move (it|the folder) away and train"):
        train(small(seeds=[1, 0]), folder.parent, resume=True)
    assert find_runs(folder.parent) == [folder]
    if inside != "checkpoints":
        with pytest.raises(InputError, match=inside):
            Run.open(folder, unfinished=True)


@pytest.mark.parametrize("content", ["3", '{"todo": 1}', "[1]", '[{"todo": 1}]'])
def test_a_users_own_plans_are_refused_by_their_file(content: str, tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text(content)
    with pytest.raises(InputError, match=PLAN):
        planned_runs(tmp_path)


@pytest.mark.parametrize("which", ["new", "old"])
def test_what_a_kill_left_of_a_replacement_is_no_run(which: str, folder: Path) -> None:
    """Else a run that was to be replaced would count beside the one in its place."""
    left = folder.with_name(f".{folder.name}.anchorflow-{which}")
    shutil.copytree(folder, left)
    assert find_runs(folder.parent) == [folder]
    open_folder(folder, small_member(), resume=True)
    assert not left.exists()


def test_a_run_that_was_not_begun_is_told_how_to_begin(tmp_path: Path) -> None:
    """As where several processes train and all are stopped: the folders are there from the beginning."""
    open_folder(tmp_path / NAME, small_member())
    for unfinished in (False, True):
        with pytest.raises(InputError, match=r"status: not begun\); continue it: anchorflow train --resume"):
            Run.open(tmp_path / NAME, unfinished=unfinished)


@pytest.mark.parametrize("options", [{"overwrite": True}, {"resume": True}, {}])
def test_nothing_is_written_through_a_link(options: dict[str, bool], folder: Path) -> None:
    """Not through one in the run folder's place."""
    link = folder.parent.parent / "other" / NAME
    link.parent.mkdir()
    link.symlink_to(folder)
    before = every_file(folder)
    with pytest.raises(InputError, match="is a link"):
        train(small(epochs=5), link.parent, **options)
    assert every_file(folder) == before
    link.unlink()
    link.symlink_to(link.name)  # To itself.
    with pytest.raises(InputError, match="is a link"):
        train(small(), link.parent, **options)


@pytest.mark.parametrize("action", ["move", "delete", "lose its configuration"])
def test_training_stops_when_its_folder_is_gone(action: str, tmp_path: Path) -> None:
    """At the next write; what the message says to do then works."""
    (member,) = small(epochs=9, evaluate_every=1).members()
    path, away = tmp_path / NAME, tmp_path / "away"

    def disturb(progress: Any) -> None:
        if progress.epoch == 3 and action == "move":
            path.rename(away)
        elif progress.epoch == 3 and action == "delete":
            shutil.rmtree(path)
        elif progress.epoch == 3:
            (path / "config.json").rename(away)
        assert progress.epoch <= 3

    with pytest.raises(InputError, match=r"moved or deleted.*put it back.*--resume, or train into a new"):
        train_together([member], [path], report=disturb)
    if action != "delete":
        away.rename(path if action == "move" else path / "config.json")
        train_together([member], [path], resume=True)
    else:
        train_together([member], [path])
    assert Run.open(path).metrics == train(small(epochs=9, evaluate_every=1), tmp_path / "whole")[0].metrics


def test_only_what_a_manifest_lists_is_replaced(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.write("a/own", "1")
    manifest.write("a/own", "2")
    assert manifest.foreign() == []
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert manifest.foreign() == [tmp_path / "link", tmp_path / "mine"]
    for name, words in (
        ("mine", "not written by this"),
        ("link", "is a link"),
        ("link/own", "is a link"),
        ("../mine", "not a file of this folder"),
    ):
        with pytest.raises(InputError, match=words):
            manifest.write(name, "3")
    manifest.write("mine", "mine")  # Nothing is lost where the same is written.
    (tmp_path / "a" / "own").write_text("changed")
    for call in (lambda: manifest.write("a/own", "4"), lambda: manifest.remove("a/own")):
        with pytest.raises(InputError, match="was changed since"):
            call()
    assert (tmp_path / "a" / "own").read_text() == "changed"
    (tmp_path / "a" / "own").write_text("2")
    manifest.write("a/own", "5")
    assert all(isinstance(own, str) for own in json.loads((tmp_path / "manifest.json").read_text()).values())


def test_a_kill_while_a_line_is_written_leaves_the_lines_before_it(folder: Path) -> None:
    """What a user then writes at the end is neither taken for such a line nor cut off."""
    written, file = RunFolder(folder), folder / METRICS
    before, lines = written.read_metrics(), file.read_bytes()
    later = before[-1] | {"epoch": 5, "step": before[-1]["step"] + 9}
    written.append_metrics(later)
    assert file.read_bytes().startswith(lines)
    assert written.read_metrics() == [*before, later]
    file.write_bytes(lines + b'{"epoch": 5, "st')
    assert written.read_metrics() == before
    assert not written.foreign()
    written.mend(METRICS)
    assert file.read_bytes() == lines
    file.write_bytes(lines + b"years of work")
    written.mend(METRICS)
    with pytest.raises(InputError, match="differs from its checksum"):
        written.read_metrics()
    with pytest.raises(InputError, match="was changed"):
        written.append_metrics(later)
    assert written.foreign() == [file]
