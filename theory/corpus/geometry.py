"""The geometry that a corpus predicts for the embedding of its tokens, each number with its standard error.

Cosines and relative lengths of the embeddings' displacements are those of rows of the corpus (``rows``).
They are sums over documents, and their inner products leave out each document's products with itself
(``moments``). Standard errors come from the jackknife over 20 sets of documents, taken as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from theory.corpus.moments import Entries, InnerProducts, document_moments, inner_products
from theory.corpus.rows import CorpusPredictor, context_entries, pair_entries, row_geometry
from theory.corpus.sequences import Block, Tokens, check_repeatable, no_pairs
from theory.edge.arrays import ArrayLike, BoolArray, FloatArray, Integer
from theory.edge.checked import Size, checked
from theory.edge.checks import check_tokens
from theory.edge.display import Shown, spread
from theory.edge.errors import InputError, check_memory
from theory.edge.settled import falling
from theory.labels.sampled import N_BLOCKS, SampledValue, jackknife
from theory.shapes.cosines import off_diagonal

FEWEST_DOCUMENTS = 2 * N_BLOCKS
"""The fewest documents that a standard error needs."""


@dataclass(frozen=True, eq=False, repr=False)
class CorpusGeometry(Shown):
    """Predicted geometry of some tokens' embeddings.

    Attributes
    ----------
    tokens : tuple of int
    predictor : str
    cosine : SampledValue of shape (n, n)
        NaN where a token occurs in fewer than two documents, or no signal is left above the noise. Estimates
        beyond ±1 are clipped to ±1; their standard errors are computed before clipping, and NaN where no set
        of documents changes the cosine.
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
        r"""The time in which each embedding moves by its initial norm, shape (n,).

        With :math:`w_s(t) = w_s(0) + t D_s W`, W isotropic and :math:`|w_s(0)|` equal for all tokens, that
        time is proportional to 1/‖D_s‖; the unit is the time of the first token to depart.
        """
        return _inverse(np.nanmax(self.growth.value, initial=0.0), self.growth.value)

    @cached_property
    def distinct(self) -> FloatArray:
        r"""The time from which the corpus, not the initial draw, separates two embeddings, shape (n, n).

        The difference of two embeddings has length :math:`\sqrt 2 |w_s(0)|` at the start, and the corpus adds
        :math:`t |D_s - D_t|`: the time at which both are equal, in the unit of ``departs``. Infinite where
        ‖D_s − D_t‖² lies within two standard errors of 0; NaN on the diagonal and where the error is.
        """
        squares, error = self.apart.value, self.apart.standard_error
        sure = np.where(squares > 2 * error, np.sqrt(np.maximum(squares, 0.0)), 0.0)
        sure = np.where(np.isnan(squares + error), np.nan, sure)
        np.fill_diagonal(sure, np.nan)
        return _inverse(np.sqrt(2) * np.nanmax(self.growth.value, initial=0.0), sure)

    @property
    def is_sure(self) -> BoolArray:
        """Whether each cosine is more than two standard errors from zero, shape (n, n)."""
        return np.asarray(2 * self.cosine.standard_error < np.abs(self.cosine.value))

    @property
    def distinct_from_all(self) -> FloatArray:
        """The latest time of ``distinct`` over all other tokens, shape (n,); NaN for a single token."""
        times = self.distinct.copy()
        if len(times) == 1:
            return np.full(1, np.nan)
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
    with np.errstate(divide="ignore", invalid="ignore"):
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
        The documents, which are taken as independent; at least 40.
    vocab_size : int
        V; tokens are 0..V−1.
    tokens : array_like of int, shape (n,)
        The tokens to predict, none twice.
    predictor : {"bigram", "marginal", "tied", "readout", "context"}, optional
        Which rows are compared; see ``theory.corpus.rows``.
    """
    wanted = check_tokens("tokens", tokens, vocab_size)
    whole, *without = (
        row_geometry(predictor, products, wanted)
        for products in _products(sequences, vocab_size, wanted, predictor, N_BLOCKS, "tokens")
    )
    cosine, growth, apart = (jackknife(value, parts) for value, *parts in zip(whole, *without, strict=True))
    # That no set of documents disagrees does not say how sure a cosine is: two words may stand three times
    # each, always before the same third.
    unseen = (cosine.standard_error == 0) & ~np.eye(len(wanted), dtype=bool)
    errors = np.where(unseen, np.nan, cosine.standard_error)
    mean = jackknife(_mean_of_pairs(whole[0]), [_mean_of_pairs(part[0]) for part in without])
    # Estimated cosines may lie beyond ±1.
    shown = np.asarray(np.clip(cosine.value, -1.0, 1.0))
    return CorpusGeometry(
        tuple(wanted.tolist()),
        predictor,
        SampledValue(shown, errors),
        SampledValue(_mean_of_pairs(shown), np.where(mean.standard_error == 0, np.nan, mean.standard_error)),
        growth,
        apart,
    )


@checked
def nearest_tokens(
    sequences: Any,
    vocab_size: Size,
    token: int,
    candidates: Integer[ArrayLike, " k"],
    n: Size = 10,
    predictor: CorpusPredictor = "bigram",
) -> CorpusGeometry:
    """Return the geometry of a token and the n candidates of the largest predicted cosine with it.

    The first pass over the corpus ranks the candidates, the second computes the errors of three times as many
    as are kept, and the third the geometry of those kept: first those that are surely near, then those too
    rare to rank. The largest of many uncertain cosines are on average larger than the same ones in another,
    similar corpus.

    Parameters
    ----------
    sequences, vocab_size, predictor
        As in ``corpus_geometry``; sequences that can be read twice.
    token : int
    candidates : array_like of int
        Ranked where their cosine is defined; the token itself is passed over.
    n : int, optional

    Returns
    -------
    CorpusGeometry
        The token first, then its neighbours by falling cosine: first all whose cosine is surely positive.
    """
    check_repeatable(sequences)
    (wanted,) = check_tokens("token", token, vocab_size)
    others = np.setdiff1d(check_tokens("candidates", candidates, vocab_size), [wanted])
    if not others.size:
        raise InputError("candidates", np.size(candidates), "none but the token itself", "give more")
    tokens = np.concatenate([[wanted], others])
    (products,) = _products(sequences, vocab_size, tokens, predictor, 1, "candidates")
    cosines = np.clip(row_geometry(predictor, products, tokens)[0][0, 1:], -1.0, 1.0)
    order = falling(cosines)[: min(3 * n, int(np.isfinite(cosines).sum()))]
    if not order.size:
        problem = "too rare to compare with any candidate"
        remedy = "choose a more frequent one, or other candidates"
        raise InputError("token", int(wanted), problem, remedy)
    near = others[order]
    found = corpus_geometry(sequences, vocab_size, [wanted, *near], predictor)
    is_near = found.is_sure[0, 1:] & (found.cosine.value[0, 1:] > 0)
    ranked = near[np.argsort(~is_near, kind="stable")]
    return corpus_geometry(sequences, vocab_size, [wanted, *ranked[:n]], predictor)


def _products(
    sequences: Any, vocab_size: int, tokens: Tokens, predictor: CorpusPredictor, n_parts: int, argument: str
) -> list[InnerProducts]:
    """Return inner products of the tokens' rows and of the reference row, which is last."""
    if len(np.unique(tokens)) < len(tokens):
        raise InputError("tokens", tokens.tolist(), "repeats a token", "name each once")
    n = len(tokens) + 1
    needed = 48 * n_parts * n * (n + vocab_size // 8)
    check_memory(argument, len(tokens), needed, "predicting", "ask for fewer")
    row_of, n_documents = np.full(vocab_size, -1), 0
    row_of[tokens] = np.arange(len(tokens))

    def entries(block: Block) -> Entries:
        nonlocal n_documents
        n_documents += len(block.lengths)
        if predictor == "context":
            return context_entries(block, row_of, n, vocab_size)
        return pair_entries(block, row_of, n, vocab_size, predictor)

    parts = document_moments(sequences, vocab_size, n, entries, n_parts)
    if n_documents < FEWEST_DOCUMENTS:
        problem = "too few documents for a standard error"
        remedy = f"give {FEWEST_DOCUMENTS} or more, or split long ones"
        raise InputError("sequences", n_documents, problem, remedy)
    if not any(part.mass[-1] for part in parts):
        raise no_pairs()
    return inner_products(parts)


def _mean_of_pairs(cosines: FloatArray) -> FloatArray:
    """Return the mean over the pairs that are defined, shape ()."""
    pairs = off_diagonal(cosines)
    defined = pairs[np.isfinite(pairs)]
    return np.asarray(defined.mean() if defined.size else np.nan)
