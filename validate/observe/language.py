"""The observables of a language model's run: corpora, their predictions, the embedding at snapshots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import entr

from sim.data.corpus import OTHER, Corpus
from sim.data.language import END
from sim.runs.run import Run
from sim.seeds import numpy_stream
from theory import CorpusCounts, corpus_counts, corpus_gram, corpus_mean_cosine, shuffled_tokens
from theory.corpus.counts import CountPredictor
from theory.corpus.sequences import nearest_in_ratio
from theory.edge.arrays import FloatArray, IntArray

SHOWN = 40
"""The most frequent words of each corpus, whose cosines are observed one by one."""
MATCHED = 1.25
"""The largest ratio of the frequencies of two tokens that are called equally frequent."""
PREDICTORS: tuple[CountPredictor, ...] = ("tied", "bigram", "marginal", "readout")


def observe_language(run: Run) -> dict[str, FloatArray]:
    """Return the observables of a language model's run.

    For each corpus NAME, over its k most frequent words, SHOWN at most, and all its distinct tokens:

    - "cosine/NAME" (E, k, k) of the words' embeddings, "cosine/centred/NAME" of these minus their mean;
    - "mean_cosine/NAME" (E,) over all its tokens, "mean_cosine_centred/NAME" minus the mean of all corpora's;
    - of the first two corpora "matched/NAME" (m,), tokens that only one of them has, in pairs of equal
      frequency, and "mean_cosine_matched/NAME" (E,) over these; neither where there are fewer than two pairs;
    - "predicted/PREDICTOR/NAME", "predicted/PREDICTOR/centred/NAME" (k, k) and
      "predicted_mean/PREDICTOR/NAME" (): from the counts of all corpora together, as the model sees them;
      "control/..." and "control_mean/..." from shuffled text;
    - "entropy/NAME" (2,): of a token, and of a token given the one before it, in nats.
    """
    corpora = run.corpora()
    shown = {name: most_frequent(corpus) for name, corpus in corpora.items()}
    every = {name: _distinct(corpus) for name, corpus in corpora.items()}
    arrays = {f"entropy/{name}": next_token_entropies(corpus) for name, corpus in corpora.items()}
    rng = numpy_stream(run.config.seed, "observe/shuffled")
    shuffled = {}
    for name, corpus in corpora.items():
        tokens = np.concatenate(shuffled_tokens(corpus, corpus.vocab_size, rng))
        shuffled[name] = Corpus(tokens.astype(np.int32), corpus.ends, corpus.words)
    arrays |= _predicted(_counts(corpora), shown, every, "predicted")
    arrays |= _predicted(_counts(shuffled), shown, every, "control")
    matched = _matched(corpora)
    arrays |= {f"matched/{name}": tokens.astype(np.float64) for name, tokens in matched.items()}
    snapshots = [_geometry(run.embedding(epoch), shown, every, matched) for epoch in run.snapshot_epochs]
    return arrays | {name: np.stack([each[name] for each in snapshots]) for name in snapshots[0]}


def next_token_entropies(corpus: Corpus) -> FloatArray:
    """Return the entropies, in nats, of the next token, alone and given its predecessor, shape (2,).

    They are the losses of the best models that know this text's token frequencies, and its pair frequencies.
    """
    counts = corpus_counts(corpus, corpus.vocab_size)
    each = (counts.labels, counts.pairs.data, counts.inputs)
    token, pair, first = (float(entr(own / own.sum()).sum()) for own in each)
    return np.array([token, pair - first])


def _counts(corpora: Mapping[str, Corpus]) -> CorpusCounts:
    counted = [corpus_counts(corpus, corpus.vocab_size) for corpus in corpora.values()]
    return sum(counted[1:], start=counted[0])


def most_frequent(corpus: Corpus) -> IntArray:
    """Return a corpus's SHOWN most frequent tokens, whose cosines are observed one by one."""
    return np.array([t for t in corpus.most_frequent(SHOWN + 1) if corpus.words[t] != END][:SHOWN])


def _distinct(corpus: Corpus) -> IntArray:
    special = [number for number, word in enumerate(corpus.words) if word in (END, OTHER)]
    return np.setdiff1d(np.flatnonzero(corpus.counts), special)


def _matched(corpora: Mapping[str, Corpus]) -> dict[str, IntArray]:
    """Return tokens of the first two corpora, in pairs that occur equally often; none that both contain.

    The embedding sees the corpora together: frequency is the number of occurrences, regardless of a corpus's
    length, and a token of both belongs to neither.
    """
    if len(corpora) < 2:
        return {}
    (first, one), (second, other), *_ = corpora.items()
    one_tokens, other_tokens = _distinct(one), _distinct(other)
    is_other = np.isin(np.arange(other.vocab_size), np.setdiff1d(other_tokens, one_tokens))
    others = np.where(is_other, other.counts, 0)
    pairs = nearest_in_ratio(one.counts, others, np.setdiff1d(one_tokens, other_tokens), MATCHED)
    if len(pairs) < 2:
        return {}
    return dict(zip((first, second), np.array(pairs).T, strict=True))


def _predicted(
    counts: CorpusCounts, shown: Mapping[str, IntArray], every: Mapping[str, IntArray], kind: str
) -> dict[str, FloatArray]:
    arrays = {}
    for predictor in PREDICTORS:
        for name, tokens in shown.items():
            gram = corpus_gram(counts, tokens, predictor)
            arrays[f"{kind}/{predictor}/{name}"] = cosines_of_gram(gram, mean_removed=False)
            arrays[f"{kind}/{predictor}/centred/{name}"] = cosines_of_gram(gram, mean_removed=True)
            mean = corpus_mean_cosine(counts, every[name], predictor)
            arrays[f"{kind}_mean/{predictor}/{name}"] = np.asarray(mean)
    return arrays


def _geometry(
    embedding: FloatArray,
    shown: Mapping[str, IntArray],
    every: Mapping[str, IntArray],
    matched: Mapping[str, IntArray],
) -> dict[str, FloatArray]:
    centre = embedding[np.unique(np.concatenate(list(every.values())))].mean(axis=0)
    arrays = {f"mean_cosine_matched/{n}": _mean_cosine(embedding[tokens]) for n, tokens in matched.items()}
    for name, tokens in shown.items():
        gram = embedding[tokens] @ embedding[tokens].T
        arrays[f"cosine/{name}"] = cosines_of_gram(gram, mean_removed=False)
        arrays[f"cosine/centred/{name}"] = cosines_of_gram(gram, mean_removed=True)
        arrays[f"mean_cosine/{name}"] = _mean_cosine(embedding[every[name]])
        arrays[f"mean_cosine_centred/{name}"] = _mean_cosine(embedding[every[name]] - centre)
    return arrays


def cosines_of_gram(gram: FloatArray, mean_removed: bool) -> FloatArray:
    """Return cosines from inner products of rows, or of rows minus their mean; 0 for a zero row."""
    rounding = 1e-14 * np.diagonal(gram)  # The remainder of a row that equals the mean.
    if mean_removed:
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    lengths = np.sqrt(np.where(np.diagonal(gram) > rounding, np.diagonal(gram), np.inf))
    return np.asarray(np.clip(gram / np.outer(lengths, lengths), -1.0, 1.0))


def _mean_cosine(rows: FloatArray) -> FloatArray:
    """Return the mean cosine of all pairs of non-zero rows, without computing any pair."""
    rows = rows[rows.any(axis=1)]
    total, n = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=0), len(rows)
    return np.asarray((total @ total - n) / (n * (n - 1)))
