r"""How W_Q and W_K of the last attention begin to move: leading order in the scale, with positions.

Where the attention is still the average, the logits of the last row,
:math:`S_j = x_L W_Q W_K^\top x_j^\top / \sqrt{d_k}`, are driven by what each value is worth,
:math:`a_j = \delta\, W_{VO}^\top x_j^\top`, with δ for what reaches the attention's output:
:math:`-\partial\ell/\partial S_j = (a_j - \bar a)/L`. Hence

.. math:: \dot W_Q = G W_K, \qquad \dot W_K = G^\top W_Q, \qquad
          G = \frac{1}{L\sqrt{d_k}}\, E\, x_L^\top \sum_j (a_j - \bar a)\, x_j .

While G hardly changes the two grow like :math:`e^{\sigma t}` along its singular vectors. [derived]
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.checked import Between, Positive, Size, check_shape, checked
from theory.errors import InputError
from theory.labels.sample import check_sample
from theory.layer_norm import layer_norm, norm_slope
from theory.transformer.layer_norm import Placement, n_norms


@checked
def gradient_exponents(norm: Placement, n_layers: Size = 2) -> dict[str, int]:
    r"""Return the exponent of every tensor's first gradient in the common scale κ of all matrices.

    Counted by factors: a matrix has one κ; what attention or FFN reads has none behind a norm and one
    without; and the norm that reads the embedding takes one off what passes it backwards. ε is none, or of
    order κ². A matrix's own rate of growth has the exponent less one.

    Parameters
    ----------
    norm : {"none", "pre", "post"}
    n_layers : int, optional

    Returns
    -------
    dict of int
        By the names of the engine's tensors; "W_pos" is the last position's, "W_pos[:-1]" that of the others.
    """
    first_pull = 1 if norm == "none" else 0
    found = {"W_U": first_pull, "W_E": first_pull, "W_pos": first_pull}
    others = []
    for layer in range(n_layers):
        # Behind its first norm a post-norm model is one of order one, and pulls are as the read-out has them.
        inside = norm == "post" and layer > 0
        read = 0 if norm == "pre" or inside else 1
        pull = 1 if inside else first_pull
        forward = (0, 1) if norm == "post" else (read, pull)
        found |= dict.fromkeys((f"{layer}.W_V", f"{layer}.W_O"), read + pull + 1)
        found |= dict.fromkeys((f"{layer}.W_Q", f"{layer}.W_K"), 3 * read + pull + 3)
        found |= dict.fromkeys((f"{layer}.W_in", f"{layer}.W_out"), sum(forward) + 1)
        others.append(pull + 2 - (1 - read))
    return found | {"W_pos[:-1]": min(others)}


@checked
def query_key_matrix(
    inputs: Real[ArrayLike, "n L d_m"],
    pulls: Real[ArrayLike, "n d_m"],
    W_VO: Real[ArrayLike, "d_m d_m"],
    d_k: Size,
) -> Float64[FloatArray, "d_m d_m"]:
    r"""Return G of an attention whose last row alone matters, exact where that row is the average.

    Parameters
    ----------
    inputs : array_like, shape (n, L, d_m)
        What the attention reads in each sequence.
    pulls : array_like, shape (n, d_m)
        δ, minus the gradient of each sequence's loss by the attention's output at the last position.
    W_VO : array_like, shape (d_m, d_m)
        W_V W_O.
    d_k : int

    Raises
    ------
    InputError
        If shapes disagree.
    """
    x = check_shape("inputs", inputs, (None, None, None))
    n, length, width = x.shape
    valued = check_shape("pulls", pulls, (n, width)) @ check_shape("W_VO", W_VO, (width, width)).T
    worth = np.einsum("nd,nld->nl", valued, x)
    worth -= worth.mean(axis=1, keepdims=True)
    return np.asarray(x[:, -1].T @ np.einsum("nl,nld->nd", worth, x) / (n * length * d_k**0.5))


@checked
def leading_query_key_matrix(
    sequences: Integer[ArrayLike, "n L"],
    labels: Integer[ArrayLike, " n"],
    W_E: Real[ArrayLike, "d d_m"],
    W_pos: Real[ArrayLike, "L d_m"],
    W_U: Real[ArrayLike, "d_m d"],
    W_VO: Real[ArrayLike, "d_m d_m"],
    d_k: Size,
    *,
    norm: Placement = "none",
    epsilon: Annotated[float, Between(0)] = 1e-5,
    n_layers: Size = 2,
) -> Float64[FloatArray, "d_m d_m"]:
    r"""Return G of the last attention to leading order in κ: the layers below add nothing yet, p = u.

    It sees which token stands in a position and not what stands before it: at this order a token has the same
    logit in front of the anchors and behind them. What tells the two apart is what the first attention
    writes, smaller by κ² without a norm and by κ with a pre-norm.

    Parameters
    ----------
    sequences, labels : array_like of int, shapes (n, L), (n,)
    W_E, W_pos, W_U : array_like
        Embedding, positions and read-out.
    W_VO : array_like, shape (d_m, d_m)
        W_V W_O of the last attention.
    d_k : int
    norm, epsilon, n_layers
        As in ``normed_transformer_drive``.

    Raises
    ------
    InputError
        If shapes disagree, a token or label lies outside the vocabulary, or a row without variance meets
        ε = 0.
    """
    rows = check_shape("W_E", W_E, (None, None))
    d, d_m = rows.shape
    tokens, answers = check_sample(sequences, labels, d)
    x = rows[tokens] + check_shape("W_pos", W_pos, (tokens.shape[1], d_m))
    pulls = (np.eye(d) - 1 / d)[answers] @ check_shape("W_U", W_U, (d_m, d)).T
    raw = x[:, -1]
    for _ in range(2 * (n_layers - 1) if norm == "post" else n_norms(norm, 1)):
        x = layer_norm(x.reshape(-1, d_m), epsilon)[0].reshape(x.shape)
    passed, stream = [], raw if norm == "pre" else x[:, -1]
    for _ in range(n_norms(norm, 1)):
        stream, scale = layer_norm(stream, epsilon)
        passed.append((stream, scale))
    for normed, scale in reversed(passed):
        pulls = norm_slope(pulls, normed, scale)
    return query_key_matrix(x, pulls, W_VO, d_k)


@checked
def two_factor_flow(
    G: Real[ArrayLike, "m n"], A: Real[ArrayLike, "m k"], B: Real[ArrayLike, "n k"], time: float
) -> tuple[Float64[FloatArray, "m k"], Float64[FloatArray, "n k"]]:
    r"""Return A and B after some time of :math:`\dot A = G B`, :math:`\dot B = G^\top A`, G staying as it is.

    Along each pair of G's singular vectors they grow like cosh and sinh of σt. So do W_Q and W_K, with the G
    of ``query_key_matrix``; and, at p = u and without a norm, the embedding and the read-out, with
    A = W_E, B = :math:`W_U^\top` and :math:`G = C_L`.

    Parameters
    ----------
    G : array_like, shape (m, n)
    A, B : array_like, shapes (m, k), (n, k)
        At time 0.
    time : float
        In units of Σ learning rate.

    Raises
    ------
    InputError
        If shapes disagree, or the time is so long that the matrices overflow.
    """
    first, second = check_shape("A", A, (None, None)), check_shape("B", B, (None, np.shape(A)[-1]))
    left, values, right = np.linalg.svd(check_shape("G", G, (len(first), len(second))), full_matrices=False)
    if abs(time) * values[0] > _LARGEST_EXPONENT:
        longest = _LARGEST_EXPONENT / values[0]
        raise InputError("time", time, "the matrices overflow", f"give at most {longest:.3g}")
    grown, mixed = (np.cosh(values * time) - 1)[:, None], np.sinh(values * time)[:, None]
    a, b = left.T @ first, right @ second
    return first + left @ (grown * a + mixed * b), second + right.T @ (grown * b + mixed * a)


@checked
def query_key_onset(
    G: Real[ArrayLike, "d_m d_m"],
    W_Q: Real[ArrayLike, "d_m d_k"],
    W_K: Real[ArrayLike, "d_m d_k"],
    inputs: Real[ArrayLike, "n L d_m"],
    *,
    spread: Positive = 0.1,
) -> float:
    r"""Return when the last row's logits spread by ``spread`` along a sequence, while G stays; ∞ if G is 0.

    Parameters
    ----------
    G : array_like, shape (d_m, d_m)
        ``query_key_matrix`` or ``leading_query_key_matrix``.
    W_Q, W_K : array_like, shape (d_m, d_k)
        At time 0.
    inputs : array_like, shape (n, L, d_m)
        What the attention reads.
    spread : float, optional
        Root mean square over sequences and positions of S_j − S̄.

    Raises
    ------
    InputError
        If shapes disagree.
    """
    x = check_shape("inputs", inputs, (None, None, None))

    def reached(time: float) -> bool:
        return logit_spread(x, *two_factor_flow(G, W_Q, W_K, time)) >= spread

    if reached(0.0):
        return 0.0
    top = float(np.linalg.norm(np.asarray(G, np.float64), 2))
    if top == 0:
        return float("inf")
    low, high = 0.0, 0.9 * _LARGEST_EXPONENT / top
    if not reached(high):
        return float("inf")
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def logit_spread(inputs: FloatArray, W_Q: FloatArray, W_K: FloatArray) -> float:
    """Return the root mean square of S_j − S̄ of the last row."""
    logits = np.einsum("nk,nlk->nl", inputs[:, -1] @ W_Q, inputs @ W_K) / W_Q.shape[1] ** 0.5
    return float((logits - logits.mean(axis=1, keepdims=True)).std())


_LARGEST_EXPONENT = 150.0
"""The fourth power of e to this is still a float64: logits are products of two matrices, and are squared."""


@checked
def adam_attention_bound(
    d_m: Size,
    d_k: Size,
    rate: Positive,
    *,
    initial: Annotated[float, Between(0)] = 0.0,
    logit: Positive = 1.0,
) -> float:
    r"""Return after how many of Adam's steps normed rows can have a logit of some size: an estimate.

    A step moves an entry by about the rate. With every entry of W_Q and W_K below :math:`w = w_0 + \eta T`
    and rows of length √d_m, :math:`|S| \le d_m^2 \sqrt{d_k}\, w^2`. In fact a step is
    :math:`|\hat m|/\sqrt{\hat v}` times the rate: at most 7.3 times at the default decays, and up to 4 times
    where a gradient grows. T over 7.3 is a bound.

    Parameters
    ----------
    d_m, d_k : int
    rate : float
        η.
    initial : float, optional
        w_0; small beside the result, as drawn entries are not aligned.
    logit : float, optional
        :math:`|S|`.

    Returns
    -------
    float
        T, 0 if the initial entries would do.
    """
    return float(max((logit**0.5 / (d_m * d_k**0.25) - initial) / rate, 0.0))
