r"""The mechanism of Appendix E as printed, and why longer sequences have no cliff for every key position.

Positions lie on a half circle, :math:`\langle w_{pos,i}, w_{pos,j}\rangle = \cos(|i-j|\pi/L)` (Assumption 4),
orthogonal to all words (Assumption 3). The first attention averages and its W_V has rank one (39)-(40), so
that it adds :math:`\tilde\lambda \varphi_j v/j` to position j once it has seen anchors (41)-(43). With
:math:`\tilde A = \Pi_{pos} - \mu v^\top v` the last row of the second attention is

.. math:: l_j = -\cos\frac{j\pi}{L} - \frac{s\,\varphi_{p+q}}{jL}\,
          \begin{cases} 0 & j \le p \\ j t + \varphi_j & p < j \le p+q \\ \varphi_{p+q} & j > p+q, \end{cases}

where :math:`s = \tilde\lambda^2\mu` and :math:`t = \|w_a\| \cos(v, w_a)/\tilde\lambda` are
the only free parameters. Anchors that overlap equally with their sum, as here, have
:math:`\varphi_j = j - p`, in units that s absorbs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from theory.edge.arrays import FloatArray
from theory.edge.checked import Size, checked
from theory.transformer.cliff import check_window


class PrintedConditions(NamedTuple):
    """The numbers of conditions (44)-(47).

    Attributes
    ----------
    overlap : float
        M̃ = m̃ (44): q where all anchors overlap equally.
    upper : float
        C_M of (45): the plateau stays above the middle of the last rise if (s M̃/L)(t + M̃/L) is at most this.
    lower : float
        C_m of (46), read as the largest over p: the plateau stays below l_p if (s m̃/L)(t + m̃/L) is at least
        this.
    strength : float
        The smallest s of (47): the positions after the window fall below the first one.
    """

    overlap: float
    upper: float
    lower: float
    strength: float


@checked
def printed_conditions(length: Size, q: Size) -> PrintedConditions:
    """Return the numbers of conditions (44)-(47) for one L and q.

    (45) and (46) bound the same expression, from above by C_M and from below by C_m. C_m is the larger one
    except at q = 1 and L = 2 or 3, so that the two contradict one another.
    """
    check_window(length, 1, q)
    angle = np.pi / length
    half, slope = (1 - np.cos(angle)) / 2, 3 / 2 * np.sin(angle)
    phase = np.arctan(3 * np.sin(angle) / (1 - np.cos(angle)))
    upper = np.hypot(half, slope) * np.cos((length - 1) * angle - phase)
    p = np.arange(1, length - q + 1)
    lower = (2 * np.sin((2 * p + q) * angle / 2) * np.sin(q * angle / 2)).max()
    strength = length**2 * (1 + np.cos(angle)) / q**2
    return PrintedConditions(float(q), float(upper), float(lower), float(strength))


@checked
def printed_violation(length: Size, q: Size) -> float:
    r"""Return the smallest violation of Definition 3 that the printed mechanism allows, for all p at once.

    A linear programme over s t and s ≥ 0 finds the smallest τ such that no plateau leaves its range, and no
    later position exceeds the first one, by more than τ. Positions alone span logits
    from −1 to 1: τ near 1 is no cliff at all.

    Parameters
    ----------
    length, q : int
        L, at least q + 1, and q.

    Returns
    -------
    float
        τ; 0 only at L = q + 1, where p = 1 is the only key position, with q ≤ 3, and at L = 3, q = 1. The
        logit before p = 1 is taken from the half circle, l_0 = −1.
    """
    check_window(length, 1, q)
    angle, rows, limits = np.pi / length, [], []
    for p in range(1, length - q + 1):
        top, below = -np.cos(p * angle), -np.cos((p - 1) * angle)
        for k in range(1, q + 1):
            pull, height = np.array([q / length, q * k / (length * (p + k))]), -np.cos((p + k) * angle)
            rows += [[*pull, -1.0], [*-pull, -1.0]]
            limits += [height - (top + below) / 2, top - height]
        for j in range(p + q + 1, length + 1):
            rows.append([0.0, -(q**2) / (j * length), -1.0])
            limits.append(np.cos(j * angle) - np.cos(angle))
    return _least(np.array(rows), np.array(limits), [(None, None), (0, None), (0, None)])


@checked
def linear_plateau(length: Size, q: Size) -> float:
    r"""Return the smallest plateau error of a read-out that is linear in the tag, in units of the step.

    Every attention logit that reads position, kind of word and an averaged tag linearly is
    :math:`f(i) + \gamma\,1[x_i \in A_{rsn}] - \beta t_i` with :math:`t_i` the anchors so far divided by i. A
    linear programme over f, γ, β asks for a rise of at least 1 at each position up to p, at least 1 less than
    at p after the window, and the smallest τ with :math:`|\ell_{p+k} - \ell_p| \le \tau`, for all p at once.

    Parameters
    ----------
    length, q : int
        L, at least q + 1 (where there is one p only and τ = 0), and q.

    Returns
    -------
    float
        τ. A value above 1 means that the plateau is rougher than the step.
    """
    check_window(length, 1, q)
    falls, ups = [], []
    for p in range(1, length - q + 1):
        logits = [_linear_logit(i, p, q, length) for i in range(1, length + 1)]
        top = logits[p - 1]
        falls += [logits[i] - logits[i + 1] for i in range(p - 1)]
        falls += [after - top for after in logits[p + q :]]
        ups += [sign * (inside - top) for inside in logits[p : p + q] for sign in (1, -1)]
    n = length + 3
    tau = np.eye(n)[-1]
    A = np.array(falls + [row - tau for row in ups])
    b = np.array([-1.0] * len(falls) + [0.0] * len(ups))
    return _least(A, b, [(None, None)] * (n - 1) + [(0, None)])


def _linear_logit(i: int, p: int, q: int, length: int) -> FloatArray:
    """Return the coefficients of (f(1..L), γ, β, τ) in the logit of position i when the key stands at p."""
    row = np.zeros(length + 3)
    row[i - 1] = 1.0
    row[length] = float(p < i <= p + q)
    row[length + 1] = -min(max(i - p, 0), q) / i
    return row


def _least(A: FloatArray, b: FloatArray, bounds: list[tuple[float | None, float | None]]) -> float:
    """Return the smallest value of the last unknown under A x ≤ b."""
    solved = linprog(np.eye(A.shape[1])[-1], A_ub=A, b_ub=b, bounds=bounds)
    if solved.fun is None:
        raise RuntimeError(f"the linear programme failed: {solved.message}")
    return float(solved.fun)
