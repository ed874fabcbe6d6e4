"""Worker processes: what a signal does to them, to others, and to what they leave; the memory of a run's."""

import json
import multiprocessing
import os
import platform
import signal
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sim import MemberConfig, Progress, Run, RunConfig, estimate, train, train_members
from sim.errors import UnfinishedRunsError
from sim.fast.matmul import keep_freed_memory
from sim.runs.files import lock_file
from sim.training.engines import local
from tests.processes import command, group, is_empty
from tests.run_folder import contents
from tests.sim.conftest import TRANSFORMER, small
from tests.tiny_task import TASK, TINY
from theory import InputError


@pytest.fixture
def members() -> list[MemberConfig]:
    """Two kinds of model, float64 so that equal configurations give equal bytes."""
    common = {"dtype": "float64", "epochs": 30, "snapshot_epochs": [7]}
    mlp = small(seeds=[0, 1], **common).members()
    transformer = small(model=TRANSFORMER, init_rates=[0.3], seeds=[0, 1], **common).members()
    return [mlp[0], transformer[0], mlp[1], transformer[1]]


def _paths(members: list[MemberConfig], out: Path) -> list[Path]:
    return [out / member.name for member in members]


def _workers() -> list[int]:
    return [process.pid for process in multiprocessing.active_children() if process.pid]


@pytest.mark.parametrize(
    "begun", [pytest.param("forked", marks=pytest.mark.slow), pytest.param("spawned", marks=pytest.mark.long)]
)
def test_runs_of_killed_workers_continue_in_others(
    begun: str, members: list[MemberConfig], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """One is killed and one asked to stop, after what a terminal sends to a group; none is left behind."""
    if begun == "forked":
        request.getfixturevalue("forked_workers")
    paths, seen = _paths(members, tmp_path / "broken"), set[int]()

    def report(progress: Progress) -> None:
        new = [process for process in _workers() if process not in seen]
        if progress.epoch == 6 and new and len(seen) < 4:
            seen.update(new)
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                os.kill(new[0], number)
            os.kill(new[0], signal.SIGKILL if len(seen) == len(new) else signal.SIGTERM)

    train_members(members, paths, workers=2, report=report)
    assert len(seen) > 2
    assert not _workers()
    whole = _paths(members, tmp_path / "whole")
    train_members(members, whole)
    assert [contents(Run.open(path).path) for path in paths] == [contents(path) for path in whole]


@pytest.mark.usefixtures("forked_workers")
def test_a_run_that_is_killed_again_and_again_is_named(
    members: list[MemberConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "POOLS", 2)
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.05):
            for process in _workers():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        words = r"4 of 4 runs did not finish.*killed, in each of 2 tries"
        with pytest.raises(UnfinishedRunsError, match=words):
            train_members(members, _paths(members, tmp_path), workers=2)
    finally:
        ended.set()
        killer.join()
    train_members(members, _paths(members, tmp_path), resume=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_workers_start_leaves_no_process(
    number: signal.Signals, members: list[MemberConfig], tmp_path: Path
) -> None:
    """In the first moments, before a worker has loaded torch; sent twice, as by a hurried user."""
    before = {n: signal.getsignal(n) for n in local.SIGNALS}

    def ask() -> None:
        while len(_workers()) < 2:
            time.sleep(0.01)
        for _ in range(2):
            os.kill(os.getpid(), number)

    threading.Thread(target=ask, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        train_members(members, _paths(members, tmp_path), workers=2)
    assert stopped.value.args == (number,)
    assert not _workers()
    assert {n: signal.getsignal(n) for n in local.SIGNALS} == before


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [2, 3])
def test_as_many_processes_train_as_there_are_workers_and_no_more(workers: int, tmp_path: Path) -> None:
    """Counted where they hold the runs' locks: at no epoch are more held than there are workers."""
    members, held = small(seeds=range(6), epochs=20, evaluate_every=1).members(), set[int]()
    paths, told = _paths(members, tmp_path), list[Progress]()

    def report(progress: Progress) -> None:
        told.append(progress)
        held.add(sum(lock_file(path).exists() for path in paths))

    train_members(members, paths, workers=workers, report=report)
    assert max(held) <= workers
    assert sorted((p.name, p.epoch) for p in told) == sorted(
        (m.name, e + 1) for m in members for e in range(20)
    )
    assert all(Run.open(path).provenance["status"] == "complete" for path in paths)


@pytest.mark.long
def test_workers_end_with_checkpoints_when_the_program_is_killed(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(TASK)
    long = ["--training.evaluate-every", "10", "--workers", "2", TINY[0], "100000", *TINY[2:]]
    out = tmp_path / "runs"
    process = command("train", str(tmp_path / "task.toml"), *long, "--out", str(out))
    end = time.monotonic() + 300
    while len(files := list(out.glob("*/metrics.jsonl"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(files) == 2
    assert len(group(process.pid)) > 2
    process.kill()
    process.communicate()
    assert is_empty(process.pid, 30)
    for file in files:
        provenance = json.loads((file.parent / "provenance.json").read_text())
        assert provenance["status"] == "interrupted"
        assert list((file.parent / "checkpoints").iterdir())


@pytest.mark.usefixtures("forked_workers")
def test_a_workers_error_is_raised_once_others_are_done(members: list[MemberConfig], tmp_path: Path) -> None:
    paths = _paths(members, tmp_path)
    lock_file(paths[0]).mkdir()
    with pytest.raises(InputError, match=f"^out = .*{paths[0].name}'"):
        train_members(members, paths, workers=2, resume=True)
    assert all(Run.open(path).provenance["status"] == "complete" for path in paths[1:])


CONFIGS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"training": {"epochs": 1}},
    "transformer": {
        "model": {"kind": "transformer", "d_m": 512, "d_f": 2048},
        "task": "paper",
        "data": {"source": "draw", "n_sequences": 200},
        "training": {"epochs": 1, "batch_size": 20, "snapshot_tensors": "all"},
    },
}


def _estimated(config: dict[str, Any]) -> float:
    return estimate(RunConfig(**config), 1).memory_mib


def _measured(config: dict[str, Any], out: Path) -> float:
    return float(train(RunConfig(**config), out)[0].provenance["peak_memory_mib"])


def _alone(forked: Any, work: Callable[..., float], *arguments: Any) -> float:
    """Return what a function returns in a process of its own, whose peak is its own too."""
    with ProcessPoolExecutor(1, mp_context=forked) as pool:
        return float(pool.submit(work, *arguments).result(120))


@pytest.mark.parametrize("name", ["emb-mlp", pytest.param("transformer", marks=pytest.mark.long)])
def test_the_estimated_memory_is_within_a_fifth_of_the_peak(name: str, forked: Any, tmp_path: Path) -> None:
    """In processes forked from one that has loaded torch: each begins with the memory that torch takes."""
    estimated = _alone(forked, _estimated, CONFIGS[name])
    measured = _alone(forked, _measured, CONFIGS[name], tmp_path / "runs")
    assert abs(estimated - measured) < 0.2 * measured


def _faults() -> float:
    """Return the page faults of allocating the paper's hidden layer twice; -1 where memory is not kept.

    The median of 21 rounds: one of them may begin a new place in the heap, or the system may move a page.
    """
    import resource

    import torch

    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(900, 512).mul(2.0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    return statistics.median(faults() for _ in range(21)) if keep_freed_memory() else -1


def test_freed_memory_is_kept_where_the_c_library_can(forked: Any) -> None:
    """Again and again allocating the same then meets no new pages: in a process whose heap is its own."""
    pytest.importorskip("resource")
    faults = _alone(forked, _faults)
    if faults < 0:
        assert platform.libc_ver()[0] != "glibc"
        pytest.skip("not glibc")
    # Of memory that is handed back each time, 2 × 450 pages.
    assert faults < 90
