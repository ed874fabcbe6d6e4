"""The label distributions as the paper states them, typed by hand.

No derivation uses these formulas or computes them: they meet its steps only in the checks.
"""

from __future__ import annotations

import sympy as sp

from theory.symbolic.generating import CutBinomial, J


def memory_distribution(i: sp.Expr, z_min: sp.Expr, n_keys: sp.Expr) -> sp.Expr:
    """Return eq. 7: uniform on the keys."""
    return sp.Piecewise((1 / n_keys, (i >= z_min) & (i < z_min + n_keys)), (0, True))


def anchor_distribution(r: sp.Expr, n_keys: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return eq. 22 at r = i − s − ζ_min − (q−1) α_min: a key and q − 1 anchors."""
    top = r - J * n_anchors + q - 1
    both = CutBinomial(top, q - 1) - CutBinomial(top - n_keys, q - 1)
    return sp.Sum((-1) ** J * sp.binomial(q - 1, J) * both, (J, 0, q - 1)) / (n_keys * n_anchors ** (q - 1))


def key_distribution(r: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return the reasoning part of eq. 23 at r = i − z − q α_min: q anchors, the key given."""
    summand = (-1) ** J * sp.binomial(q, J) * CutBinomial(r - J * n_anchors + q - 1, q - 1)
    return sp.Sum(summand, (J, 0, q)) / n_anchors**q


def noise_distribution(r: sp.Expr, n_keys: sp.Expr, n_anchors: sp.Expr, q: sp.Expr) -> sp.Expr:
    """Return the reasoning part of eq. 25 at r = i − ζ_min − q α_min: any key and q anchors."""
    top = r - J * n_anchors + q
    both = CutBinomial(top, q) - CutBinomial(top - n_keys, q)
    return sp.Sum((-1) ** J * sp.binomial(q, J) * both, (J, 0, q)) / (n_keys * n_anchors**q)
