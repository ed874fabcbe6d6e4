r"""The geometry that a corpus predicts for the embedding of its tokens, each number with its standard error.

At vanishing initial scale and p ≈ u, the drive of token s's embedding is a row D_s times a matrix that all
tokens share; if that matrix is random and isotropic, cosines and relative lengths of the embeddings'
displacements are those of the rows:

- ``bigram``: C_s = r_s (P^s − u). One layer without attention, or attention that adds nothing yet; untied
  read-out (eq. 5).
- ``marginal``: r_s (P^s − P̄), P̄ the distribution of all next tokens: after the common part of the labels is
  fitted.
- ``tied``: row s of C + Cᵀ. With W_U = W_Eᵀ, dW_E/dt = (C + Cᵀ) W_E at leading order, which is linear.
- ``readout``: column s of C: the drive of the token's read-out vector, and the part that the read-out adds to
  a
  tied embedding. A rare token's column is nearly −r/V, the same for all of them.
- ``context``: row s of E cᵀ(y − u), c the average of the tokens so far: the part of the drive that comes
  through
  averaged attention (Φ̄ᵀ, Lemma 1), in place of the token's own residual.

All are sums over documents, and all rows are taken without the part of their inner products that a document's
products with itself make (``theory.corpus.moments``). Standard errors are those of the jackknife over 20 sets
of documents, which are taken as independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, FloatArray, Integer
from theory.checked import Size, check_tokens, checked
from theory.corpus.moments import Entries, InnerProducts, document_moments, inner_products
from theory.corpus.sequences import Block, Tokens, no_pairs
from theory.display import Shown, spread
from theory.errors import InputError
from theory.labels.sampled_labels import N_BLOCKS, SampledValue
from theory.memory import check_memory
from theory.shapes.cosines import off_diagonal

CorpusPredictor = Literal["bigram", "marginal", "tied", "readout", "context"]
PREDICTORS: tuple[CorpusPredictor, ...] = get_args(CorpusPredictor)
FEWEST_DOCUMENTS = 2 * N_BLOCKS
"""Documents that a standard error needs."""


@dataclass(frozen=True, eq=False, repr=False)
class CorpusGeometry(Shown):
    """Predicted geometry of some tokens' embeddings.

    Attributes
    ----------
    tokens : tuple of int
    predictor : str
    cosine : SampledValue of shape (n, n)
        NaN where a token occurs in fewer than two documents, or no signal is left above the noise. Estimates
        beyond ±1 are cut to it; standard errors are those of the estimates before.
    mean_cosine : SampledValue of shape ()
        The mean over all pairs of different tokens whose cosine is defined; its error is as above.
    growth : SampledValue of shape (n,)
        ‖D_s‖, the speed at which a token's embedding leaves its initial value, in units that all tokens
        share.
    apart : SampledValue of shape (n, n)
        ‖D_s − D_t‖², without bias; it may be negative.
    """

    tokens: tuple[int, ...]
    predictor: str
    cosine: SampledValue
    mean_cosine: SampledValue
    growth: SampledValue
    apart: SampledValue

    @cached_property
    def departs(self) -> FloatArray:
        r"""When each embedding has moved as far as its initial length, shape (n,).

        With :math:`w_s(t) = w_s(0) + t D_s W`, W isotropic and :math:`|w_s(0)|` equal for all tokens, that
        time is proportional to 1/‖D_s‖; the unit is that of the first of these tokens.
        """
        return _inverse(np.nanmax(self.growth.value, initial=0.0), self.growth.value)

    @cached_property
    def distinct(self) -> FloatArray:
        r"""When the corpus, not the initial draw, sets the difference of two embeddings, shape (n, n).

        The difference starts with length :math:`\sqrt 2 |w_s(0)|` and the corpus adds :math:`t |D_s - D_t|`:
        the time at which both are equal, in the unit of ``departs``. Infinite where ‖D_s − D_t‖² lies within
        two standard errors of 0; NaN on the diagonal.
        """
        squares, error = self.apart.value, self.apart.standard_error
        sure = np.where(squares > 2 * error, np.sqrt(np.maximum(squares, 0.0)), 0.0)
        sure = np.where(np.isnan(squares), np.nan, sure)
        np.fill_diagonal(sure, np.nan)
        return _inverse(np.sqrt(2) * np.nanmax(self.growth.value, initial=0.0), sure)

    @property
    def distinct_from_all(self) -> FloatArray:
        """The latest time of ``distinct`` over all other tokens, shape (n,)."""
        times = self.distinct.copy()
        np.fill_diagonal(times, -np.inf)
        return np.asarray(times.max(axis=1))

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        mean, error = self.mean_cosine.value, self.mean_cosine.standard_error
        title = f"{len(self.tokens)} tokens, predictor {self.predictor}; mean cosine {mean:.3f} ± {error:.3f}"
        rows = [
            [str(self.tokens[i]), f"{self.growth.value[i]:.3g}", f"{self.departs[i]:.3g}"]
            for i in spread(len(self.tokens))
        ]
        return title, ["token", "growth", "departs"], rows


def _inverse(unit: float, speed: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(unit / speed)


@checked
def corpus_geometry(
    sequences: Any,
    vocab_size: Size,
    tokens: Integer[ArrayLike, " n"],
    predictor: CorpusPredictor = "bigram",
) -> CorpusGeometry:
    """Predict the cosines of some tokens' embeddings, and how fast each grows, in one pass over a corpus.

    Parameters
    ----------
    sequences : iterable of array_like of int
        The documents, which are taken as independent.
    vocab_size : int
        V; tokens are 0..V−1.
    tokens : array_like of int, shape (n,)
        The tokens to predict, none twice.
    predictor : {"bigram", "marginal", "tied", "readout", "context"}, optional
        Which rows are compared; see the module.

    Raises
    ------
    InputError
        If there are fewer than 40 documents, a token is named twice or does not occur.
    """
    wanted = check_tokens("tokens", tokens, vocab_size)
    whole, *without = (
        _geometry(predictor, products, wanted)
        for products in _inner_products(sequences, vocab_size, wanted, predictor, N_BLOCKS)
    )
    cosine, growth, apart = (_sampled(value, parts) for value, *parts in zip(whole, *without, strict=True))
    mean = _sampled(_mean_of_pairs(whole[0]), [_mean_of_pairs(part[0]) for part in without])
    return CorpusGeometry(
        tuple(wanted.tolist()),
        predictor,
        SampledValue(_cut(cosine.value), cosine.standard_error),
        SampledValue(_mean_of_pairs(_cut(cosine.value)), mean.standard_error),
        growth,
        apart,
    )


def corpus_cosines(
    sequences: Any, vocab_size: int, tokens: Tokens, predictor: CorpusPredictor = "bigram"
) -> FloatArray:
    """Return the cosines of ``corpus_geometry`` alone, without errors: for hundreds of tokens."""
    (found,) = _inner_products(sequences, vocab_size, tokens, predictor, 1)
    return _cut(_geometry(predictor, found, tokens)[0])


def _cut(cosines: FloatArray) -> FloatArray:
    """Return what is shown of estimated cosines, which may lie beyond ±1."""
    return np.asarray(np.clip(cosines, -1.0, 1.0))


def _mean_of_pairs(cosines: FloatArray) -> FloatArray:
    """Return the mean over pairs of what is no NaN, shape ()."""
    pairs = off_diagonal(cosines)
    defined = pairs[np.isfinite(pairs)]
    return np.asarray(defined.mean() if defined.size else np.nan)


def _inner_products(
    sequences: Any, vocab_size: int, tokens: Tokens, predictor: CorpusPredictor, n_parts: int
) -> list[InnerProducts]:
    """Return inner products of the tokens' rows, and of the reference's, which is last."""
    row_of = np.full(vocab_size, -1)
    row_of[tokens] = np.arange(len(tokens))
    if len(np.unique(tokens)) < len(tokens):
        raise InputError("tokens", tokens.tolist(), "a token twice", "name each once")
    n = len(tokens) + 1
    check_memory(
        "tokens", len(tokens), 48 * n_parts * n * (n + vocab_size // 8), "predicting", "ask for fewer"
    )
    n_documents = 0

    def entries(block: Block) -> Entries:
        nonlocal n_documents
        n_documents += len(block.lengths)
        return _ENTRIES[predictor](block, row_of, n, vocab_size)

    parts = document_moments(sequences, vocab_size, n, entries, n_parts)
    if n_documents < FEWEST_DOCUMENTS:
        problem = "too few documents to tell how sure a cosine is"
        raise InputError(
            "sequences", n_documents, problem, f"give {FEWEST_DOCUMENTS} or more, or split long ones"
        )
    if not any(part.mass[-1] for part in parts):
        raise no_pairs()
    return inner_products(parts)


def _sampled(value: FloatArray, replicates: list[FloatArray]) -> SampledValue:
    """Return a value with the standard error that its values without each set of documents give it."""
    found = np.array(replicates)
    spread = ((found - found.mean(axis=0)) ** 2).sum(axis=0)
    error = np.asarray(np.sqrt(spread * (len(found) - 1) / len(found)))
    # What does not depend on the documents differs between the sets by rounding alone.
    scale = np.abs(found).max(axis=0)
    return SampledValue(value, np.where(error <= 1e-13 * scale, 0.0, error))


def _places(block: Block, values: Tokens, vocab_size: int) -> npt.NDArray[np.int64]:
    return block.sequence_of_pair * vocab_size + values


def _bigram_entries(block: Block, row_of: Tokens, n: int, vocab_size: int) -> Entries:
    """Return each pair as an entry of its first token's row; the reference row counts all labels."""
    rows = row_of[block.inputs]
    places, known = _places(block, block.labels, vocab_size), rows >= 0
    return (
        np.concatenate([places[known], places]),
        np.concatenate([rows[known], np.full(len(places), n - 1)]),
        np.ones(int(known.sum()) + len(places)),
    )


def _tied_entries(block: Block, row_of: Tokens, n: int, vocab_size: int) -> Entries:
    """Return each pair as an entry of both its tokens' rows; the reference row counts all inputs."""
    before, behind = row_of[block.inputs], row_of[block.labels]
    inputs, labels = (_places(block, values, vocab_size) for values in (block.inputs, block.labels))
    places = np.concatenate([labels[before >= 0], inputs[behind >= 0], inputs])
    rows = np.concatenate([before[before >= 0], behind[behind >= 0], np.full(len(inputs), n - 1)])
    return places, rows, np.ones(len(rows))


def _readout_entries(block: Block, row_of: Tokens, n: int, vocab_size: int) -> Entries:
    """Return each pair as an entry of its second token's row; the reference row counts all inputs."""
    rows, places = row_of[block.labels], _places(block, block.inputs, vocab_size)
    return (
        np.concatenate([places[rows >= 0], places]),
        np.concatenate([rows[rows >= 0], np.full(len(places), n - 1)]),
        np.ones(int((rows >= 0).sum()) + len(places)),
    )


def _context_entries(block: Block, row_of: Tokens, n: int, vocab_size: int) -> Entries:
    """Return the share of each token in each averaged context, at the entry of the label behind it."""
    places, labels = np.unique(_places(block, block.labels, vocab_size), return_inverse=True)
    sums = np.zeros((len(places), n))
    sums[:, -1] = np.bincount(labels, minlength=len(places))
    rows = row_of[block.inputs]
    for row in np.unique(rows[rows >= 0]):
        context = block.running_sum((rows == row).astype(np.float64)[:, None])[:, 0] / block.positions
        sums[:, row] = np.bincount(labels, context, len(places))
    place, row = np.nonzero(sums)
    return places[place], row, sums[place, row]


_ENTRIES: dict[CorpusPredictor, Callable[[Block, Tokens, int, int], Entries]] = {
    "bigram": _bigram_entries,
    "marginal": _bigram_entries,
    "tied": _tied_entries,
    "readout": _readout_entries,
    "context": _context_entries,
}


def _geometry(
    predictor: CorpusPredictor, found: InnerProducts, tokens: Tokens
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return cosines (not cut to ±1), lengths and squared distances of the rows.

    A row is :math:`m_s (p_s - \alpha_s u - \beta_s \bar p)/n`.
    All of p_s, u and the reference p̄ sum to 1, so that every inner product with u is 1/V.
    """
    inner, mass, n_pairs = found.inner, found.mass[:-1], found.mass[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha, beta = _centring(predictor, found, tokens)
        crossed = np.outer(inner[:-1, -1], beta)
        products = inner[:-1, :-1] - crossed - crossed.T + np.outer(beta, beta) * inner[-1, -1]
        uniform = np.outer(alpha, 1 - beta)
        products -= (uniform + uniform.T - np.outer(alpha, alpha)) / len(found.last)
        products *= np.outer(mass, mass) / n_pairs**2
        squares = np.diagonal(products)
        lengths = np.sqrt(squares)
        cosines = products / np.outer(lengths, lengths)
    return cosines, lengths, squares[:, None] + squares - 2 * products


def _centring(
    predictor: CorpusPredictor, found: InnerProducts, tokens: Tokens
) -> tuple[FloatArray, FloatArray]:
    """Return α and β of each row."""
    mass, n_pairs = found.mass[:-1], found.mass[-1]
    one, zero = np.ones(len(mass)), np.zeros(len(mass))
    if predictor == "marginal":
        return zero, one
    if predictor == "readout":
        return zero, n_pairs / (len(found.last) * mass)
    if predictor == "tied":
        # Of its mass, a row has found.last[s] from the row of C and the rest from the column.
        return found.last[tokens] / mass, n_pairs / (len(found.last) * mass)
    return one, zero
