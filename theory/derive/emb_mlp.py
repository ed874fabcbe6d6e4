"""The Emb-MLP (Definition 1): Lemma 2, and its leading order at small initialisation, Proposition 1."""

from __future__ import annotations

import sympy as sp

from theory.derive import algebra
from theory.derive.algebra import D_F, D_M, EPS, R_S, SIZES, D, entrywise, replaced, written_out
from theory.derive.derivation import Derivation, Step, derived

SIGMA, SLOPE = sp.Function("sigma"), sp.Function("sigma'")
C_S = sp.Symbol("c_s", positive=True)
UNIFORM = sp.OneMatrix(1, D) / D
W1, W2 = sp.MatrixSymbol("W1", D_M, D_F), sp.MatrixSymbol("W2", D_F, D)
Y, P, DISTRIBUTION, LOGITS = (sp.MatrixSymbol(name, 1, D) for name in ("y", "p", "P", "o"))
EMBEDDING, REST = (sp.MatrixSymbol(name, 1, D_M) for name in ("w", "v"))
SLOPES, HIDDEN = (sp.MatrixSymbol(name, 1, D_F) for name in ("S", "h"))

RATIO_ARGUMENT = {R_S: "occurrences of s per sequence"}
DISTRIBUTION_ARGUMENT = {DISTRIBUTION: "the label distribution of s, shape (1, d)"}
WEIGHT_ARGUMENTS = {W1: "shape (d_m, d_f)", W2: "shape (d_f, d)"}
SIZE_ARGUMENT = {D: "the vocabulary size"}
SCOPE = (
    "Steps: general entries at d = 3, d_m = d_f = 2. Statement: any sizes; "
    "tests compare it with independent numbers at real sizes."
)


@derived("lemma 2", "Lemma 2, eq. 19", "The gradient flow of one embedding of the Emb-MLP, exactly", "eq 19")
def lemma_2() -> Derivation:
    """Differentiate the loss of one sequence with respect to one embedding (eq. 19)."""
    return Derivation(
        quantity="dw_s/dt, the share of one sequence (the flow is the mean over all sequences)",
        assumptions=(
            "The label y is one-hot (or any row that sums to one), p is the softmax of the logits.",
            "The sequence holds s exactly c_s times; v is the sum of its other tokens' embeddings.",
            "σ is differentiable; S is the row of slopes σ'(h).",
        ),
        scope=SCOPE,
        steps=_exact_steps(),
        statement=C_S * sp.HadamardProduct((Y - P) * W2.T, SLOPES) * W1.T,
        compare=entrywise(SIZES),
        arguments={
            C_S: "how often the sequence holds s",
            Y: "the one-hot label, shape (1, d)",
            P: "the softmax of the logits, shape (1, d)",
            SLOPES: "the slopes σ'(h), shape (1, d_f)",
            **WEIGHT_ARGUMENTS,
        },
    )


def _exact_steps() -> tuple[Step, ...]:
    w, v, w1, w2 = (written_out(m, SIZES) for m in (EMBEDDING, REST, W1, W2))
    h, o, y, p, slopes = (written_out(m, SIZES) for m in (HIDDEN, LOGITS, Y, P, SLOPES))
    hidden = (C_S * w + v) * w1
    logits = h.applyfunc(SIGMA) * w2
    loss = algebra.cross_entropy(y, o)
    error = algebra.negative_gradient(loss, y, p, o)
    named = {sp.diff(SIGMA(a), a): b for a, b in zip(h, slopes, strict=True)}
    logit_slopes = logits.jacobian(h).subs(named)
    hidden_slopes = hidden.jacobian(w)
    return (
        Step("The input h of the hidden layer, with the token s counted c_s times (Definition 1).", hidden),
        Step("The logits o, for any activation σ.", logits),
        Step("The cross-entropy as a function of the logits.", loss),
        Step("Minus its gradient with respect to the logits; y and p each sum to one.", error),
        Step("The Jacobian of the logits with respect to h, writing S for σ'(h).", logit_slopes),
        Step("The Jacobian of h with respect to w: every occurrence of s counts.", hidden_slopes),
        Step("The chain rule: the product of the last three.", error * logit_slopes * hidden_slopes),
    )


@derived(
    "prop 1",
    "Prop. 1, eq. 4-5",
    "The leading order of an embedding's flow at small initialisation",
    *("eq 4", "eq 5", "eq 20"),
)
def prop_1() -> Derivation:
    """Let every parameter of Lemma 2 be small, then average over the data (eq. 4, 5)."""
    return Derivation(
        quantity="dw_s/dt",
        assumptions=(
            "All three matrices have the same small scale ε; the statement is the coefficient of ε².",
            "σ(0) = 0 and σ'(0) = 1 (Assumption 1).",
            "r_s and P are defined by E[c_s] = r_s and E[c_s y] = r_s P, occurrences counted with "
            "multiplicity. With means over a finite data set this is eq. 4, with means over the "
            "task (n → ∞) it is eq. 5.",
        ),
        scope=SCOPE,
        steps=_small_steps(),
        statement=R_S * (DISTRIBUTION - UNIFORM) * W2.T * W1.T,
        compare=entrywise(SIZES),
        arguments=RATIO_ARGUMENT | DISTRIBUTION_ARGUMENT | WEIGHT_ARGUMENTS | SIZE_ARGUMENT,
    )


def _small_steps() -> tuple[Step, ...]:
    w, v, w1, w2 = (written_out(m, SIZES) for m in (EMBEDDING, REST, W1, W2))
    y, p, slopes, distribution = (written_out(m, SIZES) for m in (Y, P, SLOPES, DISTRIBUTION))
    hidden = EPS**2 * (C_S * w + v) * w1
    logits = EPS * hidden.applyfunc(SIGMA) * w2
    start = replaced(lemma_2().result, (w1, EPS * w1), (w2, EPS * w2))
    divided = start.applyfunc(lambda e: sp.expand(e / EPS**2))
    live = replaced(divided, (p, algebra.softmax(logits)), (slopes, hidden.applyfunc(SLOPE)))
    limit = live.subs(EPS, 0).subs({SIGMA(0): 0, SLOPE(0): 1})
    means = {C_S: R_S} | {C_S * a: R_S * b for a, b in zip(y, distribution, strict=True)}
    mean = limit.applyfunc(lambda e: algebra.average(e, [C_S, *y], means))
    return (
        Step("The logits where every parameter carries a factor ε.", logits),
        Step("Lemma 2 where both weights carry it too; p and S belong to this network.", start),
        Step(
            "Insert the network's p and S, divide by ε², and let ε → 0: with σ(0) = 0 the softmax becomes "
            "uniform, with σ'(0) = 1 the slopes become one. This is one sequence's term of eq. 4.",
            limit,
        ),
        Step("Average over the data with E[c_s] = r_s and E[c_s y] = r_s P.", mean),
    )
