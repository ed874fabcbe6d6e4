"""Predicted cosines of tokens: free of the sampling's bias, with standard errors that are true."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest

import theory
from theory import corpus_geometry, cosine_matrix, off_diagonal
from theory.corpus.rows import CorpusPredictor
from theory.edge.arrays import FloatArray

V = 12
TRANSITIONS = np.random.default_rng(0).dirichlet(np.full(V, 0.4), size=V)
TRANSITIONS[1] = 0.9 * TRANSITIONS[0] + 0.1 * TRANSITIONS[1]
TOKENS = np.arange(6)


@dataclass(frozen=True)
class Plain:
    """A small corpus position by position: its counts, C, and Φ before and after its columns are centred."""

    pairs: FloatArray
    C: FloatArray
    uncentred: FloatArray

    @property
    def context(self) -> FloatArray:
        return self.uncentred - self.uncentred.mean(axis=0)


def plain(sequences: Sequence[Sequence[int]], vocab_size: int) -> Plain:
    pairs, context = np.zeros((2, vocab_size, vocab_size))
    for sequence in sequences:
        for k in range(1, len(sequence)):
            average = np.bincount(sequence[:k], minlength=vocab_size) / k
            pairs[sequence[k - 1], sequence[k]] += 1
            context[sequence[k]] += average
    n = pairs.sum()
    r = pairs.sum(axis=1) / n
    return Plain(pairs, pairs / n - r[:, None] / vocab_size, context / n)


def markov(
    rng: np.random.Generator, transitions: FloatArray, n: int, length: int
) -> list[npt.NDArray[np.int64]]:
    """Return n independent chains of one length, each from a token drawn uniformly."""
    chains = np.empty((n, length), np.int64)
    chains[:, 0] = rng.integers(len(transitions), size=n)
    cumulative = transitions.cumsum(axis=1)
    for k in range(1, length):
        drawn = rng.random(n)[:, None] * (1 - 1e-12)
        chains[:, k] = (cumulative[chains[:, k - 1]] <= drawn).sum(axis=1)
    return list(chains)


def compared(joint: FloatArray, context: FloatArray, predictor: CorpusPredictor) -> FloatArray:
    """Return the rows that a predictor compares: by the frequencies of pairs, and by the mean contexts."""
    r, labels = joint.sum(axis=1), joint.sum(axis=0)
    C = joint - r[:, None] / len(joint)
    return {
        "bigram": C,
        "marginal": joint - np.outer(r, labels),
        "tied": C + C.T,
        "readout": C.T,
        "context": context,
    }[predictor]


def rows(
    sequences: list[npt.NDArray[np.int64]], predictor: CorpusPredictor, vocab_size: int = V
) -> FloatArray:
    found = plain([s.tolist() for s in sequences], vocab_size)
    return compared(found.pairs / found.pairs.sum(), found.context.T, predictor)


def true_rows(predictor: CorpusPredictor, length: int) -> FloatArray:
    """Return these rows for infinitely many chains, from the distribution of their states."""
    powers = [np.linalg.matrix_power(TRANSITIONS, k) for k in range(length + 1)]
    occupied = [power.mean(axis=0) for power in powers]
    joint, context = np.zeros((2, V, V))
    for k in range(1, length):
        joint += occupied[k - 1][:, None] * TRANSITIONS / (length - 1)
        for m in range(1, k + 1):
            context += occupied[m - 1][:, None] * powers[k + 1 - m] / k / (length - 1)
    return compared(joint, context - context.sum(axis=1)[:, None] / V, predictor)


@pytest.mark.parametrize("predictor", get_args(CorpusPredictor))
def test_many_documents_give_the_cosines_of_the_definition(predictor: CorpusPredictor) -> None:
    """Where each document is repeated, what a document makes with itself is a vanishing part."""
    documents = markov(np.random.default_rng(1), TRANSITIONS, 60, 9)
    found = corpus_geometry([d for d in documents for _ in range(40)], V, TOKENS, predictor)
    D = rows(documents, predictor)[TOKENS]
    assert found.cosine.value == pytest.approx(cosine_matrix(D), abs=0.05)
    assert found.growth.value == pytest.approx(np.linalg.norm(D, axis=1), rel=0.02)
    assert found.mean_cosine.value == pytest.approx(off_diagonal(found.cosine.value).mean())


@pytest.mark.parametrize("predictor", ["bigram", "marginal", "tied", "readout"])
def test_the_mean_over_all_tokens_is_that_of_the_plain_rows(predictor: CorpusPredictor) -> None:
    documents = [*markov(np.random.default_rng(6), TRANSITIONS, 7, 5), np.array([0, 3])]
    counts = theory.corpus_counts(documents, V + 2)
    D = rows(documents, predictor, V + 2)
    D = D[np.linalg.norm(D, axis=1) > 1e-12]
    found = theory.corpus_mean_cosine(counts, range(V + 2), predictor)
    assert found == pytest.approx(off_diagonal(cosine_matrix(D)).mean(), abs=1e-12)


@cache
def small_corpora(n: int, length: int) -> list[list[npt.NDArray[np.int64]]]:
    """Return n corpora of 400 chains, which every predictor reads."""
    rng = np.random.default_rng(2)
    return [markov(rng, TRANSITIONS, 400, length) for _ in range(n)]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "predictor",
    [p if p == "bigram" else pytest.param(p, marks=pytest.mark.slow) for p in get_args(CorpusPredictor)],
)
def test_small_corpora_have_no_bias_and_their_errors_are_true(predictor: CorpusPredictor) -> None:
    length, n = 6, 30
    D = true_rows(predictor, length)[TOKENS]
    truth = off_diagonal(cosine_matrix(D))
    geometries = [corpus_geometry(documents, V, TOKENS, predictor) for documents in small_corpora(n, length)]
    found = np.array([off_diagonal(g.cosine.value) for g in geometries])
    errors = np.array([off_diagonal(g.cosine.standard_error) for g in geometries])
    deviations = (found.mean(axis=0) - truth) / (found.std(axis=0, ddof=1) / np.sqrt(n))
    assert np.sqrt(np.mean(deviations**2)) < 2
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.sqrt(found.var(axis=0).mean()), rel=0.3)
    growth = np.mean([g.growth.value**2 for g in geometries], axis=0)
    assert growth == pytest.approx((D**2).sum(axis=1), rel=0.25)


def test_tokens_leave_and_part_in_the_predicted_order() -> None:
    """Eq. (5) with a wide random read-out: the times are those at which the frozen flow does it."""
    documents = markov(np.random.default_rng(3), TRANSITIONS, 100, 9)
    C = rows(documents, "bigram")
    predicted = corpus_geometry([d for d in documents for _ in range(40)], V, np.arange(V))
    initial = theory.EmbMLPParameters.draw(V, d_m=2000, d_f=2000, init_rate=0.8, rng=np.random.default_rng(4))
    displaced = theory.frozen_flow(C, initial, np.array([0.0, 1.0])).kept["W_emb"][-1] - initial.W_emb
    leaving = np.linalg.norm(initial.W_emb, axis=1) / np.linalg.norm(displaced, axis=1)
    assert leaving / leaving.min() == pytest.approx(predicted.departs, rel=0.1)
    for s, t in itertools.combinations(range(V), 2):
        start, apart = (np.linalg.norm(W[s] - W[t]) for W in (initial.W_emb, displaced))
        assert start / apart / leaving.min() == pytest.approx(predicted.distinct[s, t], rel=0.15)


def test_a_cosine_that_is_cut_to_one_keeps_its_standard_error() -> None:
    """Tokens 0 and 1 have one label distribution: the estimate exceeds 1 in about half of such corpora."""
    same = np.vstack([TRANSITIONS[:1], TRANSITIONS[:1], TRANSITIONS[2:]])
    rng = np.random.default_rng(8)
    found = [corpus_geometry(markov(rng, same, 400, 6), V, [0, 1]) for _ in range(20)]
    cut = [g.cosine.value[0, 1] == 1 for g in found]
    assert 0.2 < np.mean(cut) < 0.8
    errors = np.array([g.cosine.standard_error[0, 1] for g in found])
    assert errors[cut].min() > 0.2 * np.median(errors)
    assert [g.mean_cosine.standard_error for g in found] == pytest.approx(errors)
    assert all(g.mean_cosine.value == g.cosine.value[0, 1] for g in found)


def test_an_error_that_no_document_shows_is_unknown() -> None:
    """Tokens 12 and 13 stand in three documents each, always before token 0."""
    documents = markov(np.random.default_rng(5), TRANSITIONS, 300, 9) + [[12, 0], [13, 0]] * 3
    found = corpus_geometry(documents, V + 2, [0, 12, 13])
    assert found.cosine.value[1, 2] == pytest.approx(1)
    assert np.isnan(found.cosine.standard_error).tolist() == [
        [False] * 3,
        [False, False, True],
        [False, True, False],
    ]
    assert not found.is_sure[1, 2]
    alike = corpus_geometry([[0, 1, 2, 0, 3]] * 40, 4, [0, 1, 2])
    assert np.isfinite(alike.mean_cosine.value)
    assert np.isnan(alike.mean_cosine.standard_error)


def test_neighbours_are_the_largest_cosines() -> None:
    documents = markov(np.random.default_rng(5), TRANSITIONS, 3000, 9)
    found = theory.nearest_tokens(documents, V, 0, np.arange(V), 4)
    every = corpus_geometry(documents, V, np.arange(V)).cosine.value[0]
    assert found.tokens == (0, *(1 + np.argsort(-every[1:])[:4]).tolist())
    assert found.tokens[1] == 1
    assert found.cosine.value[0, 1:] == pytest.approx(np.sort(every[1:])[::-1][:4])


def test_neighbours_too_rare_to_rank_come_last() -> None:
    """Tokens 12 to 27 stand in two documents each, so that no error of their cosines can be computed."""
    rng = np.random.default_rng(3)
    documents = [[s, s // 4 + 8, s, rng.integers(8, 12)] for s in rng.integers(0, 8, 300).tolist()]
    documents += [[s, rng.integers(8, 12)] for s in range(12, 28) for _ in range(2)]
    found = theory.nearest_tokens(documents, 28, 0, np.arange(28), 12)
    assert {*found.tokens[1:8]} == {*range(1, 8)}
    assert found.is_sure[0, 1:8].all()
    assert np.all(np.diff(found.cosine.value[0, 1:8]) <= 0)
    assert found.tokens[8] >= 12
    assert found.cosine.value[0, 8] > found.cosine.value[0, 4]  # By cosine alone it would stand among them.
    assert np.isnan(found.distinct[0]).tolist() == [token == 0 or token >= 12 for token in found.tokens]


def test_a_pair_is_distinct_beyond_two_standard_errors() -> None:
    found = corpus_geometry(markov(np.random.default_rng(3), TRANSITIONS, 60, 5), V, np.arange(V))
    sure = found.apart.value > 2 * found.apart.standard_error
    between = (found.apart.value > found.apart.standard_error) & ~sure
    off = ~np.eye(V, dtype=bool)
    assert between[off].any()
    assert np.array_equal(np.isfinite(found.distinct)[off], sure[off])


def test_a_small_row_is_a_row() -> None:
    """Labels that differ from the mean by a thousandth."""
    pairs = [[0, 2]] * 500 + [[0, 3]] * 501 + [[1, 2]] * 501 + [[1, 3]] * 500
    counts = theory.corpus_counts(pairs, 4)
    assert (np.diagonal(theory.corpus_gram(counts, [0, 1], "marginal")) > 0).all()
    assert theory.corpus_mean_cosine(counts, [0, 1], "marginal") == pytest.approx(-1)


def test_a_row_of_rounding_is_none() -> None:
    """Tokens of one label distribution do not differ from the mean, nor uniform labels from u."""
    rng = np.random.default_rng(9)
    for size in range(3, 23):
        counts = np.outer(rng.integers(1, 9, size=3), rng.integers(1, 9, size=size))
        inputs, labels = np.repeat(np.argwhere(counts), counts.ravel(), axis=0).T
        alike = theory.pair_counts(inputs, labels, size)
        assert not np.diagonal(theory.corpus_gram(alike, [0, 1, 2], "marginal")).any()
        uniform = theory.pair_counts(np.append(np.zeros(size, int), 1), np.append(np.arange(size), 0), size)
        assert np.diagonal(theory.corpus_gram(uniform, [0, 1])).astype(bool).tolist() == [False, True]


def test_a_token_that_is_not_driven_has_no_time() -> None:
    """The only input's labels are the mean."""
    assert np.isnan(corpus_geometry([[0, 1]] * 40, 2, [0], "marginal").departs)
