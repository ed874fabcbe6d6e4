"""The first corrections to Proposition 1 in the initial scale."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import (
    D_M,
    EPS,
    R_S,
    SIZES,
    D,
    average,
    entrywise,
    replaced,
    softmax,
    taylor,
    written_out,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import (
    C_S,
    DISTRIBUTION,
    DISTRIBUTION_ARGUMENT,
    HIDDEN,
    LOGITS,
    RATIO_ARGUMENT,
    SCOPE,
    SIZE_ARGUMENT,
    SLOPES,
    UNIFORM,
    W1,
    W1_ARGUMENT,
    W2,
    W2_ARGUMENT,
    P,
    Y,
    lemma_2,
)
from theory.symbolic.parts import Argument, Check, Step

CURVATURE = sp.Symbol("sigma_2", real=True)
THIRD = sp.Symbol("sigma_3", real=True)
COUNTS = sp.MatrixSymbol("c", 1, D)
PAIRS = sp.MatrixSymbol("S_s", 1, D)
TRIPLES = sp.MatrixSymbol("T_s", D, D)
W_EMB = sp.MatrixSymbol("W_emb", D, D_M)
ORDER = 5


@functools.cache
def next_order() -> Derivation:
    """Expand Lemma 2 up to ε⁵ and average over the data."""
    steps = _steps()
    result, statement = steps[-1].expression, _statement()
    tanh = result.subs(CURVATURE, 0)
    return Derivation(
        name="next order",
        equation="Beyond the paper: the corrections to Prop. 1, eq. 5",
        quantity="dw_s/dt, up to O(ε⁶)",
        quantity_latex=r"\frac{dw_s}{dt} + O(\epsilon^6)",
        assumptions=(
            "W_emb, W1 and W2 all carry the factor ε.",
            "σ is smooth with σ(0) = 0, σ'(0) = 1, σ''(0) = sigma_2, σ'''(0) = sigma_3.",
            "E[c_s] = r_s, E[c_s y] = r_s P; S_s is the row E[c_s c] of pair counts and T_s the matrix "
            "E[c_s cᵀ (y − u)] of triple counts.",
        ),
        scope=SCOPE,
        steps=steps,
        result=result,
        statement=statement,
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "With σ''(0) = 0 (tanh) the ε⁴ term is absent: the error of eq. 5 is relatively ε³, "
                "otherwise ε².",
                tanh.applyfunc(lambda e: sp.expand(e).coeff(EPS, 4)),
            ),
        ),
        arguments=(
            Argument(EPS, "the scale; W_emb, W1 and W2 are given at scale one"),
            Argument(CURVATURE, "σ''(0)"),
            RATIO_ARGUMENT,
            DISTRIBUTION_ARGUMENT,
            Argument(PAIRS, "E[c_s c_x] for every token x, shape (1, d)"),
            Argument(TRIPLES, "E[c_s c_x (y_k − 1/d)] in row x and column k, shape (d, d)"),
            Argument(W_EMB, "shape (d, d_m)"),
            W1_ARGUMENT,
            W2_ARGUMENT,
            SIZE_ARGUMENT,
        ),
    )


def _statement() -> sp.Basic:
    hidden, column = W_EMB * W1, sp.OneMatrix(D, 1)
    centred = hidden * W2 * (sp.Identity(D) - column * column.T / D)
    activation = column.T * sp.HadamardProduct(TRIPLES * W2.T, hidden) * W1.T
    back = W2.T * W1.T
    return (
        EPS**2 * R_S * (DISTRIBUTION - UNIFORM) * back
        + EPS**4 * CURVATURE * activation
        - EPS**5 * PAIRS * centred * back / D
    )


@functools.cache
def _steps() -> tuple[Step, ...]:
    w_emb, w1, w2, counts = (written_out(m, SIZES) for m in (W_EMB, W1, W2, COUNTS))
    h, o, p, slopes = (written_out(m, SIZES) for m in (HIDDEN, LOGITS, P, SLOPES))
    z = sp.Symbol("xi")
    activation = z + CURVATURE * z**2 / 2 + THIRD * z**3 / 6
    hidden = EPS**2 * h
    logits = EPS * hidden.applyfunc(lambda e: activation.subs(z, e)) * w2
    # Logits are of order ε³: the softmax to first order in them is right up to ε⁵.
    linear = softmax(z * o).applyfunc(lambda e: taylor(e, z, 1).subs(z, 1))
    probabilities = replaced(linear, (o, logits)).applyfunc(lambda e: _truncate(e, 3))
    slope_row = hidden.applyfunc(lambda e: sp.diff(activation, z).subs(z, e))
    start = replaced(lemma_2().result.subs(C_S, counts[0]), (w1, EPS * w1), (w2, EPS * w2))
    expanded = replaced(start, (p, probabilities), (slopes, slope_row)).applyfunc(_truncate)
    explicit = replaced(expanded, (h, counts * w_emb * w1)).applyfunc(sp.expand)
    return (
        Step(
            "The softmax of a network of scale ε, up to ε³; h is its hidden input at scale one.",
            probabilities,
        ),
        Step("The slopes σ' at its hidden inputs.", slope_row),
        Step("Put both into Lemma 2 (s is token 0) and keep powers up to ε⁵.", expanded),
        Step(
            "Put h = c W_emb W1 in and average: means of products of two and three counts appear.",
            explicit.applyfunc(_averaged),
        ),
    )


def _truncate(entry: sp.Expr, order: int = ORDER) -> sp.Expr:
    expanded = sp.expand(entry)
    return sum(expanded.coeff(EPS, n) * EPS**n for n in range(order + 1))


def _averaged(entry: sp.Expr) -> sp.Expr:
    """Average over sequences: counts c and label y vary, everything else is fixed."""
    c, y, distribution, pairs, triples = (
        written_out(m, SIZES) for m in (COUNTS, Y, DISTRIBUTION, PAIRS, TRIPLES)
    )
    means = {c[0]: R_S} | {c[0] * a: R_S * b for a, b in zip(y, distribution, strict=True)}
    for x, count in enumerate(c):
        means[c[0] * count] = pairs[x]
        means |= {c[0] * count * y[k]: triples[x, k] + pairs[x] / len(y) for k in range(len(y))}
    return average(entry, [*c, *y], means)
