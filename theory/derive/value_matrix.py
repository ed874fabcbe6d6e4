"""The value matrix of the one-layer Transformer: Lemma 4, its small-embedding form, and Theorem 2."""

from __future__ import annotations

import sympy as sp

from theory.derive import transformer
from theory.derive.algebra import D_K, D, average_drive, entrywise, replaced
from theory.derive.derivation import Derivation, Step, derived
from theory.derive.emb_mlp import SLOPES, P, Y
from theory.derive.generating import N_Z
from theory.derive.transformer import FEED_FORWARD, LENGTH, MEAN, SCOPE, SIZES, W_O, W_V, small

TOKEN_LABEL, W_EMB, TABLE = (sp.MatrixSymbol(name, D, D) for name in ("C", "W_emb", "P"))
RATIOS, COUNTS, MEAN_LABELS, MEAN_ANCHOR, IS_KEY = (
    sp.MatrixSymbol(name, 1, D) for name in ("r", "c", "Y", "w_A", "z")
)
OCCURRENCES = sp.MatrixSymbol("r", D, 1)
RIGHT = sp.MatrixSymbol("M", D, D_K)
RATE = sp.Symbol("eta", positive=True)
RIGHT_ARGUMENT = {RIGHT: "the right factor, shape (d, d_k)"}


@derived("lemma 4", "Lemma 4, eq. 35", "The gradient flow of the value matrix, exactly", "eq 35")
def lemma_4() -> Derivation:
    """Differentiate the loss of one sequence with respect to the value matrix (eq. 35)."""
    inner = transformer.feed_forward_steps()
    mean, value, output, last = small(MEAN, W_V, W_O, transformer.X_LAST)
    entering = mean * value * output + last
    jacobian = entering.jacobian(list(value))
    flat = inner[-1].expression * jacobian
    return Derivation(
        quantity="dW_V/dt, the share of one sequence (the flow is the mean over all sequences)",
        assumptions=(
            "Definition 2 with any attention: m = A_L X, and A_L does not depend on W_V.",
            "σ is differentiable; S is the row of slopes. The form without S is the case S = 1.",
        ),
        scope=SCOPE,
        steps=(
            Step("The feed-forward part's input.", entering),
            *inner,
            Step("The Jacobian of that input with respect to the entries of W_V, row by row.", jacobian),
            Step("The chain rule, in the shape of W_V.", flat.reshape(*value.shape)),
        ),
        statement=MEAN.T * transformer.GRADIENT_AT_INPUT * W_O.T,
        compare=entrywise(SIZES),
        arguments={
            MEAN: "A_L X, shape (1, d_m)",
            **transformer.ROW_ARGUMENTS,
            **transformer.FEED_ARGUMENTS,
            **transformer.OUTPUT_ARGUMENT,
        },
    )


@derived("eq 38", "Eq. 36-38", "The value matrix's flow at small embeddings", "eq 36", "eq 37")
def eq_38() -> Derivation:
    """Let the embeddings in Lemma 4 be small and average over the data (eq. 36-38)."""
    return Derivation(
        quantity="dW_V/dt",
        assumptions=(
            "Small embeddings, averaged attention (A_L = 1/L), σ(0) = 0, σ'(0) = 1.",
            "C = E[cᵀ(y − u)], with rows r_s (P^s − u), so that W_embᵀ C = Σ_s r_s w_sᵀ (P^s − u).",
        ),
        scope=SCOPE,
        steps=_small_steps(),
        statement=W_EMB.T * TOKEN_LABEL * FEED_FORWARD * W_O.T / LENGTH,
        compare=entrywise(SIZES),
        arguments={
            W_EMB: "the embedding matrix, shape (d, d_m) with d = d_m",
            TOKEN_LABEL: "the token-label matrix, rows r_s (P^s − u), shape (d, d)",
            **transformer.LENGTH_ARGUMENT,
            **transformer.FEED_ARGUMENTS,
            **transformer.OUTPUT_ARGUMENT,
        },
    )


def _small_steps() -> tuple[Step, ...]:
    p, slopes, mean, counts, w_emb = small(P, SLOPES, MEAN, COUNTS, W_EMB)
    uniform, ones = sp.ones(1, SIZES[D]) / SIZES[D], sp.ones(*slopes.shape)
    limit = replaced(lemma_4().result, (p, uniform), (slopes, ones))
    averaged = replaced(limit, (mean, counts * w_emb / LENGTH))
    drive = average_drive(averaged, counts, *small(Y, RATIOS, TOKEN_LABEL))
    return (
        Step("Lemma 4 with the limits found for eq. 29: p uniform, S all ones.", limit),
        Step("Averaged attention: A_L X = c W_emb / L, where c counts the tokens of the sequence.", averaged),
        Step("Average over the data: E[c_x (y_k − 1/d)] is C.", drive),
    )


@derived(
    "theorem 2 matrix",
    "Beyond the paper: the matrix behind Theorem 2, at any N_Z",
    "The value matrix grows along the anchors' shared direction",
)
def theorem_2_matrix() -> Derivation:
    """Put embeddings that have grown along their own drive into eq. 38."""
    w_emb, matrix, right = small(W_EMB, TOKEN_LABEL, RIGHT)
    start = w_emb.T * matrix * right / LENGTH
    grown = replaced(start, (w_emb, RATE * drives()))
    centred, weights = TABLE - sp.OneMatrix(D, D) / D, sp.DiagMatrix(OCCURRENCES)
    return Derivation(
        quantity="dW_V/dt",
        assumptions=(
            "Those of eq. 38; M is its right factor (W_f + I)ᵀ W_Oᵀ.",
            "w_s = η r_s (P^s − u): the embeddings have grown along their leading drive (paper's form).",
        ),
        scope=(
            "Steps: general entries at d = 3, d_k = 2. The left factor is Σ_s r_s² (P^s − u)ᵀ(P^s − u), "
            "whose top eigenvector is the direction of W_V where M has full rank and equal singular values. "
            "What Theorem 2 says about memory anchors follows only at N_Z = d_m; predict_value_growth gives "
            "the alignments."
        ),
        steps=(
            Step("Eq. 38, with M for its right factor.", start),
            Step("With embeddings in proportion to their drives.", grown),
            Step("C has the rows r_s (P^s − u).", replaced(grown, (matrix, drives()))),
        ),
        statement=RATE / LENGTH * centred.T * weights * weights * centred * RIGHT,
        compare=entrywise(SIZES),
        arguments={
            RATE: "η",
            **transformer.LENGTH_ARGUMENT,
            TABLE: "the label distributions, one row per token, shape (d, d)",
            OCCURRENCES: "r_s of every token, shape (d, 1)",
            **RIGHT_ARGUMENT,
            **transformer.SIZE_ARGUMENT,
        },
    )


def drives() -> sp.Matrix:
    """Return the rows r_s (P^s − u) at the small size."""
    table, ratios = small(TABLE, OCCURRENCES)
    return sp.Matrix(*table.shape, lambda s, i: ratios[s] * (table[s, i] - sp.Rational(1, SIZES[D])))


@derived("theorem 2", "Theorem 2", "With N_Z = d_m the value matrix grows along the mean reasoning anchor")
def theorem_2() -> Derivation:
    """Follow the printed proof: a product of means replaces a mean of products; memory has no drive."""
    anchor, labels, keys, right = small(MEAN_ANCHOR, MEAN_LABELS, IS_KEY, RIGHT)
    mean = (anchor + RATE * memory_drive(keys)) / 2
    product = mean.T * labels * right
    everywhere = dict.fromkeys(keys, 1) | {N_Z: SIZES[D]}
    return Derivation(
        quantity="dW_V/dt",
        assumptions=(
            "n, γ → ∞ and N_Z = d_m: every coordinate is a key.",
            "w_s = η (P^s − u), where η stands for the step, r_s/L and the matrices that follow; r_s is the "
            "same for all tokens, and half of the sequences are reasoning sequences.",
            "The mean over tokens of w_sᵀ (P^s − u) is replaced by the product of the two means: their "
            "covariance over tokens is left out; theorem_2_terms gives its size.",
            "w_A is the mean embedding of a reasoning anchor, Y the mean of label − u over all sequences, "
            "M = (W_f + I)ᵀ W_Oᵀ.",
        ),
        scope="Steps: general entries at d = 3, d_k = 2. Statement: any size.",
        steps=(
            Step("The drive of a memory token, z_i being 1 where i is a key.", memory_drive(keys)),
            Step("The mean embedding: half reasoning, half memory.", mean),
            Step("Eq. 38 with the product of the means.", product),
            Step(
                "With N_Z = d_m the drive of memory vanishes.", product.subs(everywhere).applyfunc(sp.expand)
            ),
        ),
        statement=MEAN_ANCHOR.T * MEAN_LABELS * RIGHT / 2,
        compare=entrywise(SIZES),
        arguments={
            MEAN_ANCHOR: "E[w_A], the mean embedding of a reasoning anchor, shape (1, d)",
            MEAN_LABELS: "E[label − u] over all sequences, shape (1, d)",
            **RIGHT_ARGUMENT,
        },
    )


def memory_drive(keys: sp.Matrix) -> sp.Matrix:
    """Return δ_Z/N_Z − u for a row that is 1 at the keys."""
    return keys / N_Z - sp.ones(*keys.shape) / len(keys)
