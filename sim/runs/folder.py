"""The run folder: everything about one run, readable without the code that made it.

config.json        the resolved configuration
provenance.json    status, commit, versions, device, seeds, wall time, peak memory
metrics.jsonl      losses and accuracies, one line per evaluation
statistics.safetensors   token-label counts N of the training data
snapshots/         all tensors at epoch 0, the embedding (or all again) at the chosen epochs
checkpoints/       the whole state at the two newest checkpoints
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from sim.config.run import MemberConfig, make_member_config
from sim.runs.files import is_leftover, write_atomically, write_json, writing
from theory import InputError

FORMAT_VERSION = 1
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class RunFolder:
    """A run folder being written."""

    path: Path

    @classmethod
    def create(cls, path: Path, member: MemberConfig, *, overwrite: bool = False) -> RunFolder:
        """Make the folder, or refuse one that exists unless asked to overwrite a run."""
        check_free(path, overwrite=overwrite)
        with writing(path):
            if path.exists():
                _remove(path)
            path.mkdir(parents=True)
            saved = {"format_version": FORMAT_VERSION, **member.model_dump(mode="json")}
            write_json(path / "config.json", saved)
        return cls(path)

    @classmethod
    def reopen(cls, path: Path, member: MemberConfig) -> RunFolder:
        """Return a folder to go on with, cleared of half-written files; refuse another configuration."""
        if read_config(path) != member:
            raise InputError(
                "out", str(path), "holds a run with another configuration", "use its own, or another folder"
            )
        with writing(path):
            for file in [f for f in path.rglob(".*") if is_leftover(f)]:
                file.unlink()
        return cls(path)

    def write_provenance(self, provenance: dict[str, Any]) -> None:
        """Write or renew provenance.json."""
        with writing(self.path):
            write_json(self.path / "provenance.json", provenance)

    def write_metrics(self, lines: list[dict[str, Any]]) -> None:
        """Write all metrics so far; a few hundred short lines, so that rewriting costs nothing."""
        text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        with writing(self.path):
            write_atomically(self.path / "metrics.jsonl", text)

    def write_snapshot(self, epoch: int, arrays: Arrays) -> None:
        """Keep arrays of one epoch."""
        self._write_arrays(f"snapshots/epoch_{epoch:06d}.safetensors", arrays, {"epoch": str(epoch)})

    def write_statistics(self, counts: npt.NDArray[np.int64], n_sequences: int) -> None:
        """Keep the token-label counts of the training data."""
        meta = {"n_sequences": str(n_sequences)}
        self._write_arrays("statistics.safetensors", {"token_label_counts": counts}, meta)

    def write_checkpoint(self, step: int, arrays: Arrays, state: dict[str, Any]) -> None:
        """Write a checkpoint, then drop all but the two newest and any of a later step."""
        self._write_arrays(_checkpoint_name(step), arrays, {"state": json.dumps(state)})
        keep = [other for other in self.checkpoint_steps() if other <= step][:2]
        with writing(self.path):
            for other in set(self.checkpoint_steps()) - set(keep):
                (self.path / _checkpoint_name(other)).unlink()

    def checkpoint_steps(self) -> list[int]:
        """Return the steps of all checkpoints, newest first."""
        files = (self.path / "checkpoints").glob("step_*.safetensors")
        return sorted((int(file.stem.removeprefix("step_")) for file in files), reverse=True)

    def read_checkpoint(self, step: int) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the checkpoint of a step, or None if it cannot be read."""
        try:
            arrays, meta = read_arrays(self.path / _checkpoint_name(step))
            return arrays, json.loads(meta["state"])
        except (SafetensorError, OSError, KeyError, ValueError):
            return None

    def epochs_done(self) -> int:
        """Return the whole epochs that the newest readable checkpoint holds, 0 without one."""
        for step in self.checkpoint_steps():
            if checkpoint := self.read_checkpoint(step):
                return int(checkpoint[1]["epoch"])
        return 0

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the metrics written so far."""
        file = self.path / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _write_arrays(self, name: str, arrays: Arrays, meta: dict[str, str]) -> None:
        contiguous = {k: np.ascontiguousarray(a) for k, a in arrays.items()}
        file = self.path / name
        with writing(self.path):
            file.parent.mkdir(exist_ok=True)
            write_atomically(file, safetensors.numpy.save(contiguous, metadata=meta))


def _checkpoint_name(step: int) -> str:
    return f"checkpoints/step_{step:09d}.safetensors"


def is_begun(path: Path) -> bool:
    """Return whether a run's configuration stands in a folder, so that it can be gone on with."""
    with writing(path):
        return (path / "config.json").exists()


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything, unless it is a run and asked to be overwritten."""
    with writing(path):
        if not path.exists() or (path.is_dir() and all(is_leftover(f) for f in path.iterdir())):
            return
    if not overwrite:
        raise InputError(
            "out", str(path), "already exists", "choose another folder, or ask for --resume or --overwrite"
        )
    if not _is_run(path):
        raise InputError(
            "out",
            str(path),
            "exists and is not a run folder, so it will not be deleted",
            "choose another folder",
        )


def _remove(path: Path) -> None:
    """Remove a run so that, killed on the way, it never looks like one to go on with.

    Checkpoints go first, so that none outlives the metrics before it; the configuration, by which it is
    known to be a run, goes last.
    """
    order = {"checkpoints": 0, "config.json": 2}
    for entry in sorted(path.iterdir(), key=lambda e: order.get(e.name, 1)):
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    path.rmdir()


def _is_run(path: Path) -> bool:
    try:
        return "format_version" in json.loads((path / "config.json").read_text())
    except (OSError, ValueError):
        return False


def read_arrays(file: Path) -> tuple[Arrays, dict[str, str]]:
    """Return a safetensors file's arrays and its metadata."""
    with safetensors.safe_open(file, framework="numpy") as opened:
        arrays = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
        return arrays, dict(opened.metadata() or {})


def read_config(folder: Path) -> MemberConfig:
    """Read a run folder's configuration, whatever the run's status."""
    if not folder.is_dir():
        raise InputError("run", str(folder), "no such folder", "make it with: anchorflow train CONFIG.toml")
    data = read_json(folder, "config.json")
    version = data.pop("format_version", None)
    if version != FORMAT_VERSION:
        raise InputError(
            "run",
            str(folder),
            f"has format version {version}, this program reads {FORMAT_VERSION}",
            "train it again, or use the program that made it",
        )
    return make_member_config(data)


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return one of a run folder's JSON objects; refuse one that is missing or unreadable."""
    try:
        data = json.loads((folder / name).read_text())
    except FileNotFoundError:
        raise incomplete(folder, name) from None
    except (OSError, ValueError) as error:
        raise InputError(
            "run", str(folder / name), f"cannot be read ({error})", "train the run again with --overwrite"
        ) from None
    if not isinstance(data, dict):
        raise InputError("run", str(folder / name), "is not a JSON object", "train the run again")
    return data


def incomplete(folder: Path, part: str) -> InputError:
    """Refuse a run folder that lacks a part."""
    return InputError(
        "run",
        str(folder),
        f"incomplete: {part} is missing",
        "name a run folder, or train it again with --overwrite",
    )
