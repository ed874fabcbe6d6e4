r"""When each mode of the embedding escapes: predicted from spectra, and measured on a trajectory.

W_emb gains one rank after another. A drive of rank one, s uᵀw, moves only α = u W_emb, W1 and
β = W2 wᵀ, and time enters through the dose s·t alone: the dose at which ‖α‖ passes a threshold follows
from the initial weights. Dividing by the singular values of C gives escape times at once. That treats every
mode as if it were alone; how far off this is depends on the task. [beyond]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, Positive, Size, check_shape, checked
from theory.display import Shown
from theory.errors import InputError
from theory.flows.coupled import blow_up_bound, coupled_flow
from theory.flows.parameters import EmbMLPParameters, check_statistic
from theory.integrate.first_passage import first_passage
from theory.integrate.solve import Solver
from theory.integrate.trajectory import Trajectory

_DOSE_SOLVER = Solver(rtol=1e-6, atol=1e-6, method="DOP853")
_DOSE_STEP, _LONGEST_DOSE = 0.01, 50.0
"""Of the dose before which nothing can blow up; 1/‖α‖, straight near the singularity, is interpolated."""


@dataclass(frozen=True, repr=False)
class RankSteps(Shown):
    """Predicted escapes of the embedding's modes, first to last.

    Attributes
    ----------
    times : ndarray, shape (n_modes,)
        When each mode's part of W_emb passes the threshold; infinite where nothing drives it.
    drives : ndarray, shape (n_modes,)
        The singular value that drives it.
    doses : ndarray, shape (n_modes,)
        ∫ drive dt that its initial weights need.
    """

    times: Float64[FloatArray, " n_modes"]
    drives: Float64[FloatArray, " n_modes"]
    doses: Float64[FloatArray, " n_modes"]

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [
            [str(mode), *(f"{value:.4g}" for value in values)]
            for mode, values in enumerate(zip(self.times, self.drives, self.doses, strict=True), 1)
        ]
        title = (
            f"{len(rows)} modes, at times {', '.join(row[1] for row in rows[:6])}{', ...' * (len(rows) > 6)}"
        )
        return title, ["mode", "time", "drive", "dose"], rows


@checked
def escape_threshold(initial: EmbMLPParameters) -> float:
    """Return twice the largest singular value of the initial embedding: what noise does not reach."""
    return 2 * float(np.linalg.norm(initial.W_emb, 2))


@checked
def measured_rank_steps(
    trajectory: Trajectory, threshold: Positive, n_modes: Size
) -> Float64[FloatArray, " {n_modes}"]:
    """Return when the k-th singular value of W_emb passes the threshold, k = 1..n_modes.

    Between two times of the trajectory its logarithm is taken as linear. Infinite where it never passes.

    Parameters
    ----------
    trajectory : Trajectory
        Any flow's, with W_emb kept at times close enough to see each step.
    threshold : float
        ``escape_threshold`` of the initial parameters, or another level.
    n_modes : int
        How many modes to follow.
    """
    check_modes(n_modes, trajectory.W_emb.shape[1:], threshold)
    values = np.array([np.linalg.svd(W, compute_uv=False)[:n_modes] for W in trajectory.W_emb])
    return np.array([first_passage(trajectory.times, column, threshold, np.log) for column in values.T])


@checked
def rank_steps_from_labels(
    C: Real[ArrayLike, "d d"], initial: EmbMLPParameters, n_modes: Size, *, threshold: Positive | None = None
) -> RankSteps:
    r"""Predict escapes from C alone: mode k runs on C's k-th singular pair from the start.

    A heuristic, neither a bound nor a limit: no mode knows of any other. Measured on the paper's Emb-MLP
    task (d_m = 200, d_f = 512, γ = 0.8, three draws of the weights, against ``population_flow`` with linear
    σ) the five times are off by at most 0.6, 0.6, 2.7, 2.6 and 6.9 %. On a task of five keys and four
    anchors (d_m = 12, d_f = 20, against ``linearised_flow``) the fourth time is 0.74 to 0.91 of the
    measured one at initial scales from 6e-2 to 6e-6, and no smaller scale brings it to 1.
    ``python docs/theory/flows_numbers.py steps`` and ``... small`` print both.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix.
    initial : EmbMLPParameters
        The matrices at t = 0.
    n_modes : int
        How many modes to predict.
    threshold : float, optional
        ``escape_threshold(initial)`` by default.
    """
    matrix = check_statistic("C", C, initial)
    level = escape_threshold(initial) if threshold is None else threshold
    check_modes(n_modes, initial.W_emb.shape, level)
    u, s, w = np.linalg.svd(matrix)
    doses = np.array([escape_dose(initial, u[:, k], w[k], level) for k in range(n_modes)])
    drives = s[:n_modes]
    driven = drives > len(matrix) * np.finfo(np.float64).eps * max(drives[0], np.finfo(np.float64).tiny)
    times = np.divide(doses, drives, out=np.full(n_modes, np.inf), where=driven)
    return RankSteps(times, drives, doses)


@checked
def plateau_residual(
    C: Real[ArrayLike, "d d"], S: Real[ArrayLike, "d d"], rank: Annotated[int, Between(0)]
) -> Float64[FloatArray, "d d"]:
    r"""Return :math:`C - S\bar B` at the best linearised fit with B of the given rank, shape (d, d).

    The linearised loss is :math:`\tfrac d2 \|S^{-1/2} C - S^{1/2} \bar B\|^2` up to a constant, so that
    the best :math:`S^{1/2}\bar B` is the truncated singular value decomposition of
    :math:`S^{-1/2} C` (reduced-rank regression). [derived]
    """
    label = np.asarray(C, dtype=np.float64)
    label = check_shape("C", label, label.shape[:1] * 2)
    token = check_shape("S", S, label.shape)
    eigenvalues, vectors = np.linalg.eigh(token)
    # Tokens that never occur, and sums that are fixed, give S a null space, which C never enters.
    used = eigenvalues > len(token) * np.finfo(np.float64).eps * eigenvalues[-1]
    root = np.sqrt(eigenvalues[used])
    whitened = (vectors[:, used].T @ label) / root[:, None]
    u, s, w = np.linalg.svd(whitened, full_matrices=False)
    return np.asarray((vectors[:, used] * root) @ (u[:, rank:] * s[rank:]) @ w[rank:])


@checked
def escape_dose(
    initial: EmbMLPParameters, u: Float64[FloatArray, " d"], w: Float64[FloatArray, " d"], threshold: Positive
) -> float:
    r"""Return ∫ s dt that a drive s uᵀw needs to bring ‖u W_emb‖ up to a threshold.

    The flow restricted to one mode is the coupled flow of a vocabulary of one token with C = 1.

    Parameters
    ----------
    initial : EmbMLPParameters
        The initial weights.
    u, w : ndarray, shape (d,)
        The drive's unit vectors, on the side of the tokens and of the labels.
    threshold : float
        The length of u W_emb at which the mode counts as escaped.

    Returns
    -------
    float
        The time for s = 1; 0 if the mode starts beyond the threshold, infinite if it does not reach it within
        fifty times ``blow_up_bound``.
    """
    d = (len(initial.W_emb),)
    mode = EmbMLPParameters(*_one_mode(initial, check_shape("u", u, d), check_shape("w", w, d)))
    if float(np.linalg.norm(mode.W_emb)) >= threshold:
        return 0.0
    earliest = blow_up_bound([[1.0]], mode)
    if not np.isfinite(earliest):
        return float("inf")
    doses = np.arange(0.0, _LONGEST_DOSE, _DOSE_STEP) * earliest
    path = coupled_flow([[1.0]], mode, doses, solver=_DOSE_SOLVER)
    dose = first_passage(path.times, np.linalg.norm(path.W_emb[:, 0], axis=1), threshold, np.reciprocal)
    if np.isinf(dose) and path.blow_up is not None:
        # So high a threshold is passed in the last moments, where ‖α‖ = 1/(t* − t).
        return max(path.blow_up - 1 / threshold, float(path.times[-1]))
    return dose


def _one_mode(
    initial: EmbMLPParameters, u: FloatArray, w: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return α, W1 and β, the hidden layer rotated and cut to what they can ever reach.

    dW1 = αᵀβᵀ and dβ = W1ᵀαᵀ keep the hidden layer in the span of W1's rows and β: at most d_m + 1
    dimensions, whatever d_f is.
    """
    beta = (initial.W2 @ w)[:, None]
    basis, _ = np.linalg.qr(np.hstack([initial.W1.T, beta]))
    return (u @ initial.W_emb)[None], initial.W1 @ basis, basis.T @ beta


def check_modes(n_modes: int, shape: tuple[int, ...], threshold: float) -> None:
    """Refuse more modes than W_emb has, or a threshold that nothing has to pass."""
    if not 1 <= n_modes <= min(shape):
        raise InputError("n_modes", n_modes, f"W_emb has {min(shape)} modes", "ask for 1 up to that")
    if not threshold > 0:
        raise InputError("threshold", threshold, "not positive", "give e.g. escape_threshold(initial)")
