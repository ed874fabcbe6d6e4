"""Nothing is replaced or deleted that this program did not write, and never through a link."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sim import Run, RunConfig, train
from sim.runs.lock import only_writer
from sim.runs.manifest import Manifest
from theory import InputError

Make = Callable[..., RunConfig]
NAME = "gamma0.8_seed0"


@pytest.fixture(scope="module")
def made(small_once: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    train(small_once, out)
    return out / NAME


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A complete run that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "out" / NAME))


def _contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def _of_version_1(folder: Path) -> None:
    """Turn a run into what this program wrote before there were manifests."""
    (folder / "manifest.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format_version": 1}))


def _overwriting_is_refused(folder: Path, small: Make, words: str) -> None:
    before = _contents(folder)
    with pytest.raises(InputError, match=words):
        train(small(), folder.parent, overwrite=True)
    assert _contents(folder) == before


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["NOTES.md", "snapshots/mine.safetensors", "sub/thesis.tex", ".gitignore"])
def test_a_users_file_in_a_run_stays(version: int, name: str, folder: Path, small: Make) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("years of work")
    if version == 1:
        _of_version_1(folder)
    _overwriting_is_refused(folder, small, rf"{name} in it was not written by this program")


def test_a_file_that_was_changed_stays(folder: Path, small: Make) -> None:
    (folder / "metrics.jsonl").write_text("{}\n")
    _overwriting_is_refused(folder, small, r"metrics.jsonl in it was not written by this program, or changed")


@pytest.mark.parametrize(
    "content", ["3", "null", "true", "[]", '"x"', '["format_version"]', '{"format_version": 1}', "\x00\xff"]
)
def test_another_programs_config_is_no_run(content: str, small: Make, tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "config.json").write_text(content, encoding="latin-1")
    (folder / "thesis.tex").write_text("years of work")
    _overwriting_is_refused(folder, small, "not a run folder")


def test_an_unfinished_run_without_a_manifest_stays(folder: Path, small: Make) -> None:
    _of_version_1(folder)
    provenance = json.loads((folder / "provenance.json").read_text())
    (folder / "provenance.json").write_text(json.dumps(provenance | {"status": "interrupted"}))
    _overwriting_is_refused(folder, small, r"not a run folder.*status: interrupted")


def test_a_complete_run_without_a_manifest_is_read_and_overwritten(folder: Path, small: Make) -> None:
    _of_version_1(folder)
    assert Run.open(folder).embedding(4).shape == (48, 8)
    assert train(small(epochs=3), folder.parent, overwrite=True)[0].config.training.epochs == 3
    assert json.loads((folder / "config.json").read_text())["format_version"] == 2


@pytest.mark.parametrize("options", [{"overwrite": True}, {"resume": True}, {}])
def test_nothing_is_written_through_a_link(options: dict[str, bool], folder: Path, small: Make) -> None:
    """Not through one in the run folder's place, nor one to a folder inside."""
    link = folder.parent.parent / "other" / NAME
    link.parent.mkdir()
    link.symlink_to(folder)
    before = _contents(folder)
    with pytest.raises(InputError, match="is a link"):
        train(small(epochs=5), link.parent, **options)
    assert _contents(folder) == before
    assert link.is_symlink()


def test_checkpoints_are_not_written_through_a_link(folder: Path, small: Make, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (folder / "checkpoints").rename(elsewhere)
    (folder / "checkpoints").symlink_to(elsewhere)
    before = _contents(elsewhere)
    provenance = json.loads((folder / "provenance.json").read_text())
    Manifest(folder).write("provenance.json", json.dumps(provenance | {"status": "interrupted"}))
    for options in ({"overwrite": True}, {"resume": True}):
        with pytest.raises(InputError, match="checkpoints"):
            train(small(), folder.parent, **options)
    assert _contents(elsewhere) == before


@pytest.mark.parametrize("content", ["years of work", "\x00\x01\xff", "12 34", "1" * 21])
def test_a_file_with_a_locks_name_stays(content: str, tmp_path: Path) -> None:
    lock = tmp_path / ".run.lock"
    lock.write_text(content, encoding="latin-1")
    before = lock.read_bytes()
    with pytest.raises(InputError, match="not a lock of this program"), only_writer(tmp_path / "run"):
        pass
    assert lock.read_bytes() == before


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("1234")
    (tmp_path / ".run.lock").symlink_to(target)
    with pytest.raises(InputError, match="not a lock of this program"), only_writer(tmp_path / "run"):
        pass
    assert target.read_text() == "1234"
    (tmp_path / ".run.lock").unlink()
    (tmp_path / ".run.lock").mkdir()
    with pytest.raises(InputError, match="not a lock of this program"), only_writer(tmp_path / "run"):
        pass


@pytest.mark.parametrize("name", ["../victim", "a/../../victim", "/etc/victim", "", "manifest.json", "."])
def test_a_manifest_lists_nothing_outside_its_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="not a file name inside"):
        Manifest(folder).write(name, "text")
    assert list(tmp_path.rglob("*")) == [folder]


def test_only_what_a_manifest_lists_is_replaced(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    manifest.write("a/own", "1")
    manifest.write("a/own", "2")
    assert not manifest.foreign()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert manifest.foreign() == [tmp_path / "link", tmp_path / "mine"]
    for name, words in (
        ("mine", "not written by this"),
        ("link", "not a regular"),
        ("link/own", "not a folder"),
    ):
        with pytest.raises(InputError, match=words):
            manifest.write(name, "3")
    manifest.write("mine", "mine")  # Nothing is lost where the same is written.
    (tmp_path / "a" / "own").write_text("1")
    manifest.write("a/own", "3")  # As after a kill between the manifest's writing and the file's.
    (tmp_path / "a" / "own").write_text("changed")
    for call in (lambda: manifest.write("a/own", "4"), lambda: manifest.remove("a/own")):
        with pytest.raises(InputError, match="was changed since"):
            call()
    assert (tmp_path / "a" / "own").read_text() == "changed"
    manifest.settle()
    assert all(isinstance(own, str) for own in json.loads((tmp_path / "manifest.json").read_text()).values())


@pytest.mark.parametrize(
    "content", ["3", "[]", '{"a": 3}', '{"a": "xyz"}', "{", '{"a": ["' + "0" * 63 + '"]}']
)
def test_a_manifest_that_is_none_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="not a list of checksums"):
        Manifest(tmp_path).write("a", "1")
    assert (tmp_path / "manifest.json").read_text() == content


def test_names_tell_close_rates_apart(small: Make, tmp_path: Path) -> None:
    """γ = 0.8 and 0.80000001 are equal to six digits."""
    rates = [0.8, 0.80000001, 0.3, 1e-7, 0.1 + 0.2]
    names = [member.name for member in small(init_rates=rates).members()]
    assert names == [
        "gamma0.8_seed0",
        "gamma0.80000001_seed0",
        "gamma0.3_seed0",
        "gamma1e-07_seed0",
        "gamma0.30000000000000004_seed0",
    ]
