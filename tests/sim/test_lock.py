"""One writer for each run folder, and clear words where nothing can be written."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sim import RunConfig, train
from sim.errors import BusyError
from sim.runs.lock import is_being_written, only_writer
from sim.training.engines import local
from tests.sim.conftest import TRANSFORMER
from theory import InputError

Make = Callable[..., RunConfig]


def _hold(path: Path, held: Any) -> None:
    with only_writer(path):
        held.set()
        signal.pause()


@pytest.fixture
def holder(forked: Any, tmp_path: Path) -> Iterator[Any]:
    """A process that holds the lock of the run that ``small()`` makes in ``tmp_path``."""
    held = forked.Event()
    process = forked.Process(target=_hold, args=(tmp_path / "gamma0.8_seed0", held))
    process.start()
    assert held.wait(60)
    yield process
    process.kill()
    process.join()


def test_a_second_process_is_refused_until_the_first_ends(holder: Any, small: Make, tmp_path: Path) -> None:
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


def test_worker_processes_pass_a_refusal_on(
    holder: Any, forked: Any, monkeypatch: pytest.MonkeyPatch, small: Make, tmp_path: Path
) -> None:
    monkeypatch.setattr(local, "_CONTEXT", forked)
    with pytest.raises(InputError, match="another process is writing"):
        train(small(seeds=[0, 1]), tmp_path, workers=2)


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


def test_a_refusal_travels_between_processes_whole() -> None:
    error = InputError("out", "a/b", "is in use", "wait")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "out = 'a/b': is in use; wait."
    assert (copy.argument, copy.value, copy.remedy) == ("out", "a/b", "wait")


def _contents(path: Path) -> dict[str, bytes]:
    files = [path / "metrics.jsonl", path / "statistics.safetensors", *path.glob("snapshots/*")]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def _train_until_full(config: RunConfig, out: Path, room: int, patched: pytest.MonkeyPatch) -> bool:
    """Train with room for some writes; return whether that was too little."""
    fsync, left = os.fsync, iter(range(room))

    def full(file: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    patched.setattr(os, "fsync", full)
    try:
        train(config, out)
    except InputError as error:
        said = (
            "cannot be written (No space left on device); make room for it, or choose another place; --resume"
        )
        return said in str(error)
    finally:
        patched.undo()
    return False


@pytest.mark.parametrize("model", [{"d_m": 8, "d_f": 12}, TRANSFORMER], ids=["emb-mlp", "transformer"])
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_a_disk_that_is_full_at_any_write_loses_nothing(
    model: dict[str, Any], every: int, small: Make, tmp_path: Path
) -> None:
    """With room again the run continues to the bytes of an unbroken one."""
    config, patched = small(model=model, dtype="float64"), pytest.MonkeyPatch()
    whole = _contents(train(config, tmp_path / "whole")[0].path)
    for room in itertools.count(step=every):
        out = tmp_path / str(room)
        if not _train_until_full(config, out, room, patched):
            break
        assert not list(out.rglob(".*"))
        assert _contents(train(config, out, resume=True)[0].path) == whole
    # A configuration, statistics, three snapshots, three evaluations, two checkpoints, two records of how
    # far the run is, and as many manifests.
    assert room > 2 * 12


def _train_with_little_room(config: RunConfig, out: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        train(config, out)
    except InputError as error:
        (out / "said").write_text(str(error))


def test_the_systems_own_limit_is_reported(forked: Any, small: Make, tmp_path: Path) -> None:
    """No make-believe: the kernel refuses files above 4 KiB."""
    process = forked.Process(target=_train_with_little_room, args=(small(), tmp_path))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert (
        "cannot be written (File too large); raise the limit on the size of files"
        in (tmp_path / "said").read_text()
    )
    assert not [p for p in tmp_path.rglob(".*") if p.is_file()]


def test_a_path_that_cannot_be_a_folder_is_reported(small: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written \(Not a directory\); name another path\.$"):
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
def test_a_folder_without_permission_is_reported(mode: int, resume: bool, forked: Any, small: Make) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        out = Path(folder) / "out"
        out.mkdir()
        out.chmod(mode)
        said = forked.SimpleQueue()
        process = forked.Process(target=_train_unprivileged, args=(small(), out, resume, said))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert not said.empty()
        remedy = "choose a place that you may write to; --resume continues"
        assert f"cannot be written (Permission denied); {remedy}" in said.get()
