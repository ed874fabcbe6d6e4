"""The value matrix of the one-layer Transformer: Lemma 4 and its small-embedding form."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import D, average, replaced, statement_check, written_out
from theory.symbolic.derivation import Argument, Derivation, Step
from theory.symbolic.emb_mlp import SLOPES, P, Y
from theory.symbolic.transformer import (
    FEED_FORWARD,
    LENGTH,
    LENGTH_ARGUMENT,
    MEAN,
    ROWS,
    SCOPE,
    SIZES,
    W_O,
    W_V,
    WEIGHTS,
    X_LAST,
    feed_forward_steps,
    gradient_at_input,
    small,
)

TOKEN_LABEL = sp.MatrixSymbol("C", D, D)
RATIOS = sp.MatrixSymbol("r", 1, D)
COUNTS = sp.MatrixSymbol("c", 1, D)
W_EMB = sp.MatrixSymbol("W_emb", D, D)


@functools.cache
def lemma_4() -> Derivation:
    """Differentiate the loss of one sequence by the value matrix (eq. 35)."""
    inner = feed_forward_steps()
    value = small(W_V)
    entering = small(MEAN) * value * small(W_O) + small(X_LAST)
    jacobian = entering.jacobian(list(value))
    flat = inner[-1].expression * jacobian
    result = flat.reshape(*value.shape)
    statement = MEAN.T * gradient_at_input() * W_O.T
    return Derivation(
        name="lemma 4",
        equation="Lemma 4, eq. 35",
        title="The gradient flow of the value matrix, exactly",
        quantity="dW_V/dt, the share of one sequence (the flow is the mean over all sequences)",
        quantity_latex=r"\left.\frac{dW_V}{dt}\right|_{\text{one sequence}}",
        assumptions=(
            "Definition 2 with any attention: m = A_L X, and A_L does not depend on W_V.",
            "σ is differentiable; S is the row of slopes. The form without S is the case S = 1.",
        ),
        scope=SCOPE,
        steps=(
            Step("What enters the feed-forward part.", entering),
            *inner,
            Step("The Jacobian of what enters by the entries of W_V, row by row.", jacobian),
            Step("The chain rule, put back into the shape of W_V.", result),
        ),
        result=result,
        statement=statement,
        checks=(statement_check(result, statement, SIZES),),
        arguments=(
            Argument(MEAN, "A_L X, shape (1, d_m)"),
            *ROWS,
            *(w for w in WEIGHTS if w.symbol != W_V),
        ),
    )


@functools.cache
def eq_38() -> Derivation:
    """Let the embeddings in Lemma 4 be small and average over the data (eq. 36-38)."""
    steps = _small_steps()
    result = steps[-1].expression
    statement = W_EMB.T * TOKEN_LABEL * FEED_FORWARD * W_O.T / LENGTH
    return Derivation(
        name="eq 38",
        equation="Eq. 36-38",
        title="The value matrix's flow at small embeddings",
        quantity="dW_V/dt",
        quantity_latex=r"\frac{dW_V}{dt}",
        assumptions=(
            "Small embeddings, averaged attention (A_L = 1/L), σ(0) = 0, σ'(0) = 1.",
            "C = E[cᵀ(y − u)], with rows r_s (P^s − u), so that W_embᵀ C = Σ_s r_s w_sᵀ (P^s − u).",
        ),
        scope=SCOPE,
        steps=steps,
        result=result,
        statement=statement,
        checks=(statement_check(result, statement, SIZES),),
        arguments=(
            Argument(W_EMB, "the embedding matrix, shape (d, d_m) with d = d_m"),
            Argument(TOKEN_LABEL, "the token-label matrix, rows r_s (P^s − u), shape (d, d)"),
            LENGTH_ARGUMENT,
            *(w for w in WEIGHTS if w.symbol != W_V),
        ),
    )


def _small_steps() -> tuple[Step, ...]:
    p, slopes, mean, counts, w_emb = (small(m) for m in (P, SLOPES, MEAN, COUNTS, W_EMB))
    uniform, ones = sp.ones(1, SIZES[D]) / SIZES[D], sp.ones(*slopes.shape)
    limit = replaced(lemma_4().result, (p, uniform), (slopes, ones))
    averaged = replaced(limit, (mean, counts * w_emb / LENGTH))
    return (
        Step("Lemma 4 with the limits found for eq. 29: p uniform, S all ones.", limit),
        Step("Averaged attention: A_L X = c W_emb / L, where c counts the tokens of the sequence.", averaged),
        Step("Average over the data: E[c_x (y_k − 1/d)] is C.", averaged.applyfunc(_mean)),
    )


def _mean(entry: sp.Expr) -> sp.Expr:
    c, y, ratios, matrix = (written_out(m, SIZES) for m in (COUNTS, Y, RATIOS, TOKEN_LABEL))
    means = {count: ratios[x] for x, count in enumerate(c)}
    for x, count in enumerate(c):
        means |= {count * y[k]: matrix[x, k] + ratios[x] / len(y) for k in range(len(y))}
    return sp.expand(average(entry, [*c, *y], means))
