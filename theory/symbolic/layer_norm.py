"""Layer norm: its derivative, and Props. 2 and 3 with the norm before the read-out."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import (
    D_M,
    R_S,
    D,
    at_sizes,
    average,
    cross_entropy,
    replaced,
    settled,
    written_out,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import LOGITS, RATIO_ARGUMENT, SIZE_ARGUMENT, UNIFORM, Y
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.transformer import LAST_DISTRIBUTION, RHO

SIZES = {D: 3, D_M: 3}
SCOPE = (
    "Steps: general entries at d = d_m = 3. Statement: any sizes; tests compare it with automatic "
    "differentiation."
)
ROOT = sp.Symbol("tau", positive=True)
EPSILON = sp.Symbol("epsilon", nonnegative=True)
X, NORMED, PULL = (sp.MatrixSymbol(name, 1, D_M) for name in ("x", "n", "g"))
READOUT = sp.MatrixSymbol("W_U", D_M, D)
ARGUMENTS = (
    Argument(ROOT, "the root of the row's variance plus ε"),
    Argument(NORMED, "the row behind the norm, shape (1, d_m)"),
    Argument(D_M, "the width d_m"),
)


def through_norm(pull: sp.Basic) -> sp.Basic:
    """Return a row times the derivative of a norm, for any width."""
    return (pull - pull * sp.OneMatrix(D_M, D_M) / D_M - pull * NORMED.T * NORMED / D_M) / ROOT


@functools.cache
def layer_norm() -> Derivation:
    """Differentiate a layer norm."""
    steps = _slope_steps()
    return Derivation(
        name="layer norm",
        equation="Beyond the paper: the derivative of a layer norm",
        quantity="g dn/dx",
        quantity_latex=r"g\,\frac{\partial n}{\partial x}",
        assumptions=(
            "g is what reaches the output of the norm, any row.",
            "n = z/τ, z = x less its mean, τ² = |z|²/d_m + ε.",
            "The norm's own gain is 1 and its bias 0, as at the start.",
        ),
        scope=SCOPE,
        steps=steps,
        result=steps[-1].expression,
        statement=through_norm(PULL),
        compare=_compare,
        arguments=(Argument(PULL, "shape (1, d_m)"), *ARGUMENTS),
    )


@functools.cache
def normed_drive() -> Derivation:
    """Put the norm's derivative between the read-out and an embedding, every other matrix being small."""
    steps = _drive_steps()
    return Derivation(
        name="normed drive",
        equation="Beyond the paper: Props. 2, 3 with a norm before the read-out",
        quantity="dw_s/dt",
        quantity_latex=r"\frac{dw_s}{dt}",
        assumptions=(
            "Those of the norm's derivative; x = w_s + w_pos for the last position's embedding w_pos.",
            "Attention and the feed-forward layer add nothing: the residual stream is x.",
            "The logits are small: p = u.",
        ),
        scope=SCOPE,
        steps=steps,
        result=steps[-1].expression,
        statement=R_S * RHO * through_norm((LAST_DISTRIBUTION - UNIFORM) * READOUT.T),
        compare=_compare,
        arguments=(
            RATIO_ARGUMENT,
            Argument(RHO, "the share of the occurrences of s that stand in the last position"),
            Argument(LAST_DISTRIBUTION, "the label distribution given that s stands last, shape (1, d)"),
            Argument(READOUT, "shape (d_m, d)"),
            *ARGUMENTS,
            SIZE_ARGUMENT,
        ),
    )


def _slope_steps() -> tuple[Step, ...]:
    x, normed, pull = (written_out(m, SIZES) for m in (X, NORMED, PULL))
    width = len(x)
    centred = x - sp.ones(1, width) * sum(x) / width
    square = sum(entry**2 for entry in centred) / width + EPSILON
    root = sp.Function("tau")(*x)
    slopes = {sp.diff(root, entry): sp.diff(square, entry) / (2 * root) for entry in x}
    raw = (centred / root).jacobian(x)
    implicit = raw.subs(slopes).subs(root, ROOT)
    # The mean of x drops out, so that its last entry may be what makes the mean 0.
    by_normed = {entry: ROOT * own for entry, own in zip(x, _balanced(normed), strict=True)}
    named = implicit.subs(by_normed).applyfunc(sp.expand)
    return (
        Step("The row less its mean.", centred),
        Step("The square of what it is divided by.", square),
        Step("The derivative of their ratio, τ being a function of x.", raw),
        Step("The derivative of τ is that of its square over 2 τ.", implicit),
        Step("Write x by n, the row behind the norm; the mean of x drops out, that of n is 0.", named),
        Step("What reaches the input of the norm.", (pull * named).applyfunc(sp.expand)),
    )


def _drive_steps() -> tuple[Step, ...]:
    normed, logits, y, readout = (written_out(m, SIZES) for m in (NORMED, LOGITS, Y, READOUT))
    loss = cross_entropy(y, logits)
    error = _error_at_zero(loss, y, logits)
    pulled = error * (normed * readout).jacobian(normed)
    chained = replaced(sp.Matrix(layer_norm().result), (written_out(PULL, SIZES), pulled))
    last = written_out(LAST_DISTRIBUTION, SIZES)
    means = dict(zip(y, last, strict=True))
    result = (R_S * RHO * chained).applyfunc(lambda entry: average(entry, list(y), means))
    return (
        Step("The cross-entropy as a function of the logits.", loss),
        Step("Minus its gradient at logits of 0, where p = u; y sums to one.", error),
        Step("What reaches the output of the norm where a sequence ends in s: the logits are n W_U.", pulled),
        Step("What reaches its input, by the derivation of the norm.", chained),
        Step(
            "The average: a sequence ends in s with probability r_s rho_s, its label is then as P_L.", result
        ),
    )


def _error_at_zero(loss: sp.Expr, y: sp.Matrix, logits: sp.Matrix) -> sp.Matrix:
    """Return minus the gradient with respect to the logits at 0; y_j is written as 1 less the others."""
    zero, out = dict.fromkeys(logits, 0), []
    for k, logit in enumerate(logits):
        other = (k + 1) % len(logits)
        rest = {y[other]: 1 - sum(y) + y[other]}
        out.append(sp.expand(-sp.diff(loss, logit).subs(zero).subs(rest)))
    return sp.Matrix([out])


def _balanced(normed: sp.Matrix) -> sp.Matrix:
    """Return a row behind the norm with its last entry written by the others: they sum to 0."""
    return sp.Matrix([[*normed[:-1], -sum(normed[:-1])]])


def _compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare where the entries of n sum to 0, as those of every row behind a norm do."""
    normed = written_out(NORMED, SIZES)
    stated = replaced(at_sizes(statement, SIZES), (normed, _balanced(normed)))
    rest = (sp.Matrix(result) - stated).applyfunc(settled)
    return (Check("Last step minus statement, every entry, at d = d_m = 3.", rest),)
