"""What claims and figures need of one run, whatever became of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.config.run import MemberConfig
from theory import InputError, Task
from validate.observe.errors import NotObservedError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """A run's observables at its snapshots, with its configuration, provenance and metrics.

    Attributes
    ----------
    config : MemberConfig
    provenance : dict
    metrics : list of dict
        One entry per evaluation: epoch, step, sum_learning_rate, and loss and accuracy per data set.
    epochs : tuple of int
        The snapshots' epochs.
    arrays : dict of ndarray
        The observables by name, float64. The first axis is the snapshot unless the docs' page on studies
        says otherwise. What a run's snapshots do not allow is absent.
    """

    config: MemberConfig
    provenance: dict[str, Any]
    metrics: list[dict[str, Any]]
    epochs: tuple[int, ...]
    arrays: dict[str, FloatArray]

    @cached_property
    def task(self) -> Task:
        """The run's task."""
        return self.config.task

    @property
    def label(self) -> str:
        """What a table calls the run."""
        return f"γ = {self.config.init_rate:g}, seed {self.config.seed}"

    @property
    def tokens(self) -> tuple[int, ...]:
        """All anchors, then all keys: the order of the token axis T; anchors alone are the axis A."""
        return tokens_of(self.task)

    def at(self, name: str, epoch: int) -> FloatArray:
        """Return an observable at one snapshot.

        Raises
        ------
        InputError
            If the run has no such observable or no snapshot at that epoch.
        """
        if name not in self.arrays:
            raise NotObservedError(
                "observable",
                name,
                f"not observed in the run {self.label}",
                'train with training.snapshot_tensors = "all", or choose one of ' + ", ".join(self.arrays),
            )
        return np.asarray(self.arrays[name][self._index(epoch)])

    def gram(self, rows: Sequence[int], columns: Sequence[int], epoch: int) -> FloatArray:
        """Return the inner products of the embeddings of anchors (rows) with those of any tokens (columns).

        Parameters
        ----------
        rows : sequence of int
            Anchors.
        columns : sequence of int
            Anchors or keys.
        epoch : int
            A snapshot's epoch.

        Returns
        -------
        ndarray, shape (len(rows), len(columns))

        Raises
        ------
        InputError
            If a token is none of the task's, a row is a key, or the epoch has no snapshot.
        """
        anchors = places(rows, self.task.anchors, "rows", "an anchor")
        tokens = places(columns, self.tokens, "columns", "an anchor or a key")
        return self.at("gram", epoch)[np.ix_(anchors, tokens)]

    def cosines(self, rows: Sequence[int], epoch: int, columns: Sequence[int] | None = None) -> FloatArray:
        """Return the cosine similarity of anchors' embeddings with those of other tokens.

        Parameters and errors are those of ``gram``; without ``columns`` the rows' own, which gives a square
        matrix. A zero vector has no direction: its cosines are NaN.
        """
        others = rows if columns is None else columns
        product = self.gram(rows, others, epoch)
        norms = self.at("norms", epoch)
        left = norms[places(rows, self.tokens, "rows", "an anchor")]
        right = norms[places(others, self.tokens, "columns", "an anchor or a key")]
        sizes = np.outer(left, right)
        return np.clip(product / np.where(sizes > 0, sizes, np.nan), -1.0, 1.0)

    def _index(self, epoch: int) -> int:
        if epoch not in self.epochs:
            raise InputError(
                "epoch", epoch, f"no snapshot in the run {self.label}", f"choose one of {list(self.epochs)}"
            )
        return self.epochs.index(epoch)


def tokens_of(task: Task) -> tuple[int, ...]:
    """Return a task's anchors, then its keys."""
    return (*task.anchors, *task.keys)


def places(tokens: Sequence[int], among: Sequence[int], argument: str, kind: str) -> list[int]:
    """Return where tokens stand in a list, or refuse one that does not."""
    index = {token: i for i, token in enumerate(among)}
    for token in tokens:
        if token not in index:
            raise InputError(argument, token, f"not {kind} of the task", "choose other tokens")
    return [index[token] for token in tokens]
