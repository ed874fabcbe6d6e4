"""One writer for each run folder, and clear words where nothing can be written."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sim import Run, RunConfig, train
from sim.runs.lock import only_writer
from theory import InputError

Make = Callable[..., RunConfig]


def _hold(path: Path, held: Any) -> None:
    with only_writer(path):
        held.set()
        signal.pause()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Any]:
    """A process that holds the lock of the run that ``small()`` makes in ``tmp_path``."""
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=_hold, args=(tmp_path / "gamma0.8_seed0", held))
    process.start()
    assert held.wait(60)
    yield process
    process.kill()
    process.join()


def test_a_second_process_is_refused_until_the_first_ends(holder: Any, small: Make, tmp_path: Path) -> None:
    refusal = rf"gamma0.8_seed0': process {holder.pid} is writing this run; wait"
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(InputError, match=refusal):
            train(small(), tmp_path, **options)
    assert not (tmp_path / "gamma0.8_seed0").exists()
    holder.kill()
    holder.join()
    # What a killed holder leaves behind stops nobody, and is gone in the end.
    assert (tmp_path / ".gamma0.8_seed0.lock").exists()
    assert train(small(), tmp_path)[0].provenance["status"] == "complete"
    assert [p.name for p in tmp_path.iterdir()] == ["gamma0.8_seed0"]


def test_worker_processes_pass_a_refusal_on(holder: Any, small: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"process {holder.pid} is writing"):
        train(small(seeds=[0, 1]), tmp_path, workers=2)


def test_the_lock_knows_when_its_file_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first holder removes its file between another's opening and locking: the other must start over."""
    path = tmp_path / "run"
    opened = []
    original = os.open

    def open_late(file: Any, *arguments: Any) -> int:
        descriptor = original(file, *arguments)
        opened.append(descriptor)
        if len(opened) == 1:
            Path(file).unlink()
        return descriptor

    monkeypatch.setattr(os, "open", open_late)
    with only_writer(path):
        assert len(opened) == 2
        assert (tmp_path / ".run.lock").read_text() == str(os.getpid())
    assert not list(tmp_path.iterdir())


def test_a_refusal_travels_between_processes_whole() -> None:
    error = InputError("out", "a/b", "is in use", "wait")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "out = 'a/b': is in use; wait."
    assert (copy.argument, copy.value, copy.remedy) == ("out", "a/b", "wait")


def test_a_full_disk_loses_nothing(small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third checkpoint meets a full disk; with room again the run goes on, bit for bit."""
    config = small(dtype="float64", epochs=8)
    mkstemp, fsync, checkpoints = tempfile.mkstemp, os.fsync, []

    def make(prefix: str, **options: Any) -> tuple[int, str]:
        checkpoints.extend([prefix] if prefix.startswith(".step_") else [])
        return mkstemp(prefix=prefix, **options)

    def full(file: int) -> None:
        if len(checkpoints) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkstemp", make)
        patched.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\).*--resume"):
            train(config, tmp_path / "full")
    folder = tmp_path / "full" / "gamma0.8_seed0"
    assert len(list(folder.glob("checkpoints/*"))) == 2
    with pytest.raises(InputError, match="not finished"):
        Run.open(folder)
    resumed, unbroken = train(config, tmp_path / "full", resume=True)[0], train(config, tmp_path / "whole")[0]
    assert resumed.metrics == unbroken.metrics
    assert (resumed.embedding(8) == unbroken.embedding(8)).all()


def _train_with_little_room(config: RunConfig, out: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        train(config, out)
    except InputError as error:
        (out / "said").write_text(str(error))


def test_the_systems_own_limit_is_reported(small: Make, tmp_path: Path) -> None:
    """No make-believe: the kernel refuses files above 4 KiB."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_train_with_little_room, args=(small(), tmp_path))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert "cannot be written (File too large); make room" in (tmp_path / "said").read_text()
    assert not [p for p in tmp_path.rglob(".*") if p.is_file()]


def test_a_path_that_cannot_be_a_folder_is_reported(small: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written \(Not a directory\)"):
        train(small(), tmp_path / "file" / "runs")


def _train_unprivileged(config: RunConfig, out: Path, resume: bool, said: Any) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)  # The superuser may write everywhere; nobody may not.
    try:
        train(config, out, resume=resume)
    except InputError as error:
        said.put(str(error))


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read-only", "closed"])
def test_a_folder_without_permission_is_reported(mode: int, resume: bool, small: Make) -> None:
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        out = Path(folder) / "out"
        out.mkdir()
        out.chmod(mode)
        said = context.SimpleQueue()
        process = context.Process(target=_train_unprivileged, args=(small(), out, resume, said))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert not said.empty()
        assert "cannot be written (Permission denied)" in said.get()
