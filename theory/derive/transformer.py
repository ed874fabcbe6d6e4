"""The one-layer Transformer (Definition 2) with averaged attention: Lemma 3 and eq. 28-29."""

from __future__ import annotations

import functools

import sympy as sp

from theory.derive import algebra
from theory.derive.algebra import D_F, D_K, EPS, R_S, D, entrywise, replaced
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.emb_mlp import (
    C_S,
    DISTRIBUTION,
    DISTRIBUTION_ARGUMENT,
    RATIO_ARGUMENT,
    SIGMA,
    SLOPE,
    SLOPES,
    UNIFORM,
    P,
    Y,
)

SIZES = {D: 3, D_F: 2, D_K: 2}
SCOPE = (
    "Steps: general entries at d = d_m = 3, d_f = d_k = 2 (the attention step at three tokens, d_m = 2, "
    "d_k = 1). Statement: any sizes; tests compare it with independent numbers at real sizes."
)
LENGTH = sp.Symbol("L", integer=True, positive=True)
LAST, RHO = sp.symbols("delta_s rho_s", nonnegative=True)
W_F1, W_F2 = sp.MatrixSymbol("W_f1", D, D_F), sp.MatrixSymbol("W_f2", D_F, D)
W_V, W_O = sp.MatrixSymbol("W_V", D, D_K), sp.MatrixSymbol("W_O", D_K, D)
W, REST, Z, MEAN, X_LAST, OUT, LAST_DISTRIBUTION = (
    sp.MatrixSymbol(name, 1, D) for name in ("w", "v", "x", "m", "x_L", "o", "P_L")
)
HIDDEN = sp.MatrixSymbol("h", 1, D_F)
FEED_ARGUMENTS = {W_F1: "shape (d_m, d_f)", W_F2: "shape (d_f, d_m)"}
OUTPUT_ARGUMENT = {W_O: "shape (d_k, d_m)"}
WEIGHT_ARGUMENTS = FEED_ARGUMENTS | {W_V: "shape (d_m, d_k)"} | OUTPUT_ARGUMENT
LENGTH_ARGUMENT = {LENGTH: "tokens in a sequence"}
SIZE_ARGUMENT = {D: "d_m, which is also the vocabulary size"}
LAST_ARGUMENTS = {
    RHO: "the share of the occurrences of s that stand in the last position",
    LAST_DISTRIBUTION: "the label distribution given that s stands last, shape (1, d_m)",
}
ROW_ARGUMENTS = {
    Y: "the one-hot label, shape (1, d_m)",
    P: "the softmax of the model's output, shape (1, d_m)",
    SLOPES: "the slopes σ'(x W_f1), shape (1, d_f), where x is the feed-forward part's input",
}
IDENTITY = sp.Identity(D)
FEED_FORWARD, VALUE_OUTPUT = W_F2.T * W_F1.T + IDENTITY, W_O.T * W_V.T + IDENTITY
GRADIENT_AT_INPUT = sp.HadamardProduct((Y - P) * W_F2.T, SLOPES) * W_F1.T + (Y - P)
"""Minus the loss's gradient with respect to the feed-forward part's input, for any sizes."""


def small(*matrices: sp.MatrixSymbol) -> list[sp.Matrix]:
    """Return matrix symbols written out at the sizes of the steps."""
    return [algebra.written_out(matrix, SIZES) for matrix in matrices]


@functools.cache
def feed_forward_steps() -> tuple[Step, ...]:
    """Differentiate the loss with respect to x, the input of the feed-forward part."""
    x, h, o, y, p, slopes, f1, f2 = small(Z, HIDDEN, OUT, Y, P, SLOPES, W_F1, W_F2)
    loss = algebra.cross_entropy(y, o)
    error = algebra.negative_gradient(loss, y, p, o)
    named = {sp.diff(SIGMA(a), a): b for a, b in zip(h, slopes, strict=True)}
    through = (h.applyfunc(SIGMA) * f2).jacobian(h).subs(named) * (x * f1).jacobian(x)
    return (
        Step("The cross-entropy as a function of the outputs o = σ(x W_f1) W_f2 + x.", loss),
        Step("Minus its gradient with respect to the outputs; y and p each sum to one.", error),
        Step("The Jacobian of σ(x W_f1) W_f2 with respect to x, with S for the slopes.", through),
        Step(
            "Minus the gradient with respect to x: through the feed-forward part, and past it.",
            error * through + error,
        ),
    )


def _attention_at_zero() -> tuple[Step, Check]:
    """Differentiate an attention row of three tokens where W_Q W_Kᵀ vanishes; s stands first and last."""
    w, v = (sp.MatrixSymbol(name, 1, 2).as_explicit() for name in ("w", "v"))
    query, key = (sp.MatrixSymbol(name, 2, 1).as_explicit() for name in ("W_Q", "W_K"))
    row = algebra.softmax(w * query * key.T * sp.Matrix.vstack(w, v, w).T)
    zero = dict.fromkeys(query, 0)
    return (
        Step(
            "The last row of attention of three tokens (s, another, s) where W_Q → 0: the average.",
            row.subs(zero),
        ),
        Check("There the attention does not change with the embedding of s.", row.jacobian(w).subs(zero)),
    )


@derived(
    "lemma 3",
    "Lemma 3 (before eq. 28)",
    "The gradient flow of one embedding of the one-layer Transformer, with averaged attention",
)
def lemma_3() -> Derivation:
    """Differentiate the loss of one sequence with respect to one embedding, for averaged attention."""
    w, v, value, output, last = small(W, REST, W_V, W_O, X_LAST)
    attention, constant = _attention_at_zero()
    inner = feed_forward_steps()
    entering = (C_S * w + v) / LENGTH * value * output + LAST * w + last
    jacobian = entering.jacobian(w)
    return Derivation(
        quantity="dw_s/dt, the share of one sequence (the flow is the mean over all sequences)",
        assumptions=(
            "Definition 2 with W_Q W_Kᵀ = 0: attention is 1/L everywhere, whatever the embeddings are.",
            "The sequence holds s exactly c_s times; delta_s is 1 if its last token is s and 0 otherwise.",
            "The logits are the d_m outputs, so d_m = d. σ is differentiable; S is the row of slopes.",
        ),
        scope=SCOPE,
        steps=(
            attention,
            Step(
                "The feed-forward part's input; v sums the other tokens, x_L is the last unless it is s.",
                entering,
            ),
            *inner,
            Step("The Jacobian of that input with respect to the embedding of s.", jacobian),
            Step("The chain rule: the product of the last two.", inner[-1].expression * jacobian),
        ),
        statement=GRADIENT_AT_INPUT * (C_S / LENGTH * W_O.T * W_V.T + LAST * IDENTITY),
        compare=entrywise(SIZES),
        further_checks=lambda: (constant,),
        arguments={
            C_S: "how often the sequence holds s",
            LAST: "1 if the last token is s, else 0",
            **LENGTH_ARGUMENT,
            **ROW_ARGUMENTS,
            **WEIGHT_ARGUMENTS,
        },
    )


@derived(
    "eq 29",
    "Eq. 28-29, with the last position kept apart",
    "The small-embedding limit of Lemma 3, and when the paper's form of it holds",
    "eq 28",
)
def eq_29() -> Derivation:
    """Let the embeddings in Lemma 3 be small, then average over the data."""
    steps = _small_embedding_steps()
    paper = R_S / LENGTH * (DISTRIBUTION - UNIFORM) * FEED_FORWARD * VALUE_OUTPUT
    alike = tuple(small(LAST_DISTRIBUTION, DISTRIBUTION))
    special = replaced(steps[-1].expression.subs(RHO, 1 / LENGTH), alike)
    return Derivation(
        quantity="dw_s/dt",
        assumptions=(
            "Embeddings of scale ε → 0, W_Q W_Kᵀ = 0, the other matrices of any size; σ(0) = 0, σ'(0) = 1.",
            "E[c_s] = r_s, E[c_s y] = r_s P; rho_s is the share of the occurrences of s that stand in the "
            "last position and P_L their label distribution: E[delta_s] = r_s rho_s, "
            "E[delta_s y] = r_s rho_s P_L.",
        ),
        scope=SCOPE,
        steps=steps,
        statement=R_S
        * (
            (DISTRIBUTION - UNIFORM) * FEED_FORWARD * W_O.T * W_V.T / LENGTH
            + RHO * (LAST_DISTRIBUTION - UNIFORM) * FEED_FORWARD
        ),
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "The paper's form r_s/L (P − u)(W_fᵀ + I)(W_VOᵀ + I) is the case rho_s = 1/L, P_L = P.",
                entrywise(SIZES)(special, paper)[0].residual,
            ),
        ),
        arguments={
            **RATIO_ARGUMENT,
            **DISTRIBUTION_ARGUMENT,
            **LAST_ARGUMENTS,
            **LENGTH_ARGUMENT,
            **WEIGHT_ARGUMENTS,
            **SIZE_ARGUMENT,
        },
    )


def _small_embedding_steps() -> tuple[Step, ...]:
    w, v, last, value, output = small(W, REST, X_LAST, W_V, W_O)
    f1, f2, y, p, slopes = small(W_F1, W_F2, Y, P, SLOPES)
    distribution, last_distribution = small(DISTRIBUTION, LAST_DISTRIBUTION)
    entering = EPS * ((C_S * w + v) / LENGTH * value * output + LAST * w + last)
    outputs = (entering * f1).applyfunc(SIGMA) * f2 + entering
    uniform = algebra.softmax(outputs).subs(EPS, 0).subs(SIGMA(0), 0).applyfunc(sp.simplify)
    ones = (entering * f1).applyfunc(SLOPE).subs(EPS, 0).subs(SLOPE(0), 1)
    limit = replaced(lemma_3().result, (p, uniform), (slopes, ones))
    means = {C_S: R_S, LAST: R_S * RHO}
    means |= {C_S * a: R_S * b for a, b in zip(y, distribution, strict=True)}
    means |= {LAST * a: R_S * RHO * b for a, b in zip(y, last_distribution, strict=True)}
    mean = limit.applyfunc(lambda e: algebra.average(e, [C_S, LAST, *y], means))
    return (
        Step("The last step of Lemma 3.", lemma_3().result),
        Step("Give the embeddings the factor ε and let ε → 0: the softmax becomes uniform.", uniform),
        Step("The slopes become one.", ones),
        Step("Insert both: one sequence's term of eq. 28.", limit),
        Step(
            "Average over the data; occurrences in the last position have their own share and distribution.",
            mean,
        ),
    )


@derived(
    "all small",
    "Beyond the paper: eq. 29 with every matrix small",
    "With all matrices small only the residual path from the last position is left",
)
def all_small() -> Derivation:
    """Let every matrix in eq. 29 be small, not only the embeddings."""
    weights = small(W_F1, W_F2, W_V, W_O)
    start = replaced(eq_29().result, *((m, EPS * m) for m in weights))
    return Derivation(
        quantity="dw_s/dt",
        assumptions=("Those of eq. 29.", "W_f1, W_f2, W_V and W_O carry the factor ε → 0 too."),
        scope=SCOPE,
        steps=(
            Step("Eq. 29 where every matrix carries a factor ε.", start),
            Step(
                "Let ε → 0: a token is moved only by the sequences that end with it.",
                start.subs(EPS, 0).applyfunc(sp.factor),
            ),
        ),
        statement=R_S * RHO * (LAST_DISTRIBUTION - UNIFORM),
        compare=entrywise(SIZES),
        arguments=RATIO_ARGUMENT | LAST_ARGUMENTS | SIZE_ARGUMENT,
    )
