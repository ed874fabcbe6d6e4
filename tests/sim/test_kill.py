"""What a kill at any write leaves of runs leads to an unbroken run's numbers; damage is refused by name."""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import MemberConfig, Run, Trainer, find_runs, train, train_together
from sim.runs.files import is_leftover
from sim.runs.folder import RunFolder, checkpoint_name, read_config, snapshot_name
from sim.runs.manifest import Manifest
from sim.training.session import newest_checkpoints
from tests.run_folder import change, contents
from tests.sim.conftest import NOISY_TASK, small, small_member
from theory import InputError

Tree = dict[str, bytes | None]
FRESH = {"source": "draw", "n_sequences": 70}


def _train(members: list[MemberConfig], out: Path) -> None:
    train_together(members, [out / member.name for member in members], resume=True)


def _contents(out: Path) -> dict[str, dict[str, bytes]]:
    """Return every number of the runs; one that is not complete cannot be opened."""
    return {path.name: contents(Run.open(path).path) for path in find_runs([out])}


@contextmanager
def _recorded(out: Path) -> Iterator[list[Tree]]:
    """Record what a kill would leave in ``out`` at any file operation inside the block.

    That is a half-written file or line, a file not yet renamed, one just renamed, and a file or folder about
    to be made or dropped, or just made or dropped. What the kernel has, a killed process leaves.
    """
    states: list[Tree] = []

    def half_written(file: int) -> None:
        states.append(_tree(out))
        path = Path(f"/proc/self/fd/{file}").readlink()
        if path.is_file():
            name, content = str(path.relative_to(out)), path.read_bytes()
            before = len(states[-2].get(name) or b"")  # Appending leaves the rest of a file whole.
            states[-1][name] = content[: before + (len(content) - before) // 2]

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


def _killed(states: list[Tree], home: Path) -> Iterator[Path]:
    """Yield a folder for each state that differs: one after an operation is mostly that before the next."""
    for number, (state, last) in enumerate(zip(states, [None, *states], strict=False)):
        if state != last:
            folder = home / f"killed{number}"
            folder.mkdir()
            for name, content in state.items():
                if content is None:
                    (folder / name).mkdir(parents=True)
                else:
                    (folder / name).write_bytes(content)
            yield folder


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [0, 1]], ids=len)
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
    for out in _killed(states, tmp_path):
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
    for out in _killed(states, tmp_path):
        kept = (out / old[0].name / "config.json").exists() and read_config(out / old[0].name) == old[0]
        train_together(new, [out / new[0].name], resume=not kept, overwrite=kept)
        assert _contents(out) == expected
        assert not list(out.rglob(".*"))


FILES = ("config.json", "provenance.json", "metrics.jsonl", "manifest.json", "statistics.safetensors")


def _read_all(path: Path) -> None:
    run = Run.open(path)
    for epoch in run.snapshot_epochs:
        run.snapshot(epoch)
    assert run.token_label_matrix.shape == (48, 48)


def _damages(content: bytes) -> Iterator[bytes]:
    """Cut off, emptied, replaced, and single bits flipped all over a file."""
    yield from (b"", b"\x00\xff\xfe binary", b"null", b"[]", b"{}", b"3", b'"x"', b"\n\n", b"[" * 3000)
    yield from (content[: len(content) * part // 4] for part in range(1, 4))
    yield content + b"\n{}"
    generator = np.random.default_rng(0)
    for position in generator.integers(len(content), size=8):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(generator.integers(8))
        yield bytes(flipped)


@pytest.mark.parametrize("name", [*FILES, snapshot_name(0), snapshot_name(4)])
def test_any_damage_to_a_file_is_noticed(name: str, folder: Path, made: Path) -> None:
    """By its checksum, with the file's name."""
    content = (made / name).read_bytes()
    _read_all(folder)
    # A flipped bit of the manifest may be in the line of a checkpoint, which nobody reads here.
    for damaged in itertools.islice(_damages(content), 12 if name == "manifest.json" else None):
        (folder / name).write_bytes(damaged)
        with pytest.raises(InputError) as refused:
            _read_all(folder)
        assert Path(name).name in str(refused.value) or name == "manifest.json"
        assert refused.value.remedy
        assert str(refused.value).count("; ") == 1
    for make in (os.mkfifo, os.mkdir):
        (folder / name).unlink()
        make(folder / name)
        with pytest.raises(InputError):
            _read_all(folder)
        (folder / name).rmdir() if make is os.mkdir else (folder / name).unlink()
        (folder / name).write_bytes(content)
    (folder / name).unlink()
    with pytest.raises(InputError):
        _read_all(folder)


def test_a_damaged_checkpoint_is_named_set_aside_and_passed_over(
    folder: Path, made: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The one before leads to the same run."""
    newest, older = RunFolder(made).checkpoint_steps()
    name = checkpoint_name(newest)
    content = (folder / name).read_bytes()
    for damaged in _damages(content):
        listed = Manifest(folder).listed()
        (folder / name).write_bytes(damaged)
        caplog.clear()
        found = newest_checkpoints([RunFolder(folder)], Trainer([small_member()]).check_fit)
        assert found[0][1].step == older
        assert str(folder / name) in caplog.text
        (aside,) = (folder / "checkpoints").glob("*.damaged")
        assert aside.read_bytes() == damaged
        Manifest(folder)._save(listed)
    change(folder / "provenance.json", status="interrupted")
    (run,) = train(small(), folder.parent, resume=True)
    assert run.metrics == Run.open(made).metrics
    assert (run.snapshot(4)["W_emb"] == Run.open(made).snapshot(4)["W_emb"]).all()
