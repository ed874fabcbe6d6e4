r"""What moves the embedding of a Transformer with layer norm (Appendix A.1): Props. 2 and 3, corrected.

A norm reads a row at length about :math:`\sqrt{d_m}`, whatever the scale of the embedding is. Let all
matrices have the scale κ, W_E and W_pos too. With p = u and averaged attention the embedding's flow is, to
leading order,

.. math:: \dot w_s = r_s \rho_s (P^{s,L} - u)\, W_U^\top J_s, \qquad
          J = \frac{1}{\sqrt{v + \epsilon}} \Bigl(P - \frac{n^\top n}{d_m}\Bigr),

where J is the derivative of a norm, at the row :math:`x = w_s + w_{pos,L}` that it reads, P takes the mean
off, :math:`v = |Px|^2/d_m` and :math:`n = Px/\sqrt{v + \epsilon}`. Without a norm J is the identity. A
pre-norm model has one norm between the embedding and the read-out, the last one; a post-norm model has two
in each layer, and J is the product of them all. [derived]
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, Positive, Rate, Size, check_shape, checked
from theory.layer_norm import layer_norm, norm_slope

Placement = Literal["none", "pre", "post"]


@checked
def normed_transformer_drive(
    C_last: Real[ArrayLike, "d d"],
    W_E: Real[ArrayLike, "d d_m"],
    W_U: Real[ArrayLike, "d_m d"],
    *,
    position: Real[ArrayLike, " d_m"] | None = None,
    norm: Placement = "pre",
    epsilon: Annotated[float, Between(0)] = 1e-5,
    n_layers: Size = 1,
) -> Float64[FloatArray, "d d_m"]:
    r"""Return dW_E/dt to leading order in the common scale κ of all matrices (Props. 2, 3 with a norm).

    It is of order κ without a norm and of order 1 with one: the norm enlarges it by 1/√(v + ε), unless
    ε ≫ v. What is left out is, relative to it,

    ====== ============ ============ ==========
    norm   softmax      attention    FFN
    ====== ============ ============ ==========
    none   κ²           κ²           κ²
    pre    κ            κ            κ
    post   κ            κ²           κ²
    ====== ============ ============ ==========

    for ε of order κ² or none. The flow of the last position is the sum of the rows.

    Parameters
    ----------
    C_last : array_like, shape (d, d)
        Rows r_s ρ_s (P^{s,L} − u): ``last_position_matrix`` or ``sample_last_position_matrix``.
    W_E : array_like, shape (d, d_m)
        The embedding.
    W_U : array_like, shape (d_m, d)
        The read-out; the identity for Definition 2, which has none.
    position : array_like, shape (d_m,), optional
        The embedding of the last position, by default 0.
    norm : {"none", "pre", "post"}, optional
        Where the norms stand.
    epsilon : float, optional
        What stands under a norm's root beside the variance.
    n_layers : int, optional
        Layers; only the number of post norms depends on it.

    Raises
    ------
    InputError
        If shapes disagree, or a row without variance meets ε = 0.
    """
    rows = check_shape("W_E", W_E, (None, None))
    d, d_m = rows.shape
    pulled = check_shape("C_last", C_last, (d, d)) @ check_shape("W_U", W_U, (d_m, d)).T
    if position is not None:
        rows = rows + check_shape("position", position, (d_m,))
    passed = []
    for _ in range(n_norms(norm, n_layers)):
        rows, scale = layer_norm(rows, epsilon)
        passed.append((rows, scale))
    for normed, scale in reversed(passed):
        pulled = norm_slope(pulled, normed, scale)
    return np.asarray(pulled)


def n_norms(norm: Placement, n_layers: int) -> int:
    """Return how many norms stand between the embedding and the read-out on the residual path."""
    return {"none": 0, "pre": 1, "post": 2 * n_layers}[norm]


@checked
def initial_norm_share(
    d_m: Size,
    init_rate: Rate,
    *,
    norm: Literal["pre", "post"] = "pre",
    positions: bool = True,
    epsilon: Annotated[float, Between(0)] = 1e-5,
    n_norms: Size = 1,
) -> float:
    r"""Return what share of a norm's output is left of 1 by its ε at initialisation: E v/(v + ε).

    Near 1 the norm reads all rows at one length, and the drive is enlarged by 1/√v; near 0 it is the factor
    1/√ε, and the drive has the exponent that it has without a norm.

    Parameters
    ----------
    d_m : int
    init_rate : float
        γ: entries of the embedding, and of the positions, have the variance :math:`d_m^{-2\gamma}`.
    norm : {"pre", "post"}, optional
        In a pre-norm model every norm reads the residual stream itself; in a post-norm model the k-th reads
        what the one before gave, so that its share is :math:`v/(v + \epsilon^k)` up to ε.
    positions : bool, optional
        Whether position embeddings are added.
    epsilon : float, optional
    n_norms : int, optional
        Norms in a row behind a post-norm model's embedding; 1 for the first.

    Returns
    -------
    float
        The squared length of the last of these norms' output over d_m.
    """
    variance: float = (1 + positions) * float(d_m) ** (-2 * init_rate)
    for _ in range(n_norms if norm == "post" else 1):
        variance = variance / (variance + epsilon)
    return variance


@checked
def epsilon_init_rate(
    d_m: Annotated[int, Between(2)], *, positions: bool = True, epsilon: Positive = 1e-5
) -> float:
    r"""Return the γ at which the first norm reads a variance of ε: beyond it the norm hardly norms.

    It is :math:`\ln(k/\epsilon)/(2 \ln d_m)`, k = 2 with positions and 1 without.
    """
    return float(np.log((1 + positions) / epsilon) / (2 * np.log(d_m)))


class BranchGains(NamedTuple):
    """Root mean square of what a layer's branches add, over that of the residual stream, at initialisation.

    Attributes
    ----------
    attention : float
    feed_forward : float
    """

    attention: float
    feed_forward: float


@checked
def branch_gains(
    d_m: Size,
    d_k: Size,
    d_f: Size,
    length: Size,
    init_rate: Rate,
    *,
    norm: Placement = "pre",
    positions: bool = True,
    activation: Literal["linear", "relu"] = "relu",
    epsilon: Annotated[float, Between(0)] = 1e-5,
) -> BranchGains:
    r"""Return how large attention and FFN of the first layer are beside what they are added to.

    Averaged attention of L different tokens gives :math:`d_m^{1/2-\gamma} d_k^{1/2-\gamma}/\sqrt L` times
    the residual, so that ``normed_transformer_drive`` is good for γ > 1/2 in a wide model. Behind a norm
    of its own, the branch reads a length of √d_m instead of :math:`d_m^{1/2-\gamma}`: the gain is larger
    by 1/√(v + ε), about :math:`d_m^\gamma`, and the branch is small for γ > 1 only. With a post norm the
    FFN's input and what it is added to are both normed, and its gain is that without a norm.

    Parameters
    ----------
    d_m, d_k, d_f, length : int
    init_rate : float
        γ of every matrix.
    norm : {"none", "pre", "post"}, optional
    positions : bool, optional
        Whether position embeddings are added.
    activation : {"linear", "relu"}, optional
        Of the FFN; tanh is linear at these scales.
    epsilon : float, optional

    Returns
    -------
    BranchGains
        Mean squares are expectations, so that the gains are exact up to relative order :math:`1/\sqrt{d_m}`.
    """
    gamma = init_rate
    attention = float(d_m * d_k) ** (0.5 - gamma) / length**0.5
    forward = float(d_m * d_f) ** (0.5 - gamma) / (2**0.5 if activation == "relu" else 1)
    if norm == "pre":
        variance = (1 + positions) * float(d_m) ** (-2 * gamma)
        attention /= (variance + epsilon) ** 0.5
        forward /= (variance * (1 + attention**2) + epsilon) ** 0.5
    return BranchGains(attention, forward)
