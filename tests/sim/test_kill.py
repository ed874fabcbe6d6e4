"""Nothing is lost: runs killed at random moments and at every write reach an unbroken run's numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sim import MemberConfig, Run, find_runs, train_together
from sim.runs.files import is_leftover
from sim.runs.folder import read_config
from tests.run_folder import contents
from tests.sim.conftest import NOISY_TASK, small

Tree = dict[str, bytes | None]
FRESH = {"source": "draw", "n_sequences": 70, "fresh_noise": True}


def _train(members: list[MemberConfig], out: Path) -> None:
    train_together(members, [out / member.name for member in members], resume=True)


def _contents(out: Path) -> dict[str, dict[str, bytes]]:
    """Return every number of the runs; one that is not complete cannot be opened."""
    return {path.name: contents(Run.open(path).path) for path in find_runs([out])}


@contextmanager
def _recorded(out: Path) -> Iterator[list[Tree]]:
    """Record what a kill would leave in ``out`` at any file operation inside the block.

    That is a half-written file, one not yet renamed, one just renamed, and a file or folder about to be made
    or dropped, or just made or dropped. What the kernel has, a killed process leaves.
    """
    states: list[Tree] = []

    def half_written(file: int) -> None:
        states.append(_tree(out))
        path = Path(f"/proc/self/fd/{file}").readlink()
        if path.is_file():
            content = path.read_bytes()
            states[-1][str(path.relative_to(out))] = content[: len(content) // 2]

    def recording(original: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        def perform(*arguments: Any, **options: Any) -> Any:
            note(*arguments)
            value = original(*arguments, **options)
            states.append(_tree(out))
            return value

        return perform

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", recording(os.fsync, half_written))
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            original = getattr(os, name)
            patched.setattr(os, name, recording(original, lambda *_: states.append(_tree(out))))
        yield states


def _tree(folder: Path) -> Tree:
    """Return every file's content and every folder, which has none, by their names."""
    paths = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): None if p.is_dir() else p.read_bytes() for p in paths}


def _plant(tree: Tree, folder: Path) -> Path:
    folder.mkdir()
    for name, content in tree.items():
        if content is None:
            (folder / name).mkdir(parents=True)
        else:
            (folder / name).write_bytes(content)
    return folder


def _distinct(states: list[Tree]) -> list[Tree]:
    """Return the states that differ: the one after an operation is mostly the one before the next."""
    return [state for state, last in zip(states, [None, *states], strict=False) if state != last]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], pytest.param([0, 1], marks=pytest.mark.long)], ids=len)
def test_runs_killed_at_every_file_operation(seeds: list[int], tmp_path: Path) -> None:
    """Half-way through a write, before and after a rename, an unlinking and a new folder: all of them."""
    members = small(dtype="float64", snapshot_epochs=[2], task=NOISY_TASK, data=FRESH, seeds=seeds).members()
    unbroken = tmp_path / "unbroken"
    unbroken.mkdir()
    with _recorded(unbroken) as states:
        _train(members, unbroken)
    expected = _contents(unbroken)
    # Each member has a folder, a configuration, statistics, three snapshots, three evaluations and two
    # checkpoints, and every write of these counts three times or more.
    assert len(states) > len(members) * 3 * 11
    during_checkpoints = 0
    for number, state in enumerate(_distinct(states)):
        out = _plant(state, tmp_path / f"killed{number}")
        during_checkpoints += any(map(is_leftover, out.glob("*/checkpoints/.*")))
        _train(members, out)
        assert _contents(out) == expected
        assert not list(out.rglob(".*"))
    assert during_checkpoints >= 2 * len(members)


@pytest.mark.slow
def test_overwriting_killed_at_every_file_operation(tmp_path: Path) -> None:
    """What is left is the old run, or a folder that both --overwrite and --resume make the new one of."""
    old, new = (small(epochs=2, dtype="float64", learning_rate=rate).members() for rate in (1e-2, 2e-2))
    unbroken = tmp_path / "unbroken"
    _train(old, unbroken)
    with _recorded(unbroken) as states:
        train_together(new, [unbroken / new[0].name], overwrite=True)
    expected = _contents(unbroken)
    # Eight files and two folders of the old run go, two operations each.
    assert len(states) > 20
    for number, state in enumerate(_distinct(states)):
        out = _plant(state, tmp_path / f"killed{number}")
        kept = (out / old[0].name / "config.json").exists() and read_config(out / old[0].name) == old[0]
        train_together(new, [out / new[0].name], resume=not kept, overwrite=kept)
        assert _contents(out) == expected
        assert not list(out.rglob(".*"))
