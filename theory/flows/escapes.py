r"""When each mode of the embedding escapes: measured on a trajectory, and the dose that one mode needs.

W_emb gains one rank after another. A drive of rank one, s uᵀw, moves only α = u W_emb, W1 and
β = W2 wᵀ, and time enters only through the dose s·t: the dose at which ‖α‖ passes a threshold follows
from the initial weights. ``saddle_staircase`` predicts the escapes of all modes together. [beyond]
"""

from __future__ import annotations

import numpy as np

from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Positive, Size, checked
from theory.edge.errors import InputError
from theory.flows.ladder import blow_up_bound, coupled_flow
from theory.flows.network import EmbMLPParameters
from theory.integrate.solve import Solver
from theory.integrate.trajectory import Trajectory, first_passage

_DOSE_SOLVER = Solver(rtol=1e-6, atol=1e-6, method="DOP853")
_DOSE_STEP, _LONGEST_DOSE = 0.01, 50.0
"""In units of the dose before which nothing can blow up; 1/‖α‖, linear near blow-up, is interpolated."""


@checked
def escape_threshold(initial: EmbMLPParameters) -> float:
    """Return twice the largest singular value of the initial embedding, a level above the noise."""
    return 2 * float(np.linalg.norm(initial.W_emb, 2))


@checked
def measured_rank_steps(
    trajectory: Trajectory, threshold: Positive, n_modes: Size
) -> Float64[FloatArray, " {n_modes}"]:
    """Return the times at which the k-th singular value of W_emb passes the threshold, k = 1..n_modes.

    Its logarithm is interpolated linearly between two times. The time is infinite where it never passes.

    Parameters
    ----------
    trajectory : Trajectory
        Any flow's, with W_emb kept at times close enough to see each step.
    threshold : float
        ``escape_threshold`` of the initial parameters, or another level.
    n_modes : int
        How many modes to follow.
    """
    check_modes(n_modes, trajectory.W_emb.shape[1:])
    columns = np.linalg.svd(trajectory.W_emb, compute_uv=False).T[:n_modes]
    return np.array([first_passage(trajectory.times, column, threshold, np.log) for column in columns])


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
    if len(u) != len(initial.W_emb):
        raise InputError("u, w", u, "not of the embedding's tokens", f"give {len(initial.W_emb)} entries")
    alpha, beta = (np.asarray(u) @ initial.W_emb)[None], (initial.W2 @ np.asarray(w))[:, None]
    # dW1 = αᵀβᵀ and dβ = W1ᵀαᵀ keep the hidden layer in the span of W1's rows and β, whatever d_f is.
    basis, _ = np.linalg.qr(np.hstack([initial.W1.T, beta]))
    mode = EmbMLPParameters(alpha, initial.W1 @ basis, basis.T @ beta)
    # A start κ times as large only runs κ times faster; one of size 1 keeps squares within range.
    size = max(float(np.abs(matrix).max()) for matrix in mode.matrices) or 1.0
    mode, level = mode.scaled(1 / size), threshold / size
    if float(np.linalg.norm(mode.W_emb)) >= level:
        return 0.0
    earliest = blow_up_bound([[1.0]], mode)
    if not np.isfinite(earliest):
        return float("inf")
    doses = np.arange(0.0, _LONGEST_DOSE, _DOSE_STEP) * earliest
    path = coupled_flow([[1.0]], mode, doses, solver=_DOSE_SOLVER)
    dose = first_passage(path.times, np.linalg.norm(path.W_emb[:, 0], axis=1), level, np.reciprocal)
    if np.isinf(dose) and path.blow_up is not None:
        # So high a threshold is passed only just before the singularity, where ‖α‖ = 1/(t* − t).
        dose = max(path.blow_up - 1 / level, float(path.times[-1]))
    return dose / size


def check_modes(n_modes: int, shape: tuple[int, ...]) -> None:
    """Refuse more modes than W_emb has."""
    if n_modes > min(shape):
        raise InputError("n_modes", n_modes, f"W_emb has {min(shape)} modes", "ask for at most that many")
