"""The value matrix of the one-layer Transformer: Lemma 4 and its small-embedding form."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import D_K, D, average, entrywise, replaced, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import SLOPES, P, Y
from theory.symbolic.parts import Argument, Check, Step
from theory.symbolic.transformer import (
    FEED_FORWARD,
    LENGTH,
    LENGTH_ARGUMENT,
    MEAN,
    ROWS,
    SCOPE,
    SIZE_ARGUMENT,
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
TABLE = sp.MatrixSymbol("P", D, D)
OCCURRENCES = sp.MatrixSymbol("r", D, 1)
RIGHT = sp.MatrixSymbol("M", D, D_K)
RATE = sp.Symbol("eta", positive=True)


@functools.cache
def lemma_4() -> Derivation:
    """Differentiate the loss of one sequence with respect to the value matrix (eq. 35)."""
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
        compare=entrywise(SIZES),
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
        compare=entrywise(SIZES),
        arguments=(
            Argument(W_EMB, "the embedding matrix, shape (d, d_m) with d = d_m"),
            Argument(TOKEN_LABEL, "the token-label matrix, rows r_s (P^s − u), shape (d, d)"),
            LENGTH_ARGUMENT,
            *(w for w in WEIGHTS if w.symbol != W_V),
        ),
    )


@functools.cache
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


@functools.cache
def theorem_2() -> Derivation:
    """Put embeddings that have grown along their own drive into eq. 38."""
    start, grown, result = _grown_steps()
    centred = TABLE - sp.OneMatrix(D, D) / D
    weights = sp.DiagMatrix(OCCURRENCES)
    return Derivation(
        name="theorem 2",
        equation="Theorem 2, the matrix behind it",
        quantity="dW_V/dt",
        quantity_latex=r"\frac{dW_V}{dt}",
        assumptions=(
            "Those of eq. 38; M is its right factor (W_f + I)ᵀ W_Oᵀ.",
            "w_s = η r_s (P^s − u): the embeddings have grown along their leading drive (paper's form).",
        ),
        scope=(
            "Steps: general entries at d = 3, d_k = 2. The left factor is Σ_s r_s² (P^s − u)ᵀ(P^s − u), "
            "whose top eigenvector is the direction of W_V where M is of full rank and even. What Theorem 2 "
            "says of memory anchors does not follow: predict_value_growth gives both groups' alignment."
        ),
        steps=(start, grown, result),
        result=result.expression,
        statement=RATE / LENGTH * centred.T * weights * weights * centred * RIGHT,
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check("vᵀ(left factor)v is Σ_s r_s² ⟨P^s − u, v⟩², for any v.", _quadratic_form()),
        ),
        arguments=(
            Argument(RATE, "η"),
            LENGTH_ARGUMENT,
            Argument(TABLE, "the label distributions, one row per token, shape (d, d)"),
            Argument(OCCURRENCES, "r_s of every token, shape (d, 1)"),
            Argument(RIGHT, "the right factor, shape (d, d_k)"),
            SIZE_ARGUMENT,
        ),
    )


def _drives() -> sp.Matrix:
    """Return the rows r_s (P^s − u) at the small size."""
    table, ratios = small(TABLE), small(OCCURRENCES)
    return sp.Matrix(*table.shape, lambda s, i: ratios[s] * (table[s, i] - sp.Rational(1, SIZES[D])))


def _grown_steps() -> tuple[Step, Step, Step]:
    w_emb, matrix, right = small(W_EMB), small(TOKEN_LABEL), small(RIGHT)
    start = w_emb.T * matrix * right / LENGTH
    grown = replaced(start, (w_emb, RATE * _drives()))
    return (
        Step("Eq. 38, with M for its right factor.", start),
        Step("The embeddings in proportion to their drives.", grown),
        Step("C has the rows r_s (P^s − u).", replaced(grown, (matrix, _drives()))),
    )


def _quadratic_form() -> sp.Expr:
    v = sp.Matrix(sp.symbols("v_1:4", real=True))
    drives = _drives()
    form = (v.T * drives.T * drives * v)[0]
    return sp.expand(form - sum((drives[s, :] * v)[0] ** 2 for s in range(drives.rows)))
