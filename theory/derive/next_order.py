"""The first corrections to Proposition 1 in the initial scale."""

from __future__ import annotations

import sympy as sp

from theory.derive import algebra, emb_mlp
from theory.derive.algebra import D_M, EPS, R_S, SIZES, D, entrywise, replaced, truncated, written_out
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.emb_mlp import DISTRIBUTION, HIDDEN, LOGITS, SLOPES, UNIFORM, W1, W2, P, Y, lemma_2

CURVATURE, THIRD = sp.symbols("sigma_2 sigma_3", real=True)
COUNTS, PAIRS = (sp.MatrixSymbol(name, 1, D) for name in ("c", "S_s"))
TRIPLES = sp.MatrixSymbol("T_s", D, D)
W_EMB = sp.MatrixSymbol("W_emb", D, D_M)
ORDER = 5


@derived(
    "next order",
    "Beyond the paper: the corrections to Prop. 1, eq. 5",
    "How far eq. 5 is off at a finite initial scale",
    *("prop 1 next order", "eq 5 next order"),
)
def next_order() -> Derivation:
    """Expand Lemma 2 up to ε⁵ and average over the data."""
    steps = _steps()
    tanh = steps[-1].expression.subs(CURVATURE, 0)
    return Derivation(
        quantity="dw_s/dt, up to O(ε⁶)",
        assumptions=(
            "W_emb, W1 and W2 all carry the factor ε.",
            "σ is smooth with σ(0) = 0, σ'(0) = 1, σ''(0) = sigma_2, σ'''(0) = sigma_3.",
            "E[c_s] = r_s, E[c_s y] = r_s P; S_s is the row E[c_s c] of pair counts and T_s the matrix "
            "E[c_s cᵀ (y − u)] of triple counts.",
        ),
        scope=emb_mlp.SCOPE,
        steps=steps,
        statement=_statement(),
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "With σ''(0) = 0 (tanh) the ε⁴ term is absent: the error of eq. 5 is relatively ε³, "
                "otherwise ε².",
                tanh.applyfunc(lambda e: sp.expand(e).coeff(EPS, 4)),
            ),
        ),
        arguments={
            EPS: "the scale; W_emb, W1 and W2 are given at scale one",
            CURVATURE: "σ''(0)",
            **emb_mlp.RATIO_ARGUMENT,
            **emb_mlp.DISTRIBUTION_ARGUMENT,
            PAIRS: "E[c_s c_x] for every token x, shape (1, d)",
            TRIPLES: "E[c_s c_x (y_k − 1/d)] in row x and column k, shape (d, d)",
            W_EMB: "shape (d, d_m)",
            **emb_mlp.WEIGHT_ARGUMENTS,
            **emb_mlp.SIZE_ARGUMENT,
        },
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


def _steps() -> tuple[Step, ...]:
    w_emb, w1, w2, counts = (written_out(m, SIZES) for m in (W_EMB, W1, W2, COUNTS))
    h, o, p, slopes = (written_out(m, SIZES) for m in (HIDDEN, LOGITS, P, SLOPES))
    z = sp.Symbol("xi")
    activation = z + CURVATURE * z**2 / 2 + THIRD * z**3 / 6
    hidden = EPS**2 * h
    logits = EPS * hidden.applyfunc(lambda e: activation.subs(z, e)) * w2
    # Logits are of order ε³: the softmax to first order in them is right up to ε⁵.
    linear = algebra.softmax(z * o).applyfunc(lambda e: algebra.taylor(e, z, 1).subs(z, 1))
    probabilities = truncated(replaced(linear, (o, logits)), EPS, 3)
    slope_row = hidden.applyfunc(lambda e: sp.diff(activation, z).subs(z, e))
    start = replaced(lemma_2().result.subs(emb_mlp.C_S, counts[0]), (w1, EPS * w1), (w2, EPS * w2))
    expanded = truncated(replaced(start, (p, probabilities), (slopes, slope_row)), EPS, ORDER)
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


def _averaged(entry: sp.Expr) -> sp.Expr:
    """Average over sequences: counts c and label y vary, everything else is fixed."""
    c, y, distribution, pairs, triples = (
        written_out(m, SIZES) for m in (COUNTS, Y, DISTRIBUTION, PAIRS, TRIPLES)
    )
    means = {c[0]: R_S} | {c[0] * a: R_S * b for a, b in zip(y, distribution, strict=True)}
    for x, count in enumerate(c):
        means[c[0] * count] = pairs[x]
        means |= {c[0] * count * y[k]: triples[x, k] + pairs[x] / len(y) for k in range(len(y))}
    return algebra.average(entry, [*c, *y], means)
