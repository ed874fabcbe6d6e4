r"""The label distribution of a reasoning anchor in closed form (eq. 22), by inclusion and exclusion.

An independent route to ``label_distribution`` for consecutive keys and anchors. Its terms alternate in
sign and outgrow their sum (at q = 200 by 36 digits), so it is evaluated in integers
and divided once at the end; term by term in float64 it would be worthless.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from theory.checked import Size, checked


@checked
def reasoning_anchor_distribution(n_keys: Size, n_anchors_available: Size, q: Size) -> list[Fraction]:
    r"""Return the distribution of Z + A_1 + ... + A_{q−1}, counted from its smallest value (eq. 22).

    .. math:: \frac{1}{N_Z N_A^{q-1}} \sum_j (-1)^j \binom{q-1}{j}
        \left[\binom{r - jN_A + q - 1}{q-1} - \binom{r - N_Z - jN_A + q - 1}{q-1}\right]

    where a binomial with a negative :math:`r - \dots` is 0.

    Parameters
    ----------
    n_keys, n_anchors_available : int
        N_Z and N_A, the sizes of the consecutive ranges of keys and anchors.
    q : int
        The number of anchors in a sequence, of which one is the given anchor s.

    Returns
    -------
    list of Fraction, length N_Z + (q − 1)(N_A − 1)
        Entry r is P(Y^s = s + ζ_min + (q − 1) α_min + r).
    """
    size = n_keys + (q - 1) * (n_anchors_available - 1)
    total = n_keys * n_anchors_available ** (q - 1)
    return [Fraction(_count(r, n_keys, n_anchors_available, q), total) for r in range(size)]


def _count(r: int, n_keys: int, n_anchors: int, q: int) -> int:
    """Count the ways to write r as a key in 0..N_Z−1 plus q − 1 anchors in 0..N_A−1."""
    return sum(
        (-1) ** j
        * comb(q - 1, j)
        * (_at_most(r - j * n_anchors, q) - _at_most(r - n_keys - j * n_anchors, q))
        for j in range(q)
    )


def _at_most(r: int, q: int) -> int:
    """Count the ways to write r as a sum of q non-negative integers."""
    return comb(r + q - 1, q - 1) if r >= 0 else 0
