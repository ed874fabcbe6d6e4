"""Nothing is lost: runs killed at random moments and at every write reach an unbroken run's numbers."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim import MemberConfig, Run, RunConfig, find_runs, train_together
from sim.runs.folder import read_config

Make = Callable[..., RunConfig]
NOISY = {
    "keys": "20..25",
    "n_anchors": 1,
    "length": 4,
    "vocab_size": 48,
    "reasoning_anchors": "4..7",
    "memory_anchors": "1..3",
}
TRANSFORMER = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "n_layers": 1}
FRESH = {"source": "draw", "n_sequences": 70, "fresh_noise": True}


def _train(members: list[MemberConfig], out: Path, report: Callable[[Any], None] = lambda _: None) -> None:
    train_together(members, [out / member.name for member in members], resume=True, report=report)


def _train_and_tell(members: list[MemberConfig], out: Path, epochs: Any) -> None:
    _train(members, out, lambda _: epochs.release())


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _train_and_die(members: list[MemberConfig], out: Path, operation: int, call: dict[str, bool]) -> None:
    """Train until the given file operation: a half-written file, one not yet renamed, one just renamed, or
    a file or folder about to be made or dropped, or just made or dropped.
    """
    done = 0

    def dying(original: Callable[..., Any], before: Callable[..., None]) -> Callable[..., Any]:
        def perform(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done == operation:
                before(*arguments)
                _die()
            value = original(*arguments, **options)
            done += 1
            if done == operation:
                _die()
            return value

        return perform

    os.fsync = dying(os.fsync, lambda file: os.ftruncate(file, os.fstat(file).st_size // 2))
    for name in ("replace", "unlink", "mkdir", "rmdir"):
        setattr(os, name, dying(getattr(os, name), lambda *_: None))
    train_together(members, [out / member.name for member in members], **call)


@pytest.fixture(scope="module")
def context() -> Any:
    """Processes forked from one that has loaded torch already: 25 times loading it would take a minute."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["sim.training.session", "tests.sim.test_kill"])
    return made


def _run(context: Any, function: Callable[..., None], *arguments: Any) -> int:
    """Return the exit code of a function in a process of its own."""
    process = context.Process(target=function, args=arguments)
    process.start()
    process.join(60)
    process.kill()
    process.join()
    return int(process.exitcode)


def _run_and_kill(context: Any, members: list[MemberConfig], out: Path, generator: random.Random) -> int:
    """Kill a training process after some epochs and milliseconds, or while it starts; return its code."""
    epochs = context.Semaphore(0)
    process = context.Process(target=_train_and_tell, args=(members, out, epochs))
    process.start()
    wanted = generator.randrange(0, 8)
    for _ in range(wanted):
        while not epochs.acquire(timeout=0.05) and process.is_alive():
            pass
    time.sleep(generator.uniform(0.0, 0.004 if wanted else 0.2))
    process.kill()
    process.join()
    return int(process.exitcode)


def _contents(out: Path) -> dict[str, bytes]:
    """Return every number of the runs: metrics, snapshots, statistics, the last checkpoint's tensors."""
    found = {}
    for path in find_runs([out]):
        assert Run.open(path).provenance["status"] == "complete"
        files = [path / "metrics.jsonl", path / "statistics.safetensors", *path.glob("snapshots/*")]
        found |= {str(file.relative_to(out)): file.read_bytes() for file in files}
    return found


def _kill_until_done(context: Any, small: Make, folder: Path, generator: random.Random) -> tuple[int, int]:
    """Kill an Emb-MLP alone, then two Transformers with fresh noise, each until it is done.

    Return how many kills there were, and how many of them once there was a checkpoint.
    """
    options = {"dtype": "float64", "evaluate_every": 2, "checkpoint_every": 2, "snapshot_epochs": [1, 4, 9]}
    configs = [
        small(epochs=80, **options),
        small(epochs=60, task=NOISY, model=TRANSFORMER, data=FRESH, seeds=[0, 1], **options),
    ]
    kills, with_checkpoint = 0, 0
    for number, config in enumerate(configs):
        members, out = config.members(), folder / f"broken{number}"
        _train(members, folder / f"unbroken{number}")
        while (code := _run_and_kill(context, members, out, generator)) != 0:
            assert code == -signal.SIGKILL
            kills += 1
            with_checkpoint += bool(list(out.glob("*/checkpoints/step_*")))
        assert _contents(out) == _contents(folder / f"unbroken{number}")
        assert not list(out.rglob(".*"))
    return kills, with_checkpoint


def test_runs_killed_at_random_moments(context: Any, small: Make, tmp_path: Path) -> None:
    kills, with_checkpoint = _kill_until_done(context, small, tmp_path, random.Random(20))
    assert kills >= 25
    assert with_checkpoint >= 15


@pytest.mark.long
def test_a_hundred_kills(context: Any, small: Make, tmp_path: Path) -> None:
    """The same with other moments, until there were a hundred kills."""
    kills = rounds = 0
    while kills < 100:
        rounds += 1
        kills += _kill_until_done(context, small, tmp_path / str(rounds), random.Random(1000 + rounds))[0]
    assert rounds < 20


def test_runs_killed_at_every_file_operation(context: Any, small: Make, tmp_path: Path) -> None:
    """Half-way through a write, before and after a rename, an unlinking and a new folder: all of them."""
    members = small(dtype="float64", snapshot_epochs=[2], task=NOISY, data=FRESH, seeds=[0, 1]).members()
    _train(members, tmp_path / "unbroken")
    expected = _contents(tmp_path / "unbroken")
    during_checkpoints = 0
    for operation in itertools.count(1):
        out = tmp_path / f"killed{operation}"
        code = _run(context, _train_and_die, members, out, operation, {"resume": True})
        if code == 0:
            break
        assert code == -signal.SIGKILL
        during_checkpoints += bool(list(out.glob("*/checkpoints/.step_*")))
        assert _run(context, _train, members, out) == 0
        assert _contents(out) == expected
        assert not list(out.rglob(".*"))
    # Two members, each with a folder, a configuration, statistics, three snapshots, three evaluations and
    # two checkpoints, and every write of these counts three times or more.
    assert operation > 2 * 3 * 11
    assert during_checkpoints >= 4


def test_overwriting_killed_at_every_file_operation(context: Any, small: Make, tmp_path: Path) -> None:
    """What is left is the old run, or a folder that both --overwrite and --resume make the new one of."""
    old, new = (small(dtype="float64", learning_rate=rate).members() for rate in (1e-2, 2e-2))
    _train(old, tmp_path / "old")
    _train(new, tmp_path / "unbroken")
    expected = _contents(tmp_path / "unbroken")
    for operation in itertools.count(1):
        out = tmp_path / f"killed{operation}"
        shutil.copytree(tmp_path / "old", out)
        code = _run(context, _train_and_die, new, out, operation, {"overwrite": True})
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kept = (out / old[0].name / "config.json").exists() and read_config(out / old[0].name) == old[0]
        train_together(new, [out / new[0].name], resume=not kept, overwrite=kept)
        assert _contents(out) == expected
        assert not list(out.rglob(".*"))
    # Eight files and two folders of the old run go, two operations each.
    assert operation > 20
