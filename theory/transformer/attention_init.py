r"""Lemma 1: at initialisation the rows of the first attention are nearly 1/i.

Row vectors; the logit of positions i and j is :math:`S_{ij} = x_i W_Q W_K^\top x_j^\top / \sqrt{d_k}`. The
entries of W_Q and W_K, both of shape (d_m, d_k), are independent N(0, :math:`n^{-2\gamma}`) with the fan-in
n: d_m in Section 2.4, d_k in the printed proof. ``Source`` names the three kinds of rows x_i. Then
:math:`E[S_{ij}^2] = n^{-4\gamma} E|x_i|^2|x_j|^2` whatever d_k is, because given X the query and the key are
independent Gaussian vectors.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from scipy.special import erf, erfcinv

from theory.edge.checked import Rate, Size, checked
from theory.edge.checks import Between
from theory.edge.errors import InputError

Source = Literal["embedding", "position", "layer_norm"]
Width = Annotated[int, Between(2, 1e16)]
Length = Annotated[int, Between(2, 10_000_000)]
Tolerance = Annotated[float, Between(1e-100, 1e6)]
# E|x|² = scale · d_m^(1 − 2γ·falls): the embedding alone, with a position added, or normalised.
_SOURCES: dict[str, tuple[float, int]] = {
    "embedding": (1.0, 1),
    "position": (2.0, 1),
    "layer_norm": (1.0, 0),
}


@checked
def attention_logit_std(
    d_m: Width, init_rate: Rate, *, source: Source = "embedding", fan_in: Width | None = None
) -> float:
    r"""Return the standard deviation of the attention logits at initialisation (Lemma 1).

    With the fan-in d_m it is :math:`d_m^{1-4\gamma}` for the embedding alone, twice as much with a trained
    position vector of the same scale added, and :math:`d_m^{1-2\gamma}` after a layer norm, which undoes the
    small embedding; another fan-in n multiplies it by :math:`(n/d_m)^{-2\gamma}`. This is exact for two
    different tokens. For a token with itself it is :math:`\sqrt{1 + 2/d_m}` times as large, or
    :math:`\sqrt{1 + 1/(2 d_m)}` times at two places with positions; after a layer norm it is the same.

    Parameters
    ----------
    d_m : int
        The embedding width.
    init_rate : float
        γ.
    source : {"embedding", "position", "layer_norm"}, optional
        The rows of X: w_x with entries N(0, d_m^-2γ); w_x plus a position vector of the same distribution; or
        either after a layer norm, so that \|x\|² = d_m.
    fan_in : int, optional
        n of W_Q and W_K; by default d_m, as in Section 2.4. The paper's proof has d_k.
    """
    scale, falls = _SOURCES[source]
    return float(scale * d_m ** (1 - 2 * init_rate * falls) * (fan_in or d_m) ** (-2 * init_rate))


@checked
def average_attention_probability(
    tolerance: Tolerance,
    d_m: Width,
    init_rate: Rate,
    row: Size,
    *,
    source: Source = "embedding",
    fan_in: Width | None = None,
) -> float:
    r"""Return P(\|A_ij − 1/i\| ≤ ε) of one entry of row i, to first order in the logits (Lemma 1).

    :math:`A_{ij} - 1/i \approx (S_{ij} - \bar S_i)/i` has the standard deviation
    :math:`\operatorname{std}(S)\sqrt{i-1}/i^{3/2}` and is taken to be normal. Row 1 is exactly 1.
    The worst row is the second.

    Parameters
    ----------
    tolerance : float
        ε, positive.
    d_m, init_rate, source, fan_in
        As in ``attention_logit_std``.
    row : int
        i, counted from 1.
    """
    std = attention_logit_std(d_m, init_rate, source=source, fan_in=fan_in)
    spread = std * math.sqrt(row - 1) / row**1.5
    return 1.0 if row == 1 else float(erf(tolerance / (spread * math.sqrt(2))))


@checked
def average_attention_bound(
    tolerance: Tolerance,
    d_m: Width,
    init_rate: Rate,
    length: Length,
    *,
    source: Source = "embedding",
    fan_in: Width | None = None,
) -> float:
    r"""Return a proven lower bound on P(all \|A_ij − 1/i\| ≤ ε, j ≤ i ≤ L) (Lemma 1).

    An entry of a softmax has a gradient of norm at most :math:`\sqrt2/4`, so that a whole row stays
    within ε of 1/i while :math:`\|S_i\| \le 2\sqrt2\,\varepsilon`; Markov's inequality for
    :math:`\|S_i\|^2` and the sum over the rows 2..L give

    .. math:: 1 - \frac{(L-1)(L+2)}{16\,\varepsilon^2} \operatorname{var}(S)\,(1 + 2/d_m).

    Repeated tokens are allowed. Negative values are returned as 0: the bound says nothing there.

    Parameters
    ----------
    tolerance : float
        ε, positive.
    d_m, init_rate, source, fan_in
        As in ``attention_logit_std``.
    length : int
        L, at least 2.
    """
    variance = attention_logit_std(d_m, init_rate, source=source, fan_in=fan_in) ** 2 * (1 + 2 / d_m)
    return max(0.0, 1 - (length - 1) * (length + 2) * variance / (16 * tolerance**2))


@checked
def smallest_init_rate(
    tolerance: Tolerance,
    d_m: Width,
    length: Length,
    *,
    source: Source = "embedding",
    proven: bool = True,
    fan_in: Width | None = None,
) -> float:
    r"""Return C(ε), the γ above which rows are within ε of 1/i with probability 1 − ε (Lemma 1).

    Parameters
    ----------
    tolerance : float
        ε, in (0, 1).
    d_m, source, fan_in
        As in ``attention_logit_std``.
    length : int
        L, at least 2.
    proven : bool, optional
        True: from ``average_attention_bound``, for the whole matrix at once. False: from
        ``average_attention_probability`` for an entry of the worst row, which is smaller.

    Returns
    -------
    float
        With the default fan-in :math:`1/4 + O(\log(1/\varepsilon)/\log d_m)`, or with 1/2 in place of 1/4
        after a layer norm: for every ε, any γ above that constant will do once the model is wide enough.
    """
    if tolerance >= 1:
        raise InputError("tolerance", tolerance, "not a probability 1 − ε", "give a value below 1")
    if proven:
        largest = 4 * tolerance**1.5 / math.sqrt((length - 1) * (length + 2) * (1 + 2 / d_m))
    else:
        largest = 2**1.5 * tolerance / (math.sqrt(2) * float(erfcinv(tolerance)))
    scale, falls = _SOURCES[source]
    falling = falls * math.log(d_m) + math.log(fan_in or d_m)
    return (math.log(d_m) - math.log(largest / scale)) / (2 * falling)
