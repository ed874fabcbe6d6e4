"""Damaged run folders: refused by name with an InputError, or passed over; never a traceback."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load
from safetensors.numpy import save as save_numpy
from safetensors.torch import save as save_torch

from sim import Run, RunConfig, train
from sim.runs.folder import RunFolder
from sim.runs.manifest import Manifest
from sim.runs.places import checkpoint_name, snapshot_name
from sim.runs.tensors import read_metadata
from theory import InputError

Make = Callable[..., RunConfig]
FILES = (
    "config.json",
    "provenance.json",
    "metrics.jsonl",
    "manifest.json",
    "statistics.safetensors",
    snapshot_name(0),
    snapshot_name(2),
    snapshot_name(4),
)


@pytest.fixture(scope="module")
def made(small_once: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(small_once, tmp_path_factory.mktemp("made"))[0].path


@pytest.fixture(scope="module")
def folder(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that tests damage, and repair with ``_repaired``."""
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("damaged") / made.name))


def _repaired(folder: Path, made: Path) -> Path:
    shutil.rmtree(folder)
    return Path(shutil.copytree(made, folder))


def _read_all(path: Path) -> None:
    run = Run.open(path)
    for epoch in run.snapshot_epochs:
        run.snapshot(epoch)
    assert run.token_label_matrix.shape == (48, 48)


def _damages(content: bytes) -> Iterator[bytes]:
    """Cut off, emptied, replaced, and single bits flipped all over a file."""
    yield from (
        b"",
        b"\x00\xff\xfe binary",
        b"null",
        b"[]",
        b"{}",
        b"3",
        b"true",
        b'"x"',
        b"\n\n",
        b"[" * 3000,
    )
    yield from (content[: len(content) * part // 7] for part in range(1, 7))
    yield content + b"\n{}"
    generator = np.random.default_rng(0)
    for position in generator.integers(len(content), size=12):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(generator.integers(8))
        yield bytes(flipped)


@pytest.mark.parametrize("name", FILES)
def test_any_damage_to_a_file_is_noticed(name: str, folder: Path, made: Path) -> None:
    """By its checksum, with the file's name."""
    content = (made / name).read_bytes()
    _read_all(_repaired(folder, made))
    # A flipped bit of the manifest may be in the line of a checkpoint, which nobody reads here.
    for damaged in itertools.islice(_damages(content), 16 if name == "manifest.json" else None):
        (folder / name).write_bytes(damaged)
        with pytest.raises(InputError) as refused:
            _read_all(folder)
        assert Path(name).name in str(refused.value) or name == "manifest.json"
        assert refused.value.remedy
    for make in (os.mkfifo, os.mkdir):
        (folder / name).unlink(missing_ok=True)
        make(folder / name)
        with pytest.raises(InputError):
            _read_all(folder)
        shutil.rmtree(folder)
        shutil.copytree(made, folder)


WRONG: tuple[Any, ...] = (None, True, "3", -1, [], {}, float("inf"), float("nan"))


def _of_keys(found: dict[str, Any], values: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Every key missing, and every key with every wrong value."""
    for key in found:
        yield {k: v for k, v in found.items() if k != key}
        yield from (found | {key: value} for value in values)


def test_a_provenance_of_wrong_types_is_refused_by_its_key(folder: Path, made: Path) -> None:
    """Where the checksum is right, as after a defect of this program, the schema speaks."""
    provenance = json.loads((made / "provenance.json").read_text())
    manifest = Manifest(_repaired(folder, made))
    for key in ("status", "wall_seconds", "peak_memory_mib", "matmul", "kernels", "versions", "trained_with"):
        for value in (3.5 if key == "status" else "3", [], -1, True, {"route": "x"}):  # type: ignore[var-annotated]
            if (key, value) in (("trained_with", []), ("versions", {"route": "x"})):
                continue
            manifest.write("provenance.json", json.dumps(provenance | {key: value}))
            with pytest.raises(InputError, match=rf"provenance.json': {key}"):
                Run.open(folder)


def _text(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_metrics_of_wrong_types_are_refused_by_line(folder: Path, made: Path) -> None:
    lines = [json.loads(line) for line in (made / "metrics.jsonl").read_text().splitlines()]
    manifest = Manifest(_repaired(folder, made))
    for line in _of_keys(lines[1], WRONG):
        manifest.write(
            "metrics.jsonl", "".join(json.dumps(each) + "\n" for each in (lines[0], line, lines[2]))
        )
        with pytest.raises(InputError, match=r"metrics.jsonl': line 2"):
            Run.open(folder)
    for order in ((lines[0], lines[0]), (lines[1], lines[0]), (lines[0], lines[1])):
        manifest.write("metrics.jsonl", _text(*order))
        with pytest.raises(InputError, match=r"metrics\.jsonl"):
            Run.open(folder)


def _tensors(arrays: dict[str, np.ndarray[Any, Any]], name: str) -> Iterator[dict[str, Any]]:
    """A tensor missing, of other shapes and types, and with entries that are not finite."""
    own = arrays[name]
    yield {k: v for k, v in arrays.items() if k != name}
    yield arrays | {"stranger": own}
    wrong = [own[:-1], own[..., :1].copy(), own.reshape(-1), own[:1], own.astype("float16"), own.astype("i4")]
    if own.dtype.kind == "f":
        wrong += [np.where(own == own.flat[3], value, own) for value in (np.nan, np.inf, -np.inf)]
    changed = [a for a in wrong if a.shape != own.shape or a.dtype != own.dtype or not np.array_equal(a, own)]
    yield from (arrays | {name: np.ascontiguousarray(each)} for each in changed)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        (snapshot_name(0), "W1"),
        (snapshot_name(0), "W_emb"),
        (snapshot_name(4), "W_emb"),
        ("statistics.safetensors", "token_label_counts"),
    ],
)
def test_tensors_other_than_the_configurations_are_refused(
    name: str, tensor: str, folder: Path, made: Path
) -> None:
    content = (made / name).read_bytes()
    manifest, arrays, meta = Manifest(_repaired(folder, made)), load(content), read_metadata(content)
    for damaged in _tensors(arrays, tensor):
        manifest.write(name, save_numpy(damaged, metadata=meta))
        with pytest.raises(InputError, match=rf"{Path(name).name}': (stranger|{tensor}) "):
            _read_all(folder)
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        manifest.write(name, save_torch({tensor: torch.zeros(48, 8, dtype=dtype)}, metadata=meta))
        with pytest.raises(InputError, match="has a tensor of dtype"):
            _read_all(folder)


def _interrupted(folder: Path, made: Path) -> Manifest:
    """Leave of a complete run what one has that was stopped after its last epoch but one checkpoint."""
    manifest = Manifest(_repaired(folder, made))
    provenance = json.loads((made / "provenance.json").read_text())
    manifest.write("provenance.json", json.dumps(provenance | {"status": "interrupted"}))
    return manifest


def _states(state: dict[str, Any]) -> Iterator[str]:
    yield from ("", "null", "[]", "{}", '"x"', "{", "[" * 3000, "9" * 5000)
    unharmed = (state, state | {"failure": "3"})
    yield from (json.dumps(each) for each in _of_keys(state, WRONG) if each not in unharmed)
    per_epoch = state["step"] // state["epoch"]
    for epoch, position, step in (
        (99, 0, 99 * per_epoch),
        (3, per_epoch, 0),
        (-1, 0, 0),
        (4, 3, 0),
        (3, 1, 2),
    ):
        yield json.dumps(state | {"epoch": epoch, "position": position, "step": step or state["step"]})


def _checkpoints(content: bytes) -> Iterator[bytes]:
    arrays, meta = load(content), read_metadata(content)
    for tensor in ("W1", "first/W_emb", "second/W2", "shuffle"):
        yield from (save_numpy(damaged, metadata=meta) for damaged in _tensors(arrays, tensor))
    yield from (save_numpy(arrays, metadata={"state": state}) for state in _states(json.loads(meta["state"])))
    yield save_torch({"W1": torch.zeros(8, 12, dtype=torch.bfloat16)}, metadata=meta)


def test_a_damaged_checkpoint_is_named_set_aside_and_passed_over(
    folder: Path, made: Path, small_once: RunConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """Hundreds of damages to the newest, each with a right checksum; the one before leads to the same run."""
    from sim.training.resume import newest_checkpoint
    from sim.training.trainer import Trainer

    newest, older = RunFolder(made).checkpoint_steps()
    trainer, name = Trainer(small_once.members()), checkpoint_name(newest)
    manifest, count = _interrupted(folder, made), 0
    for damaged in _checkpoints((made / name).read_bytes()):
        manifest.write(name, damaged)
        caplog.clear()
        found = newest_checkpoint(trainer, [RunFolder(folder)])
        assert found is not None
        assert found[0][1].step == older
        assert str(folder / name) in caplog.text
        assert "set aside as" in caplog.text
        aside = next((folder / "checkpoints").glob("*.damaged"))
        assert aside.read_bytes() == damaged
        aside.unlink()
        count += 1
    assert count > 80


def test_strangers_among_snapshots_and_checkpoints_are_ignored(
    folder: Path, made: Path, small_once: RunConfig
) -> None:
    _interrupted(folder, made)
    for stranger in ("checkpoints/step_abc.safetensors", "snapshots/epoch_-1.safetensors", "snapshots/x"):
        (folder / stranger).write_text("years of work")
    assert train(small_once, folder.parent, resume=True)[0].snapshot_epochs == (0, 2, 4)
    assert (folder / "checkpoints/step_abc.safetensors").read_text() == "years of work"
