"""The one-layer Transformer (Definition 2) with averaged attention: Lemma 3, eq. 28-29, Lemma 4."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import (
    D_F,
    D_K,
    EPS,
    R_S,
    D,
    average,
    cross_entropy,
    difference,
    entrywise,
    negative_gradient,
    replaced,
    softmax,
    written_out,
)
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import (
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
from theory.symbolic.parts import Argument, Check, Step

SIZES = {D: 3, D_F: 2, D_K: 2}
SCOPE = (
    "Steps: general entries at d = d_m = 3, d_f = d_k = 2 (the attention step at three tokens, d_m = 2, "
    "d_k = 1). Statement: any sizes; tests compare it with independent numbers at real sizes."
)
LENGTH = sp.Symbol("L", integer=True, positive=True)
LAST = sp.Symbol("delta_s", nonnegative=True)
RHO = sp.Symbol("rho_s", nonnegative=True)
W_F1, W_F2 = sp.MatrixSymbol("W_f1", D, D_F), sp.MatrixSymbol("W_f2", D_F, D)
W_V, W_O = sp.MatrixSymbol("W_V", D, D_K), sp.MatrixSymbol("W_O", D_K, D)
LAST_DISTRIBUTION = sp.MatrixSymbol("P_L", 1, D)
W, REST, Z, MEAN, X_LAST, OUT, HIDDEN = (
    sp.MatrixSymbol(name, 1, n)
    for name, n in (("w", D), ("v", D), ("x", D), ("m", D), ("x_L", D), ("o", D), ("h", D_F))
)
WEIGHTS = (
    Argument(W_F1, "shape (d_m, d_f)"),
    Argument(W_F2, "shape (d_f, d_m)"),
    Argument(W_V, "shape (d_m, d_k)"),
    Argument(W_O, "shape (d_k, d_m)"),
)
LENGTH_ARGUMENT = Argument(LENGTH, "tokens in a sequence")
SIZE_ARGUMENT = Argument(D, "d_m, which is also the vocabulary size")
ROWS = (
    Argument(Y, "the one-hot label, shape (1, d_m)"),
    Argument(P, "the softmax of the model's output, shape (1, d_m)"),
    Argument(SLOPES, "the slopes σ'(x W_f1), shape (1, d_f), x being what enters the feed-forward part"),
)
IDENTITY = sp.Identity(D)
FEED_FORWARD, VALUE_OUTPUT = W_F2.T * W_F1.T + IDENTITY, W_O.T * W_V.T + IDENTITY


def small(matrix: sp.MatrixSymbol) -> sp.Matrix:
    """Return a matrix symbol written out at the sizes of the steps."""
    return written_out(matrix, SIZES)


@functools.cache
def feed_forward_steps() -> tuple[Step, ...]:
    """Differentiate the loss with respect to x, the input of the feed-forward part."""
    x, h, o, y, p, slopes, f1, f2 = (small(m) for m in (Z, HIDDEN, OUT, Y, P, SLOPES, W_F1, W_F2))
    loss = cross_entropy(y, o)
    error = negative_gradient(loss, y, p, o)
    named = {sp.diff(SIGMA(a), a): b for a, b in zip(h, slopes, strict=True)}
    through = (h.applyfunc(SIGMA) * f2).jacobian(h).subs(named) * (x * f1).jacobian(x)
    return (
        Step("The cross-entropy as a function of the outputs o = σ(x W_f1) W_f2 + x.", loss),
        Step("Minus its gradient by the outputs; y and p each sum to one.", error),
        Step("The Jacobian of σ(x W_f1) W_f2 by x, with S for the slopes.", through),
        Step("Minus the gradient by x: through the feed-forward part, and past it.", error * through + error),
    )


def _attention_residual() -> tuple[Step, Check]:
    """Differentiate an attention row of three tokens where W_Q W_Kᵀ vanishes; s stands first and last."""
    w, v = sp.MatrixSymbol("w", 1, 2).as_explicit(), sp.MatrixSymbol("v", 1, 2).as_explicit()
    query, key = (sp.MatrixSymbol(name, 2, 1).as_explicit() for name in ("W_Q", "W_K"))
    tokens = sp.Matrix.vstack(w, v, w)
    row = softmax(w * query * key.T * tokens.T)
    zero = dict.fromkeys(query, 0)
    slopes = row.jacobian(w).subs(zero)
    return (
        Step(
            "The last row of attention of three tokens (s, another, s) where W_Q → 0: the average.",
            row.subs(zero),
        ),
        Check("There the attention does not change with the embedding of s.", slopes),
    )


@functools.cache
def lemma_3() -> Derivation:
    """Differentiate the loss of one sequence with respect to one embedding, for averaged attention."""
    w, v, value, output = (small(m) for m in (W, REST, W_V, W_O))
    attention, constant = _attention_residual()
    inner = feed_forward_steps()
    entering = (C_S * w + v) / LENGTH * value * output + LAST * w + small(X_LAST)
    jacobian = entering.jacobian(w)
    result = inner[-1].expression * jacobian
    gradient = gradient_at_input()
    statement = gradient * (C_S / LENGTH * W_O.T * W_V.T + LAST * IDENTITY)
    return Derivation(
        name="lemma 3",
        equation="Lemma 3 (before eq. 28)",
        quantity="dw_s/dt, the share of one sequence (the flow is the mean over all sequences)",
        quantity_latex=r"\left.\frac{dw_s}{dt}\right|_{\text{one sequence}}",
        assumptions=(
            "Definition 2 with W_Q W_Kᵀ = 0: attention is 1/L everywhere and, there, does not vary.",
            "The sequence holds s exactly c_s times; delta_s is 1 if its last token is s and 0 otherwise.",
            "The logits are the d_m outputs, so d_m = d. σ is differentiable; S is the row of slopes.",
        ),
        scope=SCOPE,
        steps=(
            attention,
            Step(
                "What enters the feed-forward part; v sums the other tokens, x_L is the last unless it is s.",
                entering,
            ),
            *inner,
            Step("The Jacobian of what enters by the embedding of s.", jacobian),
            Step("The chain rule: the product of the last two.", result),
        ),
        result=result,
        statement=statement,
        compare=entrywise(SIZES),
        further_checks=lambda: (constant,),
        arguments=(
            Argument(C_S, "how often the sequence holds s"),
            Argument(LAST, "1 if the last token is s, else 0"),
            LENGTH_ARGUMENT,
            *ROWS,
            *WEIGHTS,
        ),
    )


def gradient_at_input() -> sp.Basic:
    """Return minus the loss's gradient with respect to the feed-forward part's input, for any sizes."""
    return sp.HadamardProduct((Y - P) * W_F2.T, SLOPES) * W_F1.T + (Y - P)


@functools.cache
def eq_29() -> Derivation:
    """Let the embeddings in Lemma 3 be small, then average over the data."""
    steps = _small_embedding_steps()
    result = steps[-1].expression
    statement = R_S * (
        (DISTRIBUTION - UNIFORM) * FEED_FORWARD * W_O.T * W_V.T / LENGTH
        + RHO * (LAST_DISTRIBUTION - UNIFORM) * FEED_FORWARD
    )
    paper = R_S / LENGTH * (DISTRIBUTION - UNIFORM) * FEED_FORWARD * VALUE_OUTPUT
    special = replaced(result.subs(RHO, 1 / LENGTH), (small(LAST_DISTRIBUTION), small(DISTRIBUTION)))
    return Derivation(
        name="eq 29",
        equation="Eq. 28-29, with the last position kept apart",
        quantity="dw_s/dt",
        quantity_latex=r"\frac{dw_s}{dt}",
        assumptions=(
            "Embeddings of scale ε → 0, W_Q W_Kᵀ = 0, the other matrices of any size; σ(0) = 0, σ'(0) = 1.",
            "E[c_s] = r_s, E[c_s y] = r_s P; rho_s is the share of the occurrences of s that stand in the "
            "last position and P_L the label distribution given that: E[delta_s] = r_s rho_s, "
            "E[delta_s y] = r_s rho_s P_L.",
        ),
        scope=SCOPE,
        steps=steps,
        result=result,
        statement=statement,
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "The paper's form r_s/L (P − u)(W_fᵀ + I)(W_VOᵀ + I) is the case rho_s = 1/L, P_L = P.",
                difference(special, paper, SIZES),
            ),
        ),
        arguments=(
            RATIO_ARGUMENT,
            DISTRIBUTION_ARGUMENT,
            Argument(RHO, "the share of the occurrences of s that stand in the last position"),
            Argument(LAST_DISTRIBUTION, "the label distribution given that s stands last, shape (1, d_m)"),
            LENGTH_ARGUMENT,
            *WEIGHTS,
            SIZE_ARGUMENT,
        ),
    )


def _small_embedding_steps() -> tuple[Step, ...]:
    w, v, last, value, output = (small(m) for m in (W, REST, X_LAST, W_V, W_O))
    f1, f2, y, p, slopes, distribution, last_distribution = (
        small(m) for m in (W_F1, W_F2, Y, P, SLOPES, DISTRIBUTION, LAST_DISTRIBUTION)
    )
    entering = EPS * ((C_S * w + v) / LENGTH * value * output + LAST * w + last)
    outputs = (entering * f1).applyfunc(SIGMA) * f2 + entering
    limits = (
        softmax(outputs).subs(EPS, 0).subs(SIGMA(0), 0).applyfunc(sp.simplify),
        (entering * f1).applyfunc(SLOPE).subs(EPS, 0).subs(SLOPE(0), 1),
    )
    limit = replaced(lemma_3().result, (p, limits[0]), (slopes, limits[1]))
    means = {C_S: R_S, LAST: R_S * RHO}
    means |= {C_S * a: R_S * b for a, b in zip(y, distribution, strict=True)}
    means |= {LAST * a: R_S * RHO * b for a, b in zip(y, last_distribution, strict=True)}
    mean = limit.applyfunc(lambda e: average(e, [C_S, LAST, *y], means))
    return (
        Step("The last step of Lemma 3.", lemma_3().result),
        Step("Give the embeddings the factor ε and let ε → 0: the softmax becomes uniform.", limits[0]),
        Step("The slopes become one.", limits[1]),
        Step("Put both in: one sequence's term of eq. 28.", limit),
        Step(
            "Average over the data; occurrences in the last position have their own share and distribution.",
            mean,
        ),
    )
