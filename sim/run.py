"""The run folder: everything about one run, readable without the code that made it.

config.json        the resolved configuration
provenance.json    status, commit, versions, device, seeds, wall time, peak memory
metrics.jsonl      losses and accuracies, one line per evaluation
statistics.safetensors   token-label counts N of the training data
snapshots/         all tensors at epoch 0, the embedding at the chosen epochs
checkpoints/       the whole state at the two newest checkpoints
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from sim.config import MemberConfig, make_member_config
from sim.files import write_atomically, write_json
from theory import EmbMLPParameters, InputError, Task

FORMAT_VERSION = 1
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class RunFolder:
    """A run folder being written."""

    path: Path

    @classmethod
    def create(cls, path: Path, member: MemberConfig, *, overwrite: bool = False) -> RunFolder:
        """Make the folder, or refuse one that exists unless asked to overwrite a run."""
        if path.exists():
            _clear(path, overwrite)
        for part in ("snapshots", "checkpoints"):
            (path / part).mkdir(parents=True)
        saved = {"format_version": FORMAT_VERSION, **member.model_dump(mode="json")}
        write_json(path / "config.json", saved)
        return cls(path)

    def write_provenance(self, provenance: dict[str, Any]) -> None:
        """Write or renew provenance.json."""
        write_json(self.path / "provenance.json", provenance)

    def write_metrics(self, lines: list[dict[str, Any]]) -> None:
        """Write all metrics so far; a few hundred short lines, so that rewriting costs nothing."""
        text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
        write_atomically(self.path / "metrics.jsonl", text)

    def write_snapshot(self, epoch: int, arrays: Arrays) -> None:
        """Keep arrays of one epoch."""
        self._write_arrays(f"snapshots/epoch_{epoch:06d}.safetensors", arrays, {"epoch": str(epoch)})

    def write_statistics(self, counts: npt.NDArray[np.int64], n_sequences: int) -> None:
        """Keep the token-label counts of the training data."""
        meta = {"n_sequences": str(n_sequences)}
        self._write_arrays("statistics.safetensors", {"token_label_counts": counts}, meta)

    def write_checkpoint(self, step: int, arrays: Arrays, state: dict[str, Any]) -> None:
        """Write a checkpoint, then drop all but the two newest."""
        name = f"checkpoints/step_{step:09d}.safetensors"
        self._write_arrays(name, arrays, {"state": json.dumps(state)})
        for old in sorted((self.path / "checkpoints").glob("step_*.safetensors"))[:-2]:
            old.unlink()

    def newest_checkpoint(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the newest checkpoint that can be read, or None."""
        for file in sorted((self.path / "checkpoints").glob("step_*.safetensors"), reverse=True):
            try:
                arrays, meta = _read_arrays(file)
                return arrays, json.loads(meta["state"])
            except (SafetensorError, OSError, KeyError, ValueError):
                continue
        return None

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the metrics written so far."""
        file = self.path / "metrics.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _write_arrays(self, name: str, arrays: Arrays, meta: dict[str, str]) -> None:
        contiguous = {k: np.ascontiguousarray(a) for k, a in arrays.items()}
        write_atomically(self.path / name, safetensors.numpy.save(contiguous, metadata=meta))


def _clear(path: Path, overwrite: bool) -> None:
    """Remove an earlier run when asked to; never anything that is not a run folder."""
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
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
    shutil.rmtree(path)


def _is_run(path: Path) -> bool:
    try:
        return "format_version" in json.loads((path / "config.json").read_text())
    except (OSError, ValueError):
        return False


def _read_arrays(file: Path) -> tuple[Arrays, dict[str, str]]:
    with safetensors.safe_open(file, framework="numpy") as opened:
        arrays = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
        return arrays, dict(opened.metadata() or {})


@dataclass(frozen=True)
class Run:
    """A finished run, read back from its folder.

    Attributes
    ----------
    path : Path
    config : MemberConfig
    provenance : dict
    metrics : list of dict
        One entry per evaluation: epoch, step, sum_learning_rate, and loss and accuracy per data set.
    snapshot_epochs : tuple of int
        The epochs at which the embedding was kept.
    """

    path: Path
    config: MemberConfig
    provenance: dict[str, Any]
    metrics: list[dict[str, Any]]
    snapshot_epochs: tuple[int, ...]

    @classmethod
    def open(cls, path: Path | str) -> Run:
        """Read a run folder.

        Raises
        ------
        InputError
            If the folder is missing, of another version, unfinished, diverged or incomplete.
        """
        folder = Path(path)
        config = read_config(folder)
        provenance = _read_json(folder, "provenance.json")
        if provenance.get("status") != "complete":
            raise _unfinished(folder, provenance)
        metrics = RunFolder(folder).read_metrics()
        epochs = sorted(int(f.stem.split("_")[1]) for f in (folder / "snapshots").glob("epoch_*.safetensors"))
        for part, missing in (
            ("metrics.jsonl", not metrics),
            ("snapshots", not epochs or epochs[0] != 0 or epochs[-1] != config.training.epochs),
            ("statistics.safetensors", not (folder / "statistics.safetensors").exists()),
        ):
            if missing:
                raise _incomplete(folder, part)
        return cls(folder, config, provenance, metrics, tuple(epochs))

    @cached_property
    def task(self) -> Task:
        """The run's task."""
        return self.config.build_task()

    def snapshot(self, epoch: int) -> Arrays:
        """Return the arrays kept at an epoch."""
        file = self.path / "snapshots" / f"epoch_{epoch:06d}.safetensors"
        if not file.exists():
            raise InputError(
                "epoch", epoch, f"no snapshot in {self.path}", f"choose one of {list(self.snapshot_epochs)}"
            )
        return self._arrays(file)[0]

    def embedding(self, epoch: int) -> npt.NDArray[np.float64]:
        """Return W_emb at an epoch, shape (d, d_m), float64."""
        return self.snapshot(epoch)["W_emb"].astype(np.float64)

    def initial(self) -> EmbMLPParameters:
        """Return the run's own matrices at epoch 0."""
        arrays = self.snapshot(0)
        return EmbMLPParameters(arrays["W_emb"], arrays["W1"], arrays["W2"])

    def token_label_counts(self) -> tuple[npt.NDArray[np.int64], int]:
        """Return the token-label counts of the training data, shape (d, d), and its size n."""
        arrays, meta = self._arrays(self.path / "statistics.safetensors")
        return arrays["token_label_counts"], int(meta["n_sequences"])

    @cached_property
    def token_label_matrix(self) -> npt.NDArray[np.float64]:
        """C of the training data, shape (d, d): row s is r_s (P̂^s − u)."""
        counts, n = self.token_label_counts()
        per_token = counts.sum(axis=1, keepdims=True)
        return np.asarray((counts - per_token / self.task.vocab_size) / n, dtype=np.float64)

    def _arrays(self, file: Path) -> tuple[Arrays, dict[str, str]]:
        try:
            return _read_arrays(file)
        except (SafetensorError, OSError) as error:
            raise InputError(
                "run", str(file), f"cannot be read ({error})", "train the run again with --overwrite"
            ) from None


def read_config(folder: Path) -> MemberConfig:
    """Read a run folder's configuration, whatever the run's status."""
    if not folder.is_dir():
        raise InputError("run", str(folder), "no such folder", "make it with: anchorflow train CONFIG.toml")
    data = _read_json(folder, "config.json")
    version = data.pop("format_version", None)
    if version != FORMAT_VERSION:
        raise InputError(
            "run",
            str(folder),
            f"has format version {version}, this program reads {FORMAT_VERSION}",
            "train it again, or use the program that made it",
        )
    return make_member_config(data)


def find_runs(paths: list[Path]) -> list[Path]:
    """Return run folders: the paths themselves, or for a folder of runs those inside it, sorted."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(p.parent for p in path.glob("*/config.json")) if path.is_dir() else []
        found += inside if inside and not (path / "config.json").exists() else [path]
    return found


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    try:
        data = json.loads((folder / name).read_text())
    except FileNotFoundError:
        raise _incomplete(folder, name) from None
    except (OSError, ValueError) as error:
        raise InputError(
            "run", str(folder / name), f"cannot be read ({error})", "train the run again with --overwrite"
        ) from None
    if not isinstance(data, dict):
        raise InputError("run", str(folder / name), "is not a JSON object", "train the run again")
    return data


def _incomplete(folder: Path, part: str) -> InputError:
    return InputError(
        "run",
        str(folder),
        f"incomplete: {part} is missing",
        "name a run folder, or train it again with --overwrite",
    )


def _unfinished(folder: Path, provenance: dict[str, Any]) -> InputError:
    status = provenance.get("status")
    if status == "diverged":
        remedy = "train it again with a smaller training.learning_rate and --overwrite"
        return InputError("run", str(folder), str(provenance.get("reason")), remedy)
    remedy = "continue it with --resume, or train it again with --overwrite"
    return InputError("run", str(folder), f"not finished (status: {status})", remedy)
