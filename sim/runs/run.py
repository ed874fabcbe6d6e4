"""A finished run, read back from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from sim.config.run import MemberConfig
from sim.runs.folder import Arrays, RunFolder, incomplete, read_arrays, read_config, read_json
from theory import EmbMLPParameters, InputError, Task, frozen_direction
from theory.statistics.sample import matrix_of_counts


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
        provenance = read_json(folder, "provenance.json")
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
                raise incomplete(folder, part)
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
        """Return the embedding, W_emb or W_E, at an epoch, shape (d, d_m), float64."""
        return self.snapshot(epoch)[self.config.model.embedding].astype(np.float64)

    def initial(self) -> EmbMLPParameters:
        """Return an Emb-MLP's own matrices at epoch 0; other kinds of model are refused."""
        if self.config.model.kind != "emb-mlp":
            raise InputError(
                "run",
                str(self.path),
                f"trained a model of kind {self.config.model.kind!r}, which has no W1 and W2",
                "name the run of an Emb-MLP, or read this one's tensors with Run.snapshot(0)",
            )
        arrays = self.snapshot(0)
        return EmbMLPParameters(arrays["W_emb"], arrays["W1"], arrays["W2"])

    def token_label_counts(self) -> tuple[npt.NDArray[np.int64], int]:
        """Return the token-label counts of the training data, shape (d, d), and its size n."""
        arrays, meta = self._arrays(self.path / "statistics.safetensors")
        return arrays["token_label_counts"], int(meta["n_sequences"])

    @cached_property
    def token_label_matrix(self) -> npt.NDArray[np.float64]:
        """C of the training data, shape (d, d): row s is r_s (P̂^s − u)."""
        return matrix_of_counts(*self.token_label_counts())

    @cached_property
    def frozen_direction(self) -> npt.NDArray[np.float64]:
        """dW_emb/dt by eq. 5 from an Emb-MLP's own initial weights and training data, shape (d, d_m)."""
        return frozen_direction(self.token_label_matrix, self.initial())

    def _arrays(self, file: Path) -> tuple[Arrays, dict[str, str]]:
        try:
            return read_arrays(file)
        except (SafetensorError, OSError) as error:
            raise InputError(
                "run", str(file), f"cannot be read ({error})", "train the run again with --overwrite"
            ) from None


def find_runs(paths: list[Path]) -> list[Path]:
    """Return run folders: the paths themselves, or for a folder of runs those inside it, sorted."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(p.parent for p in path.glob("*/config.json")) if path.is_dir() else []
        found += inside if inside and not (path / "config.json").exists() else [path]
    return found


def _unfinished(folder: Path, provenance: dict[str, Any]) -> InputError:
    status = provenance.get("status")
    if status == "diverged":
        remedy = "train it again with a smaller training.learning_rate and --overwrite"
        return InputError("run", str(folder), str(provenance.get("reason")), remedy)
    remedy = "continue it with --resume, or train it again with --overwrite"
    return InputError("run", str(folder), f"not finished (status: {status})", remedy)
