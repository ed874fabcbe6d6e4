r"""From saddle to saddle: when each mode of rung 3 escapes, given what the modes before it left unfitted.

Near a saddle of rank k the matrices are k large modes and a small rest. The large modes are stationary, and
to leading order the rest obeys the coupled flow driven by the part of the labels that they leave unfitted,
:math:`G_k = C - S\bar B_k`: from a scale ε it needs a time of order 1/ε to escape. The passage to the next
saddle takes a time of order log 1/ε, in which the flow itself turns the rest. docs/theory/staircase.md has
the derivation. [derived]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from scipy.integrate import solve_ivp

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Real
from theory.edge.checked import Positive, Size, checked
from theory.edge.errors import IntegrationError
from theory.flows.escapes import check_modes, escape_threshold
from theory.flows.ladder import (
    blow_up_bound,
    check_cooccurrence,
    linearised_drive,
    linearised_flow,
    product_field,
)
from theory.flows.network import EmbMLPParameters, check_statistic
from theory.integrate.solve import Solver
from theory.integrate.trajectory import Matrices, first_passage

_HANDOVER = 0.1
"""Relative to the fitted weights: a rest this large, with a thousandth of their product, goes to the flow."""
_SETTLED = 0.01
"""The large modes are stationary once at most this share of the drive, times the rest's size, moves them."""
_TRANSIENT = 8.0
"""How long the flow runs between two looks at it, in units of the drive's time at a saddle."""
_MOST_LOOKS = 200
_NOTHING = 1e-6
_SLOW_TOLERANCE = 1e-6
_LONGEST = 1e6
"""In units of the shortest time in which the rest can escape: if it has not by then, nothing drives it."""


@dataclass(frozen=True)
class Staircase:
    """Escapes along a chain of saddles.

    Attributes
    ----------
    times : ndarray, shape (n_modes,)
        When the k-th singular value of W_emb passes the threshold; infinite where nothing drives it.
    drives : list of float
        The largest singular value of G_k at each saddle that was reached.
    ranks : list of int
        The rank of each of these saddles.
    slow_share : float
        The share of the time that was spent at saddles rather than on the way between them.
    n_evaluations : int
        Evaluations of a vector field, on the reduced and on the whole matrices.
    """

    times: Float64[FloatArray, " n_modes"]
    drives: list[float]
    ranks: list[int]
    slow_share: float
    n_evaluations: int


@dataclass
class _Walk:
    """The state of the walk: the matrices, the time, and the singular values seen so far."""

    now: Matrices
    threshold: float
    time: float = 0.0
    slow: float = 0.0
    n_evaluations: int = 0
    times: list[FloatArray] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)

    def see(self, times: FloatArray, embeddings: FloatArray) -> None:
        """Add the singular values of W_emb at times counted from the current one."""
        self.times.append(self.time + times)
        self.values.append(np.asarray(np.linalg.svd(embeddings, compute_uv=False), np.float64))

    def escapes(self, n_modes: int) -> FloatArray:
        times, values = np.concatenate(self.times), np.concatenate(self.values)
        return np.array([first_passage(times, values[:, k], self.threshold, np.log) for k in range(n_modes)])


@checked
def saddle_staircase(
    C: Real[ArrayLike, "d d"],
    S: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    n_modes: Size,
    *,
    threshold: Positive | None = None,
) -> Staircase:
    r"""Predict the escapes of rung 3 in the limit of small initialisation, saddle by saddle.

    Its cost hardly depends on the scale of the start; ``linearised_flow`` costs more for smaller ones.
    For the limit itself give ``initial.scaled(factor)`` with a small factor and multiply the times by it.

    Parameters
    ----------
    C, S : array_like, shape (d, d)
        As in ``linearised_flow``.
    initial : EmbMLPParameters
        The matrices at t = 0.
    n_modes : int
        How many modes to follow.
    threshold : float, optional
        ``escape_threshold(initial)`` by default.

    Raises
    ------
    InputError
        If shapes disagree or W_emb has fewer modes.
    IntegrationError
        If a passage does not end at a saddle.
    """
    label, token = check_statistic("C", C, initial), check_cooccurrence(S, initial)
    level = escape_threshold(initial) if threshold is None else threshold
    check_modes(n_modes, initial.W_emb.shape)
    # The size of each matrix when the strongest mode is fitted: the cube root of B's norm.
    fitted = len(label) * np.linalg.pinv(token, hermitian=True) @ label
    scale = float(np.cbrt(np.linalg.norm(fitted, 2)))
    walk, rank = _Walk(initial.matrices, level), 0
    walk.see(np.zeros(1), initial.W_emb[None])
    drives, ranks = [], []
    while np.isinf(walk.escapes(n_modes)).any() and scale > 0:
        M = _projected(linearised_drive(label, token, walk.now.B), walk.now, rank)
        ranks.append(rank)
        drives.append(float(np.linalg.norm(M, 2)))
        if drives[-1] <= _NOTHING * np.linalg.norm(label, 2) or not _stay(walk, M, rank, _HANDOVER * scale):
            break
        rank = _pass(walk, label, token, rank, scale, n_modes)
    share = walk.slow / walk.time if walk.time > 0 else 0.0
    return Staircase(walk.escapes(n_modes), drives, ranks, share, walk.n_evaluations)


def _split(now: Matrices, rank: int) -> tuple[Matrices, Matrices]:
    """Return the large modes and the rest, told apart by W1's leading singular vectors."""
    x, s, y = np.linalg.svd(now.W1)
    inner, outer = x[:, :rank], y[:rank].T
    large = Matrices(now.W_emb @ inner @ inner.T, (inner * s[:rank]) @ outer.T, outer @ (outer.T @ now.W2))
    return large, Matrices(*(whole - part for whole, part in zip(now, large, strict=True)))


def _projected(M: FloatArray, now: Matrices, rank: int) -> FloatArray:
    """Return the part of the drive that does not act on the large modes; at the saddle itself, all of it."""
    large, _ = _split(now, rank)
    tokens, labels = np.linalg.svd(large.W_emb)[0][:, :rank], np.linalg.svd(large.W2)[2][:rank].T
    M = M - tokens @ (tokens.T @ M)
    return np.asarray(M - (M @ labels) @ labels.T)


def _size(now: Matrices) -> float:
    return max(float(np.linalg.norm(matrix, 2)) for matrix in now)


def _stay(walk: _Walk, M: FloatArray, rank: int, handover: float) -> bool:
    """Follow the rest at a saddle, under the coupled flow, until it is large; return whether that happens."""
    large, rest = _split(walk.now, rank)
    if _size(rest) >= handover:
        return True
    start = EmbMLPParameters(*rest)
    longest = _LONGEST * blow_up_bound(M, start)
    if not np.isfinite(longest):
        return False
    coupled = product_field(lambda _: M)

    def grown(_: float, vector: FloatArray) -> float:
        return _size(start.matrices.unpack(vector)) - handover

    grown.terminal = True  # type: ignore[attr-defined]
    packed = start.matrices.packed()
    path = solve_ivp(
        lambda _, vector: coupled(start.matrices.unpack(vector)).packed(),
        (0.0, longest),
        packed,
        method="DOP853",
        rtol=_SLOW_TOLERANCE,
        atol=_SLOW_TOLERANCE * float(np.sqrt(np.mean(np.square(packed)))),
        events=grown,
        dense_output=True,
    )
    times = np.interp(np.arange(0, len(path.t) - 1 + 0.05, 0.1), np.arange(len(path.t)), path.t)
    inside = cast("Callable[[float], FloatArray]", path.sol)
    walk.see(times, large.W_emb + np.array([start.matrices.unpack(inside(t)).W_emb for t in times]))
    walk.now = Matrices(*(a + b for a, b in zip(large, start.matrices.unpack(path.y[:, -1]), strict=True)))
    walk.time += float(path.t[-1])
    walk.slow += float(path.t[-1])
    walk.n_evaluations += path.nfev
    return bool(path.status == 1)


def _pass(walk: _Walk, C: FloatArray, S: FloatArray, rank: int, scale: float, n_modes: int) -> int:
    """Follow the flow itself to the next saddle; return its rank."""
    for _ in range(_MOST_LOOKS):
        _, rest = _split(walk.now, rank)
        rms = [float(np.sqrt(np.mean(np.square(part.packed())))) for part in (rest, walk.now)]
        step = _TRANSIENT / (float(np.linalg.norm(C, 2)) * scale)
        solver = Solver(1e-4, max(1e-5 * rms[0] / rms[1], 1e-13))
        times = np.linspace(0, step, 65)[1:]
        path = linearised_flow(C, S, EmbMLPParameters(*walk.now), times, solver=solver, keep=Matrices._fields)
        walk.see(path.times, path["W_emb"])
        walk.now = Matrices(*(path[name][-1] for name in Matrices._fields))
        walk.time += step
        walk.n_evaluations += path.solver.n_evaluations
        settled = _settled_rank(walk.now, C, S, scale)
        if settled > rank or np.isfinite(walk.escapes(n_modes)).all():
            return settled
    raise IntegrationError("saddle_staircase", "no saddle was reached.", walk.time, "Ask for fewer modes")


def _settled_rank(now: Matrices, C: FloatArray, S: FloatArray, scale: float) -> int:
    """Return the rank of the saddle that the matrices are near, or −1 if they are near none."""
    rank = int(np.sum(np.linalg.svd(now.W1, compute_uv=False) > _HANDOVER * scale))
    M = linearised_drive(C, S, now.B)
    acts = np.linalg.norm(M - _projected(M, now, rank), 2)
    _, rest = _split(now, rank)
    small, left = _size(rest) / scale, np.linalg.norm(M, 2)
    if left <= _NOTHING * np.linalg.norm(C, 2):
        return rank
    near = small < _HANDOVER and acts <= _SETTLED * small * left
    return rank if near else -1
