"""Run folders: what they hold, what is refused, one writer for each, that nothing is overwritten unasked."""

import datetime
import errno
import fcntl
import json
import os
import platform
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sim import Progress, Run, RunFolder, build_dataset, train, train_members, train_together
from sim.config.run import make_run_config, sources
from sim.errors import BusyError, UnwritableError
from sim.runs.files import is_being_written, only_writer
from sim.runs.folder import read_config
from sim.runs.manifest import Listed, Manifest
from sim.runs.records import CheckpointState
from tests.run_folder import change
from tests.sim.conftest import small, small_member, stopped_after
from theory import InputError, token_label_matrix


@pytest.fixture
def run(folder: Path) -> Run:
    return Run.open(folder)


def test_a_run_folder_holds_what_it_should(run: Run) -> None:
    assert run.config == small_member()
    assert run.snapshot_epochs == (0, 2, 4)
    assert [line["epoch"] for line in run.metrics] == [0, 2, 4]
    assert set(run.metrics[0]["loss"]) == {"mem", "rsn_train", "rsn_test"}
    assert run.embedding(4).shape == (48, 8)
    assert run.initial().W2.shape == (12, 48)
    # Small weights: the first loss is that of a uniform guess over the vocabulary, ln 48.
    assert run.metrics[0]["loss"]["mem"] == pytest.approx(np.log(48), abs=1e-2)
    assert not list(run.path.rglob(".*"))
    assert len(list((run.path / "checkpoints").iterdir())) == 2


def test_every_entry_of_a_runs_record_is_what_its_name_says(run: Run) -> None:
    found, when = dict(run.provenance), datetime.datetime
    assert when.now(datetime.UTC) - when.fromisoformat(found.pop("written")) < datetime.timedelta(hours=1)
    assert re.fullmatch("[0-9a-f]{40}", found.pop("commit") or 40 * "0")
    dirty, diff = found.pop("dirty"), found.pop("diff")
    assert (dirty, diff) == (None, None) or isinstance(dirty, bool)
    assert dirty or not diff
    assert found.pop("versions")["torch"] == torch.__version__
    assert found.pop("matmul")["route"] in found["arithmetic"]
    assert found.pop("kernels")["used"] in found.pop("arithmetic")
    assert 0 < found.pop("wall_seconds") < 300
    assert 30 < found.pop("peak_memory_mib") < 30_000
    assert found.pop("sources")["training.epochs"] == "user"
    assert found.pop("processor")
    assert found == {
        **{"status": "complete", "reason": None, "epoch": 4, "seed": 0, "trained_with": ["gamma0.8_seed0"]},
        **{"python": platform.python_version(), "system": platform.platform(), "device": "cpu", "threads": 1},
        **{"parts": [], "tokenizer": None, "model_file": None},
    }


def test_the_two_newest_checkpoints_up_to_a_step_are_kept(folder: Path) -> None:
    run = RunFolder(folder)
    before = run.checkpoint_steps()
    for step in (30, 31, 32, 33):
        state = CheckpointState(
            epoch=4, position=0, step=step, sum_learning_rate=0.0, failure=None, seconds=0.0
        )
        run.write_checkpoint({"w": np.zeros(1)}, state)
    assert len(before) == 2
    assert run.checkpoint_steps() == [33, 32]
    run.drop_checkpoints(32)
    assert run.checkpoint_steps() == [32]
    assert {name for name in run.listed() if "step" in name} == {"checkpoints/step_000000032.safetensors"}


def test_saved_statistics_are_those_of_the_training_data(run: Run) -> None:
    data = build_dataset(run.config)
    expected = token_label_matrix(data.tokens[data.train].numpy(), data.labels[data.train].numpy(), 48)
    np.testing.assert_allclose(run.token_label_matrix, expected, atol=1e-15)


def test_a_run_remembers_where_its_settings_come_from(tmp_path: Path) -> None:
    """Also when it is continued with the configuration of its folder, which does not know."""
    told = make_run_config(dict(small()) | {"sources": {"model.d_m": "sibling"}}).members()
    path = tmp_path / "run"
    assert train_together(told, [path], stop=stopped_after(5)) == "interrupted"
    assert RunFolder(path).read_provenance()["status"] == "interrupted"
    assert train_together([read_config(path)], [path], resume=True) == "complete"
    run = Run.open(path)
    assert run.provenance["sources"]["model.d_m"] == "sibling"
    assert sources(run.config)["model.d_m"] == "user"
    assert sources(run.config, run.provenance["sources"])["model.d_m"] == "sibling"


@pytest.mark.parametrize(
    ("name", "key", "value", "words"),
    [
        ("provenance.json", "status", "running", r"not finished \(status: running\)"),
        ("config.json", "format_version", 99, "format version 99"),
        ("config.json", "colour", "red", "colour"),
    ],
)
def test_an_unreadable_run_is_refused_by_name(name: str, key: str, value: Any, words: str, run: Run) -> None:
    change(run.path / name, **{key: value})
    with pytest.raises(InputError, match=words):
        Run.open(run.path)


def test_a_missing_run_and_a_missing_snapshot_are_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; check the path, or train into it"):
        Run.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="epoch = 3"):
        run.embedding(3)
    with pytest.raises(InputError, match=r"epoch = 4\.0: not an integer"):
        run.embedding(4.0)


def test_a_signal_after_the_last_step_is_obeyed(tmp_path: Path) -> None:
    """Else a command would go on to what comes after its training."""

    def report(progress: Progress) -> None:
        if progress.has_ended:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt) as stopped:
        train(small(), tmp_path, report=report)
    assert stopped.value.args == (signal.SIGTERM,)
    assert Run.open(tmp_path / "gamma0.8_seed0").metrics[-1]["epoch"] == 4


def test_a_run_goes_on_from_inside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member, path = small_member(), tmp_path / "run"
    assert train_together([member], [path], stop=stopped_after(5)) == "interrupted"
    for place, name in ((path, "."), (path / "snapshots", "..")):
        monkeypatch.chdir(place)
        train_members([member], [name], resume=True)
    assert Run.open(path).metrics[-1]["epoch"] == member.training.epochs


def test_no_member_is_refused() -> None:
    with pytest.raises(InputError, match="give at least one"):
        train_together([], [])


def test_a_folder_for_two_runs_is_refused_before_any_is_replaced(folder: Path) -> None:
    with pytest.raises(InputError, match="a folder for two runs; give each its own"):
        train_members(small(seeds=[0, 1]).members(), [folder, folder], overwrite=True)
    assert Run.open(folder).config == small_member()


def test_a_diverged_run_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    options = {"optimizer": "sgd", "weight_decay": 0.01, "clip_norm": 0.0, "dtype": "float32"}
    wild = small(learning_rate=1e30, seeds=[0, 1], **options)
    with pytest.raises(InputError, match=r"diverged at step \d+.*smaller training.learning_rate"):
        train(wild, tmp_path)
    for name in ("gamma0.8_seed0", "gamma0.8_seed1"):
        provenance = json.loads((tmp_path / name / "provenance.json").read_text())
        assert provenance["status"] == "diverged"
        assert (tmp_path / name / "metrics.jsonl").exists()
    last = small(learning_rate=1e39, epochs=1, batch_size="full", **options)
    with pytest.raises(InputError, match=r"diverged at step 0: it left weights that are not finite"):
        train(last, tmp_path / "last")


@pytest.mark.parametrize("unfinished", [False, True])
def test_what_is_left_of_an_unfinished_run_is_read_on_request_alone(run: Run, unfinished: bool) -> None:
    told = f"run = {str(run.path)!r}: not finished"
    change(run.path / "provenance.json", status="interrupted")
    if unfinished:
        assert Run.open(run.path, unfinished=True).metrics == run.metrics
        (run.path / "metrics.jsonl").unlink()  # As before the first evaluation.
    with pytest.raises(InputError, match=re.escape(told)) as refused:
        Run.open(run.path, unfinished=unfinished)
    assert f"anchorflow train --resume {run.path}" in str(refused.value)


def test_an_unfinished_run_ends_with_its_evaluations(tmp_path: Path) -> None:
    """Killed before its first checkpoint, it begins again beside the snapshots that it had."""
    member, path = small_member(checkpoint_every=50), tmp_path / "run"

    def kill(progress: Progress) -> None:
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_together([member], [path], report=kill)
    assert Run.open(path, unfinished=True).snapshot_epochs == (0, 2)
    train_together([member], [path], resume=True, stop=stopped_after(1))
    assert Run.open(path, unfinished=True).snapshot_epochs == (0,)


def test_a_run_survives_a_change_of_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is another one of that name."""
    other = train(small(seeds=[5]), tmp_path / "other")[0].path
    for place, own in (("here", run.path), ("there", other)):
        shutil.copytree(own, tmp_path / place / "run")
    monkeypatch.chdir(tmp_path / "here")
    opened = Run.open("run")
    monkeypatch.chdir(tmp_path / "there")
    assert (opened.embedding(4) == run.embedding(4)).all()


def test_a_file_replaced_while_it_is_read_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content is read first, and then the list of checksums."""
    listed = Manifest.listed

    def replaced_before(manifest: Manifest) -> Listed:
        monkeypatch.undo()
        change(folder / "provenance.json", status="interrupted")
        return listed(manifest)

    monkeypatch.setattr(Manifest, "listed", replaced_before)
    assert RunFolder(folder).read_provenance()["status"] == "interrupted"


def test_a_second_process_is_refused_until_the_first_ends(holder: Any, tmp_path: Path) -> None:
    refusal = r"gamma0.8_seed0': another process is writing it; wait"
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(InputError, match=refusal):
            train(small(), tmp_path, **options)
    assert not (tmp_path / "gamma0.8_seed0").exists()
    holder.kill()
    holder.join()
    # The file that a killed holder leaves behind stops nobody, and is gone in the end.
    assert is_being_written(tmp_path / "gamma0.8_seed0") is False
    assert train(small(), tmp_path)[0].provenance["status"] == "complete"
    assert [p.name for p in tmp_path.iterdir()] == ["gamma0.8_seed0"]


def test_two_never_hold_a_lock_at_a_time(tmp_path: Path) -> None:
    """Also where one removes the file while another has opened it and waits to lock it."""
    inside, most, taken = 0, 0, 0

    def take(_: int) -> None:
        nonlocal inside, most, taken
        for _ in range(100):
            with suppress(BusyError), only_writer(tmp_path / "run"):
                inside += 1
                most = max(most, inside)
                time.sleep(1e-5)
                inside -= 1
                taken += 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert most == 1
    assert taken > 20
    assert not list(tmp_path.iterdir())


def test_of_two_commands_with_the_same_runs_one_does_nothing(tmp_path: Path) -> None:
    """Else each would train some of them, and both would end with an error."""
    begun, let_go = threading.Event(), threading.Event()
    config = small(seeds=[0, 1])

    def first() -> None:
        train(config, tmp_path, report=lambda _: (begun.set(), let_go.wait(60)))

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(first)
        assert begun.wait(60)
        with pytest.raises(BusyError, match=r"gamma0\.8_seed0': another process is writing it"):
            train(small(seeds=[1, 0]), tmp_path, resume=True)
        assert not (tmp_path / "gamma0.8_seed1").exists()
        train(small(seeds=[2]), tmp_path)  # Other runs of the folder are free.
        let_go.set()
        done.result()
    assert len(train(config, tmp_path, resume=True)) == 2


def test_where_nothing_is_left_to_train_nothing_is_locked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complete runs may lie where nobody may write."""
    monkeypatch.setattr("sim.training.launch.only_writer", None)
    assert train(small(), folder.parent, resume=True)[0].path == folder


@pytest.mark.parametrize("code", ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINTR", "EACCES"])
def test_a_file_system_without_locks_is_named(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some say EACCES, which elsewhere means that another process has it; they say it of a new one too."""

    def flock(*_: Any) -> None:
        raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(UnwritableError, match=r"its file system has no locks .*: name a folder elsewhere"):
        train(small(), tmp_path)
    assert not (tmp_path / "gamma0.8_seed0").exists()


def _work_unprivileged(work: Callable[[Path], object], out: Path, said: Any) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)  # The superuser may write everywhere; nobody may not.
    try:
        work(out)
    except InputError as error:
        said.put(str(error))


@pytest.mark.parametrize(
    ("work", "problem"),
    [
        (partial(train, small()), "cannot be written (Permission denied)"),
        (partial(train, small(), resume=True), "cannot be written (Permission denied)"),
        (Run.open, "not a run folder"),
    ],
)
@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read-only", "closed"])
def test_a_folder_without_permission_is_reported(
    mode: int, work: Callable[[Path], object], problem: str, forked: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        out = Path(folder) / "out"
        out.mkdir()
        out.chmod(mode)
        said = forked.SimpleQueue()
        process = forked.Process(target=_work_unprivileged, args=(work, out, said))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert not said.empty()
        assert problem in said.get()
