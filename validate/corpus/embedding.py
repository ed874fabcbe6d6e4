"""``compare_embedding``: a corpus's prediction beside any embedding, by frequency, with a control."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from sim.data.corpus import Corpus
from theory import CorpusCounts, InputError, corpus_counts, corpus_gram, pair_counts, shuffled_tokens
from theory.corpus.counts import CountPredictor
from theory.edge.checked import Size, checked
from theory.edge.checks import Between, check_tokens
from validate.corpus.association import MEASURES, NOTES, Association, Associations, associate_rows, named_json
from validate.corpus.checkpoint import as_matrix_of_rows, read_embedding
from validate.terminal.output import Table

PREDICTORS: tuple[CountPredictor, ...] = get_args(CountPredictor)
BANDS = (1, 5, 20, 100, 1000)
"""Numbers of occurrences at which bands begin."""
_MOST = 4000
"""The most tokens compared at once: 16 million pairs."""


class Comparison(NamedTuple):
    """One predictor over one set of tokens; ``mean_removed``: after the tokens' mean row is subtracted."""

    predictor: CountPredictor
    tokens: str
    mean_removed: bool
    association: Association


@dataclass(frozen=True, repr=False)
class EmbeddingComparison(Associations):
    """Predicted against observed cosines; print it.

    Attributes
    ----------
    comparisons : tuple of Comparison
    n_controls : int
        Shuffled corpora behind the control.
    """

    comparisons: tuple[Comparison, ...]
    n_controls: int

    def table(self) -> Table:
        """Return one line per comparison."""
        lines = []
        for c in self.comparisons:
            name = c.predictor + ", mean removed" * c.mean_removed
            lines.append([name, c.tokens, str(c.association.n_tokens), *c.association.cells()])
        title = f"cosines predicted from the text against the embedding's; controls: {self.n_controls}"
        spare = ("n", "observed", "mean", "Spearman", "control")
        return Table(title, ("predictor", "tokens", "n", *MEASURES), lines, spare, NOTES)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; undefined values are null."""
        lines = [named_json(each) for each in self.comparisons]
        schema = "anchorflow/embedding-comparison/1"
        return {"schema": schema, "controls": self.n_controls, "comparisons": lines}


@checked
def compare_embedding(
    embedding: Any,
    corpus: Any,
    *,
    tensor: str | None = None,
    predictors: Sequence[CountPredictor] = PREDICTORS,
    tokens: Sequence[int] = (),
    top: Annotated[int, Between(2, _MOST)] = 500,
    bands: Sequence[int] = BANDS,
    controls: Size = 3,
    padded: bool = False,
    seed: Annotated[int, Between(0)] = 0,
) -> EmbeddingComparison:
    """Compare predicted cosines of a corpus with the cosines of any trained embedding.

    Parameters
    ----------
    embedding : array_like, Tensor, Embedding, or path of a safetensors file
        One row per token, shape (V, d).
    corpus : Corpus, list or tuple
        The training data. A list holds token sequences; a tuple holds tokens, shape (n,) or (n, L), and their
        labels, shape (n,).
    tensor : str, optional
        The tensor's name in the file.
    predictors : sequence of {"bigram", "marginal", "tied", "readout"}, optional
        See ``theory.corpus_geometry``.
    tokens : sequence of int, optional
        The tokens to compare, in place of the most frequent ones and the bands.
    top : int, optional
        The most tokens in a set: the most frequent ones, and from each band as many, drawn at random.
    bands : sequence of int, optional
        Increasing numbers of occurrences at which bands begin.
    controls : int, optional
        Shuffled corpora to average; shuffling keeps only frequencies. For (tokens, labels), the labels are
        shuffled.
    padded : bool, optional
        Allow an embedding of more rows than there are tokens.
    seed : int, optional
        Seed of the control, the draws and the jackknife's groups.
    """
    if isinstance(embedding, (str, os.PathLike)):
        rows = read_embedding(embedding, tensor)
    elif tensor is None:
        rows = as_matrix_of_rows("an array", embedding)
    else:
        raise InputError("tensor", tensor, "the embedding is not a file", "leave it out")
    if not predictors:
        raise InputError("predictors", predictors, "none", f"name some of {', '.join(PREDICTORS)}")
    if any(b < 1 for b in bands) or any(b >= c for b, c in itertools.pairwise(bands)):
        raise InputError("bands", bands, "not increasing numbers from 1", "give e.g. (1, 5, 20)")
    rng = np.random.default_rng(seed)
    corpora = counts_and_controls(corpus, len(rows), padded, controls, rng)
    comparisons = []
    for name, chosen in token_sets(corpora[0], tokens, top, bands, rng):
        for predictor in predictors:
            grams = [corpus_gram(each, chosen, predictor) for each in corpora]
            comparisons += [
                Comparison(predictor, name, removed, associate_rows(rows, chosen, grams, removed, seed))
                for removed in (False, True)
            ]
    return EmbeddingComparison(tuple(comparisons), controls)


def counts_and_controls(
    corpus: Any, n_rows: int, padded: bool, n_controls: int, rng: np.random.Generator
) -> list[CorpusCounts]:
    """Return the counts of a corpus and of ``n_controls`` shufflings of it."""
    if isinstance(corpus, tuple) and len(corpus) == 2:
        tokens, labels = corpus
        counts = pair_counts(tokens, labels, n_rows)
        shuffled = (rng.permutation(np.asarray(labels)) for _ in range(n_controls))
        return [counts, *(pair_counts(tokens, text, n_rows) for text in shuffled)]
    V = corpus.vocab_size if isinstance(corpus, Corpus) else n_rows
    if n_rows < V or (n_rows > V and not padded):
        padding = ", or padded=True (--padded)" if n_rows > V else ""
        remedy = f"use the tokenizer that it was trained with{padding}"
        raise InputError("embedding", n_rows, f"rows for a vocabulary of {V}", remedy)
    # The first pass would exhaust an iterator.
    sequences = corpus if isinstance(corpus, Corpus) or not isinstance(corpus, Iterable) else list(corpus)
    texts = (shuffled_tokens(sequences, V, rng) for _ in range(n_controls))
    return [corpus_counts(text, n_rows) for text in (sequences, *texts)]


def token_sets(
    counts: CorpusCounts, tokens: Sequence[int], top: int, bands: Sequence[int], rng: np.random.Generator
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return names and tokens of the sets to compare; a band of fewer than two tokens is left out."""
    if len(tokens) > _MOST:
        raise InputError("tokens", len(tokens), "too many at once", f"name at most {_MOST}")
    if tokens:
        chosen = np.unique(check_tokens("tokens", tokens, counts.vocab_size))
        if len(chosen) < 2:
            raise InputError("tokens", tokens, "fewer than two", "name more")
        return [("chosen", chosen)]
    often = counts.unigrams
    order = np.argsort(-often, kind="stable")
    sets = [("most frequent", order[: min(top, np.count_nonzero(often))])]
    for low, high in itertools.pairwise([*bands, math.inf]):
        band = np.flatnonzero((often >= low) & (often < high))
        name = f"{low} or more" if high == math.inf else f"{low} to {high - 1}"
        if len(band) > 1:
            sets.append((name, rng.permutation(band)[:top]))
    return sets
