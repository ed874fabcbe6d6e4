"""One run as observed: everything that comparisons, claims, figures and reports know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from sim.config.run import MemberConfig
from sim.runs.provenance import share_of_seconds
from sim.runs.table import LAST_HEADER, last_rows
from theory import InputError, Task
from theory.edge.arrays import FloatArray
from theory.edge.display import Shown

UNDEFINED = "–"
"""The text in tables for an undefined number."""
KEPT_SUFFIX = ".safetensors"
"""The suffix of kept files."""

TIMELESS = ("frozen_", "token_", "entropy/", "matched/", "predicted", "control")
"""The beginnings of the names of arrays that have no axis of snapshots."""


SHAPES = {
    **{"gram": "EAT", "norms": "ET", "wv_direction": "ET", "outputs": "Ed", "token_ratio": "A"},
    **{"token_label_matrix_anchors": "Ad", "frozen_direction": "AA", "frozen_start": "AA"},
    **dict.fromkeys(("first_attention", "first_attention_sd"), "ELL"),
    **dict.fromkeys(("last_logits", "last_logits_sd", "last_attention"), "EPL"),
    **{"key_attention": "EP", "last_logits_positions": "EL"},
}
"""The axes of arrays, by the part of the name before a slash: snapshots E, anchors A, all tokens T, labels d,
positions L, places of the key P."""


class Result(BaseModel):
    """What runs show, computed once: values that do not change, shown in several ways and written as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, with null for what is undefined."""
        return self.model_dump(mode="json", by_alias=True)


class NoRunsError(InputError):
    """A study, or a variant of it, has no runs where they were looked for."""


class NotObservedError(InputError):
    """A run has no such observable."""


class LazyArrays(Mapping[str, FloatArray]):
    """Arrays that are computed when the first of them is needed."""

    def __init__(self, compute: Callable[[], dict[str, FloatArray]]) -> None:
        self._compute = compute

    @cached_property
    def _arrays(self) -> dict[str, FloatArray]:
        return self._compute()

    def __getitem__(self, name: str) -> FloatArray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


@dataclass(frozen=True, repr=False)
class Observations(Shown):
    """A run's observables at its snapshots, with its configuration, provenance and metrics.

    Attributes
    ----------
    config : MemberConfig
    provenance : dict
    metrics : list of dict
        One entry per evaluation: epoch, step, sum_learning_rate, and loss and accuracy per data set.
    epochs : tuple of int
        The snapshots' epochs.
    arrays : mapping of ndarray
        The observables by name, float64. The first axis is the snapshot unless the docs' page on studies
        says otherwise. Observables that a run's snapshots do not allow are absent.
    path : Path or None
        The run folder or the kept file that they were read from.
    """

    config: MemberConfig
    provenance: dict[str, Any]
    metrics: list[dict[str, Any]]
    epochs: tuple[int, ...]
    arrays: Mapping[str, FloatArray]
    path: Path | None = None

    @cached_property
    def task(self) -> Task:
        """The run's task, of anchors and keys; the run of a language model is refused."""
        return self.config.build_task()

    @property
    def label(self) -> str:
        """The run's name in tables."""
        return f"γ = {self.config.init_rate:g}, seed {self.config.seed}"

    @property
    def source(self) -> str:
        """Where it was read from, or its label."""
        return self.label if self.path is None else str(self.path)

    @property
    def seconds(self) -> float:
        """Its share of the recorded training time."""
        return share_of_seconds(self.provenance)

    @property
    def run_folder(self) -> Path | None:
        """The run folder; None if the run was read from a kept file or is in no file."""
        return None if self.path is None or self.path.suffix == KEPT_SUFFIX else self.path

    @property
    def tokens(self) -> tuple[int, ...]:
        """All anchors, then all keys: the order of the token axis T; anchors alone are the axis A."""
        return tokens_of(self.task)

    def until(self, epoch: int) -> Observations:
        """Return the run as it was after an epoch: its evaluations and snapshots up to then."""
        if self.metrics[-1]["epoch"] <= epoch:
            return self
        n = sum(each <= epoch for each in self.epochs)
        lines = [line for line in self.metrics if line["epoch"] <= epoch]
        arrays = LazyArrays(
            lambda: {k: a if k.startswith(TIMELESS) else a[:n] for k, a in self.arrays.items()}
        )
        return replace(self, metrics=lines, epochs=self.epochs[:n], arrays=arrays)

    def at(self, name: str, epoch: int) -> FloatArray:
        """Return an observable at one snapshot, or raise ``NotObservedError`` or ``InputError``."""
        values = self.array(name)
        if epoch not in self.epochs:
            problem = f"no snapshot in the run {self.label}"
            raise InputError("epoch", epoch, problem, f"choose one of {list(self.epochs)}")
        return np.asarray(values[self.epochs.index(epoch)])

    def array(self, name: str) -> FloatArray:
        """Return an observable, at all snapshots if it has any, or raise ``NotObservedError``."""
        if name not in self.arrays:
            known = 'train with training.snapshot_tensors = "all", or choose one of ' + ", ".join(self.arrays)
            if not self.arrays:
                known = "its metrics alone are kept; give its run folder, or other runs"
            raise NotObservedError("observable", name, f"not observed in the run {self.label}", known)
        return self.arrays[name]

    def cosines(self, rows: Sequence[int], epoch: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Return the cosine similarity of anchors' embeddings (rows) with those of anchors or keys (columns).

        Without ``columns`` they are the rows, for a square matrix. A zero vector has no direction: its
        cosines are NaN.

        Raises
        ------
        InputError
            If a token is not one of the task's, a row is a key, or the epoch has no snapshot.
        """
        anchors = places(rows, self.task.anchors, "rows", "an anchor")
        others = anchors if columns is None else places(columns, self.tokens, "columns", "an anchor or a key")
        gram, norms = self.at("gram", epoch), self.at("norms", epoch)
        sizes = np.outer(norms[anchors], norms[others])
        return np.clip(gram[np.ix_(anchors, others)] / np.where(sizes > 0, sizes, np.nan), -1.0, 1.0)

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        """Return the final metrics, as a run shows them."""
        where = "" if self.path is None else f"{self.path}: "
        title = (
            f"{where}{self.config.model.kind}, {self.label}, epoch {self.metrics[-1]['epoch']:g}; "
            f"{len(self.arrays)} arrays at {len(self.epochs)} snapshots"
        )
        return title, LAST_HEADER, last_rows(self.config, self.metrics)


def check_shapes(arrays: Mapping[str, FloatArray], config: MemberConfig, n_epochs: int) -> None:
    """Raise ValueError for arrays that do not fit a configuration and its snapshots."""
    sizes = {"E": n_epochs}
    if isinstance(task := config.task, Task):
        sizes |= {"A": len(task.anchors), "T": len(tokens_of(task)), "d": task.vocab_size}
        sizes |= {"L": task.length, "P": task.length - task.n_anchors}
    for name, array in arrays.items():
        axes = SHAPES.get(name.partition("/")[0], "" if name.startswith(TIMELESS) else "E")
        shape = tuple(sizes.get(axis) for axis in axes)
        if array.shape[: len(shape)] != shape or (name in SHAPES and array.ndim != len(shape)):
            raise ValueError(f"{name} has shape {array.shape}")


def tokens_of(task: Task) -> tuple[int, ...]:
    """Return a task's anchors, then its keys."""
    return (*task.anchors, *task.keys)


def places(tokens: Sequence[int], among: Sequence[int], argument: str, kind: str) -> list[int]:
    """Return the indices of tokens in a list, or refuse one that is not in it."""
    index, listed = {token: i for i, token in enumerate(among)}, list(tokens)
    for token in listed:
        if token not in index:
            raise InputError(argument, token, f"not {kind} of the task", "choose other tokens")
    return [index[token] for token in listed]
