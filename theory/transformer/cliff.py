r"""Cliff sequences (Definition 3) and their softmax (Lemma 5).

Places are counted from 1 as in the paper: the key stands at p, the anchors at p+1..p+q, and the window
p..p+q is where the second attention is to look. Definition 3 asks for logits that rise up to p, that stay
between :math:`(l_{p-1} + l_p)/2` and :math:`l_p` on p+1..p+q, and that lie below :math:`l_1` after it. A
*δ-cliff* quantifies it: rises of at least δ, a flat window, and at least δ below it afterwards.
"""

from __future__ import annotations

import math

import numpy as np

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.edge.checked import Share, Size, checked
from theory.edge.errors import InputError


@checked
def cliff_sequence(mass: Share, length: Size, p: int, q: int) -> Float64[FloatArray, " {length}"]:
    r"""Return a cliff sequence whose softmax has at most ``mass`` outside p..p+q (Lemma 5), shape (L,).

    It climbs by δ = ``cliff_step(mass, length, q)``, or by 1 where that is 0, to 0 at p, stays there up to
    p+q, and is −pδ afterwards, δ below its first entry.
    """
    check_window(length, p, q)
    step = cliff_step(mass, length, q) or 1.0
    position = np.arange(1, length + 1)
    return np.where(position <= p, step * (position - p), np.where(position <= p + q, 0.0, -step * p))


@checked
def cliff_step(mass: Share, length: Size, q: int) -> float:
    r"""Return a δ for which every δ-cliff has at most ``mass`` outside its window (Lemma 5).

    Outside the window a δ-cliff has L − q − 1 positions, each at least δ below the q + 1 of the window: the
    softmax mass there is at most :math:`(L-q-1)e^{-\delta}/(q+1)`, and the δ returned makes this equal to
    ``mass``, or is 0 where every δ meets it. The lemma asserts that a δ exists; this is one, and bounds the
    sum over the positions, not only each of them.

    Parameters
    ----------
    mass : float
        In (0, 1).
    length, q : int
        L and q, L at least q + 1.
    """
    check_window(length, 1, q)
    outside = length - q - 1
    return max(0.0, math.log(outside / (q + 1)) - math.log(mass)) if outside else 0.0


@checked
def is_cliff(
    sequence: Real[ArrayLike, " L"],
    p: int,
    q: int,
    step: float | None = None,
    *,
    plateau_tolerance: float = 1e-9,
) -> bool:
    """Return whether a sequence is a cliff: by Definition 3, or a δ-cliff where ``step`` gives δ.

    Parameters
    ----------
    sequence : array_like, shape (L,)
        Attention logits.
    p : int
        The key's position, from 1.
    q : int
        The number of anchors.
    step : float, optional
        δ: then each position up to p is at least δ above the one before, p+1..p+q equal p, and every position
        after is at least δ below p. Without it the plateau may sag halfway to the position before p (at p = 1
        to anywhere above the positions after the window), and positions after the window lie below the first.
    plateau_tolerance : float, optional
        How far rounding may take a logit from where it should be.
    """
    values = np.asarray(sequence, dtype=np.float64)
    check_window(len(values), p, q)
    top, slack = values[p - 1], plateau_tolerance
    window, after, rises = values[p : p + q], values[p + q :], np.diff(values[:p])
    if step is not None:
        flat = np.abs(window - top).max() <= slack
        return bool((rises >= step - slack).all() and flat and (after <= top - step + slack).all())
    floor = (top + values[p - 2]) / 2 if p > 1 else after.max(initial=-np.inf)
    held = (floor - slack <= window).all() and (window <= top + slack).all()
    return bool((rises > 0).all() and held and (after < values[0]).all())


@checked
def mass_outside(
    logits: Real[ArrayLike, "... L"], p: Integer[ArrayLike, " ..."], q: int
) -> Float64[FloatArray, " ..."]:
    """Return the softmax mass outside p..p+q, computed without subtracting from 1.

    Parameters
    ----------
    logits : array_like, shape (..., L)
        Attention logits, any number of rows.
    p : array_like of int, shape (...)
        The key's position in every row, from 1.
    q : int
        The number of anchors.
    """
    values = np.asarray(logits, dtype=np.float64)
    first = np.asarray(p, np.int64)
    if first.size == 0 or first.shape != values.shape[:-1]:
        problem = f"not one position for each row of {values.shape}"
        raise InputError("p", first.shape, problem, "give one for each row")
    for position in (first.min(), first.max()):
        check_window(values.shape[-1], int(position), q)
    position = np.arange(1, values.shape[-1] + 1)
    outside = (position < first[..., None]) | (position > first[..., None] + q)
    # Divided once, after the sums: a softmax would round every weight first.
    weights = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray((weights * outside).sum(axis=-1) / weights.sum(axis=-1), dtype=np.float64)


def check_window(length: int, p: int, q: int) -> None:
    """Refuse a key position or a number of anchors that does not fit into a sequence."""
    if not 1 <= q < length:
        problem = f"not a number of anchors beside the key in {length} positions"
        raise InputError("q", q, problem, "give at least 1, and q + 1 positions or more")
    if not 1 <= p <= length - q:
        raise InputError("p", p, f"not a key position of a sequence of {length}", f"give 1..{length - q}")
