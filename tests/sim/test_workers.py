"""Worker processes: what a signal does to each of them, to the others, and to what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim import Execution, MemberConfig, Progress, Run, RunConfig, train_members
from sim.errors import UnfinishedRunsError
from sim.runs.lock import _lock_file
from sim.training.engines import local
from tests.processes import is_alive
from tests.sim.conftest import TRANSFORMER
from theory import InputError

Make = Callable[..., RunConfig]


@pytest.fixture
def members(small: Make) -> list[MemberConfig]:
    """Two kinds of model, float64 so that equal configurations give equal bytes."""
    common = {"dtype": "float64", "epochs": 30, "snapshot_epochs": [7]}
    mlp = small(seeds=[0, 1], **common).members()
    transformer = small(model=TRANSFORMER, init_rates=[0.3], seeds=[0, 1], **common).members()
    return [mlp[0], transformer[0], mlp[1], transformer[1]]


def _paths(members: list[MemberConfig], out: Path) -> list[Path]:
    return [out / member.name for member in members]


def _contents(path: Path) -> dict[str, bytes]:
    """Return what a finished run has learned; its checkpoints and provenance hold times too."""
    assert Run.open(path).provenance["status"] == "complete"
    files = [path / "metrics.jsonl", path / "statistics.safetensors", *path.glob("snapshots/*")]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@pytest.fixture
def holders(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Note each run's process, and send it, once it exists, what a terminal sends to a group of processes."""
    noted: dict[str, int] = {}
    submit = local._Worker.submit

    def submit_and_shout(worker: Any, index: int, jobs: Any, execution: Execution) -> None:
        submit(worker, index, jobs, execution)
        if worker._process.pid not in noted.values():
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                os.kill(worker._process.pid, number)
        noted[str(jobs[index][0][1])] = worker._process.pid

    monkeypatch.setattr(local._Worker, "submit", submit_and_shout)
    return noted


@pytest.mark.parametrize(
    "begun", [pytest.param("forked", marks=pytest.mark.slow), pytest.param("spawned", marks=pytest.mark.long)]
)
def test_killed_workers_lose_nothing_and_leave_the_others_alone(
    begun: str,
    members: list[MemberConfig],
    holders: dict[str, int],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    """Of each kind one is killed, one is asked to stop; the last run, in a new worker, is complete.

    Workers are spawned, and load torch, in the long suite.
    """
    if begun == "forked":
        request.getfixturevalue("forked_workers")
    paths, sent = _paths(members, tmp_path / "broken"), {}
    order = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
    signals = dict(zip((str(path) for path in paths), order, strict=False))

    def report(progress: Progress) -> None:
        path = next(path for path in paths if path.name == progress.name)
        if progress.epoch == 5 and str(path) in signals:
            sent[str(path)] = holders[str(path)]
            os.kill(sent[str(path)], signals[str(path)])

    with pytest.raises(UnfinishedRunsError, match=r"3 of 4 runs did not finish") as seen:
        train_members(members, paths, workers=2, report=report)
    how = ("was killed (SIGKILL)", "was killed (SIGKILL)", "was asked to stop (SIGTERM)")
    assert seen.value.reasons == {
        str(path): f"its process, {sent[str(path)]}, {what}" for path, what in zip(paths, how, strict=False)
    }
    assert len(set(holders.values())) == 4
    assert not any(map(is_alive, holders.values()))
    assert Run.open(paths[3]).provenance["status"] == "complete"
    assert json.loads((paths[2] / "provenance.json").read_text())["status"] == "interrupted"
    train_members(members, paths, resume=True)
    whole = _paths(members, tmp_path / "whole")
    train_members(members, whole)
    for path, other in zip(paths, whole, strict=True):
        assert _contents(path) == _contents(other)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_workers_start_leaves_no_process(
    number: signal.Signals, members: list[MemberConfig], holders: dict[str, int], tmp_path: Path
) -> None:
    """In the first moments, before a worker has loaded torch."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as SIGHUP is under nohup")
    before = {n: signal.getsignal(n) for n in local.SIGNALS}

    def ask() -> None:
        while len(holders) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=ask, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        train_members(members, _paths(members, tmp_path), workers=2)
    assert stopped.value.args == (number,)
    assert len(holders) == 2
    assert not any(map(is_alive, holders.values()))
    assert {n: signal.getsignal(n) for n in local.SIGNALS} == before


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [2, 3])
def test_as_many_processes_train_as_there_are_workers_and_no_more(
    workers: int, small: Make, holders: dict[str, int], tmp_path: Path
) -> None:
    """Counted where they hold the runs' locks: at no epoch are more held than there are workers."""
    members, held = small(seeds=range(6), epochs=20, evaluate_every=1).members(), set[int]()
    paths = _paths(members, tmp_path)

    def report(_: Progress) -> None:
        held.add(sum(_lock_file(path).exists() for path in paths))

    train_members(members, paths, workers=workers, report=report)
    assert len(set(holders.values())) == workers
    assert 1 < max(held) <= workers
    assert all(Run.open(path).provenance["status"] == "complete" for path in paths)


def _work(pipe: Any, member: MemberConfig, path: Path) -> None:
    local._begin(pipe)
    local._train([(member, path)], Execution(kernels="torch"))
    time.sleep(60)


def test_a_worker_ends_with_a_checkpoint_when_its_pipe_closes(
    forked: Any, small: Make, tmp_path: Path
) -> None:
    """As it does when the process that started it is killed."""
    member, path = small(epochs=100_000, evaluate_every=1000).members()[0], tmp_path / "run"
    ours, theirs = forked.Pipe()
    process = forked.Process(target=_work, args=(theirs, member, path))
    process.start()
    theirs.close()
    try:
        assert ours.recv() == "begun"
        assert isinstance(ours.recv(), Progress)
        ours.close()
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()
    assert json.loads((path / "provenance.json").read_text())["status"] == "interrupted"
    assert list((path / "checkpoints").iterdir())


@pytest.mark.usefixtures("forked_workers")
def test_what_goes_wrong_in_a_worker_is_raised_after_the_others_are_done(
    members: list[MemberConfig], tmp_path: Path
) -> None:
    paths = _paths(members, tmp_path)
    _lock_file(paths[0]).mkdir()
    with pytest.raises(InputError, match="out"):
        train_members(members, paths, workers=2)
    assert all(Run.open(path).provenance["status"] == "complete" for path in paths[1:])
