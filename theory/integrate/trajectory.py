"""The matrices that a flow moves, the trajectory that it returns, and how it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import Float64, FloatArray
from theory.edge.display import Shown, spread
from theory.edge.errors import InputError


class Matrices(NamedTuple):
    """W_emb (d, d_m), W1 (d_m, d_f) and W2 (d_f, d)."""

    W_emb: FloatArray
    W1: FloatArray
    W2: FloatArray

    @property
    def B(self) -> FloatArray:
        """Their product (d, d)."""
        return self.W_emb @ self.W1 @ self.W2

    def packed(self) -> FloatArray:
        """Return all entries as one vector."""
        return np.concatenate([matrix.ravel() for matrix in self])

    def unpack(self, vector: FloatArray) -> Matrices:
        """Return views of a vector that have the shapes of these matrices."""
        cuts = np.cumsum([matrix.size for matrix in self[:2]])
        parts = zip(np.split(vector, cuts), self, strict=True)
        return Matrices(*(part.reshape(matrix.shape) for part, matrix in parts))


Losses = Callable[[Matrices], dict[str, float]]
KEEPABLE = ("W_emb", "W1", "W2", "B")


@dataclass(frozen=True)
class SolverStatistics:
    """How a trajectory was made.

    Attributes
    ----------
    method : str
        "closed form" or the integrator's name.
    n_steps, n_evaluations : int
        Accepted steps, and evaluations of the vector field.
    rtol, atol : float
        The tolerances in force; 0 for a closed form.
    """

    method: str
    n_steps: int = 0
    n_evaluations: int = 0
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, repr=False)
class Trajectory(Shown):
    """Matrices and losses along a flow.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Flow time; Σ learning rate of plain gradient descent. Fewer than were asked for only where
        ``blow_up`` is not None.
    kept : mapping of str to ndarray, shape (n_times, ...)
        The matrices asked for: "W_emb", "W1", "W2", or "B", the product W_emb W1 W2.
    losses : mapping of str to ndarray, shape (n_times,)
        Mean cross entropy of each data set, for ``population_flow``.
    solver : SolverStatistics
    blow_up : float or None
        The time at which the flow leaves every bound, if that lies before the last time asked for.
    """

    times: Float64[FloatArray, " n_times"]
    kept: Mapping[str, Float64[FloatArray, "n_times ..."]]
    losses: Mapping[str, Float64[FloatArray, " n_times"]] = field(default_factory=dict)
    solver: SolverStatistics = field(default_factory=lambda: SolverStatistics("closed form"))
    blow_up: float | None = None

    @property
    def W_emb(self) -> Float64[FloatArray, "n_times d d_m"]:
        """The embedding matrix at each time, shape (n_times, d, d_m)."""
        return self["W_emb"]

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.kept:
            remedy = f"add {name!r} to keep" if name in KEEPABLE else f"choose from {', '.join(KEEPABLE)}"
            raise InputError("keep", tuple(self.kept), f"{name!r} was not kept", remedy)
        return self.kept[name]

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        sizes = ", ".join(f"{name} {' x '.join(map(str, a.shape[1:]))}" for name, a in self.kept.items())
        ends = "" if self.blow_up is None else f", leaves every bound at {self.blow_up:.4g}"
        span = f" from {self.times[0]:g} to {self.times[-1]:g}" if len(self.times) else ""
        norms = {f"‖{name}‖": np.linalg.norm(a, axis=(1, 2)) for name, a in self.kept.items()}
        columns = norms | {f"loss {name}": values for name, values in self.losses.items()}
        rows = [
            [f"{self.times[i]:.4g}", *(f"{values[i]:.4g}" for values in columns.values())]
            for i in spread(len(self.times))
        ]
        return f"{len(self.times)} times{span}{ends}; {sizes}", ["time", *columns], rows


def check_times(times: npt.ArrayLike) -> FloatArray:
    """Return times as a float64 vector, or refuse none, negative or unsorted ones."""
    checked = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if checked.ndim != 1 or checked.size == 0:
        raise InputError("times", times, "not a list of numbers", "give e.g. [0.0, 1.0]")
    if (checked < 0).any() or (np.diff(checked) < 0).any():
        raise InputError("times", times, "negative or not sorted", "give increasing times from 0 on")
    return checked


class Recorder:
    """Collects what a trajectory keeps, and its losses, one time after another."""

    def __init__(self, initial: Matrices, keep: Sequence[str], losses: Losses | None = None) -> None:
        for name in keep:
            if name not in KEEPABLE:
                raise InputError("keep", name, "not a matrix of a flow", f"choose from {', '.join(KEEPABLE)}")
        self._kept: dict[str, list[FloatArray]] = {name: [] for name in keep}
        self._losses: list[dict[str, float]] = []
        self._loss_of = losses
        self.initial = initial
        self._count = 0

    def add(self, now: Matrices) -> None:
        """Record the matrices at the next time."""
        self._count += 1
        for name, values in self._kept.items():
            values.append(np.array(getattr(now, name)))
        if self._loss_of is not None:
            self._losses.append(self._loss_of(now))

    def trajectory(
        self, times: FloatArray, solver: SolverStatistics, blow_up: float | None = None
    ) -> Trajectory:
        """Return everything collected; ``times`` beyond the last one reached are dropped."""
        names = self._losses[0] if self._losses else {}
        shapes = {name: (self._count, *getattr(self.initial, name).shape) for name in self._kept}
        kept = {name: np.reshape(values, shapes[name]) for name, values in self._kept.items()}
        losses = {name: np.array([row[name] for row in self._losses]) for name in names}
        return Trajectory(times[: self._count], kept, losses, solver, blow_up)


def first_passage(
    times: npt.ArrayLike,
    values: npt.ArrayLike,
    level: float,
    straight: Callable[[FloatArray], FloatArray] = np.positive,
) -> float:
    """Return the first time at which a quantity reaches a level, or infinity if it never does.

    Between two times ``straight`` of the values is taken to be linear: by default the values themselves. They
    are also used where it is not finite, such as the logarithm of 0, or the same at both times.
    """
    t, x = np.asarray(times, np.float64), np.asarray(values, np.float64)
    reached = np.flatnonzero(x >= level)
    if not reached.size:
        return float("inf")
    k = int(reached[0])
    if k == 0:
        return float(t[0])
    ends = np.array([x[k - 1], x[k], level])
    with np.errstate(divide="ignore"):
        straightened = straight(ends)
    usable = np.isfinite(straightened).all() and straightened[0] != straightened[1]
    before, after, wanted = straightened if usable else ends
    return float(t[k - 1] + (wanted - before) / (after - before) * (t[k] - t[k - 1]))
