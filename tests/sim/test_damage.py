"""Damaged run folders: refused by name with an InputError, or passed over; never a traceback."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sim import Run, train
from sim.runs.folder import RunFolder, checkpoint_name, snapshot_name
from sim.runs.manifest import Manifest
from sim.training.session import newest_checkpoints
from tests.run_folder import change
from tests.sim.conftest import small
from theory import InputError

FILES = (
    "config.json",
    "provenance.json",
    "metrics.jsonl",
    "manifest.json",
    "statistics.safetensors",
    snapshot_name(0),
    snapshot_name(4),
)


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


@pytest.mark.parametrize("name", FILES)
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


@pytest.mark.parametrize(
    ("name", "content"), [("config.json", b"x"), ("config.json", b"3"), ("metrics.jsonl", b"x")]
)
def test_what_is_no_json_is_refused_whatever_its_checksum(name: str, content: bytes, folder: Path) -> None:
    Manifest(folder).write(name, content)
    with pytest.raises(InputError):
        Run.open(folder)


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
        found = newest_checkpoints([RunFolder(folder)])
        assert found is not None
        assert found[0][1].step == older
        assert str(folder / name) in caplog.text
        (aside,) = (folder / "checkpoints").glob("*.damaged")
        assert aside.read_bytes() == damaged
        Manifest(folder)._save(listed)
    change(folder / "provenance.json", status="interrupted")
    (run,) = train(small(), folder.parent, resume=True)
    assert run.metrics == Run.open(made).metrics
    assert (run.snapshot(4)["W_emb"] == Run.open(made).snapshot(4)["W_emb"]).all()
