"""What a flow gives back, and how it is collected along the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from theory.emb_mlp.parameters import Matrices
from theory.errors import InputError

FloatArray = npt.NDArray[np.float64]
Losses = Callable[[Matrices], dict[str, float]]
KEEPABLE = ("W_emb", "W1", "W2", "B")
EMBEDDING_BALANCE = "W_embᵀW_emb − W1W1ᵀ"
HIDDEN_BALANCE = "W1ᵀW1 − W2W2ᵀ"


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


@dataclass(frozen=True)
class Trajectory:
    """Matrices, losses and invariants along a flow.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Flow time; Σ learning rate of plain gradient descent. Shorter than what was asked for only where
        ``blow_up`` is not None.
    kept : mapping of str to ndarray, shape (n_times, ...)
        The matrices asked for: "W_emb", "W1", "W2", or "B", the product W_emb W1 W2.
    losses : mapping of str to ndarray, shape (n_times,)
        Mean cross entropy of each data set, if the population was given.
    invariants : mapping of str to ndarray, shape (n_times,)
        The relative drift of each conserved matrix: ‖Q(t) − Q(0)‖ over the norms of its two parts.
    solver : SolverStatistics
    blow_up : float or None
        The time at which the flow leaves every bound, if that lies before the last time asked for.
    """

    times: FloatArray
    kept: Mapping[str, FloatArray]
    losses: Mapping[str, FloatArray] = field(default_factory=dict)
    invariants: Mapping[str, FloatArray] = field(default_factory=dict)
    solver: SolverStatistics = field(default_factory=lambda: SolverStatistics("closed form"))
    blow_up: float | None = None

    @property
    def W_emb(self) -> FloatArray:
        """The embedding matrix at each time, shape (n_times, d, d_m)."""
        return self["W_emb"]

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.kept:
            raise InputError("keep", tuple(self.kept), f"{name!r} was not kept", f"add {name!r} to keep")
        return self.kept[name]


def check_keep(keep: Sequence[str]) -> tuple[str, ...]:
    """Return the names of matrices to keep, or refuse an unknown one."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        if name not in KEEPABLE:
            raise InputError("keep", name, "no matrix of a flow", f"choose from {', '.join(KEEPABLE)}")
    return names


def check_times(times: npt.ArrayLike) -> FloatArray:
    """Return times as a float64 vector, or refuse negative, unsorted or non-finite ones."""
    checked = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if checked.ndim != 1 or checked.size == 0 or not np.isfinite(checked).all():
        raise InputError("times", times, "not a list of finite numbers", "give e.g. [0.0, 1.0]")
    if (checked < 0).any() or (np.diff(checked) < 0).any():
        raise InputError("times", times, "negative or not sorted", "give increasing times from 0 on")
    return checked


class Recorder:
    """Collects what a trajectory keeps, one time after another."""

    def __init__(self, keep: Sequence[str], losses: Losses | None, conserved: Sequence[str]) -> None:
        self._kept: dict[str, list[FloatArray]] = {name: [] for name in check_keep(keep)}
        self._losses: list[dict[str, float]] = []
        self._loss_of = losses
        self._drift: dict[str, list[float]] = {name: [] for name in conserved}
        self._initial: dict[str, FloatArray] = {}
        self._count = 0

    def start(self, initial: Matrices) -> None:
        """Note the conserved matrices' values at t = 0."""
        self._initial = {name: _balance(name, initial)[0] for name in self._drift}

    def add(self, now: Matrices) -> None:
        """Keep what is asked for of the matrices at the next time."""
        self._count += 1
        for name, values in self._kept.items():
            matrix = now.W_emb @ now.W1 @ now.W2 if name == "B" else getattr(now, name)
            values.append(np.array(matrix))
        for name, drifts in self._drift.items():
            value, size = _balance(name, now)
            change = float(np.linalg.norm(value - self._initial[name]))
            drifts.append(change / size if size > 0 else change)
        if self._loss_of is not None:
            self._losses.append(self._loss_of(now))

    def trajectory(
        self, times: FloatArray, solver: SolverStatistics, blow_up: float | None = None
    ) -> Trajectory:
        """Return everything collected; ``times`` beyond the last one reached are dropped."""
        names = self._losses[0] if self._losses else {}
        return Trajectory(
            times[: self._count],
            {name: np.array(values) for name, values in self._kept.items()},
            {name: np.array([row[name] for row in self._losses]) for name in names},
            {name: np.array(values) for name, values in self._drift.items()},
            solver,
            blow_up,
        )


def _balance(name: str, m: Matrices) -> tuple[FloatArray, float]:
    """Return a conserved matrix and the size of its two parts."""
    if name == EMBEDDING_BALANCE:
        parts = m.W_emb.T @ m.W_emb, m.W1 @ m.W1.T
    else:
        parts = m.W1.T @ m.W1, m.W2 @ m.W2.T
    return parts[0] - parts[1], float(np.linalg.norm(parts[0]) + np.linalg.norm(parts[1]))
