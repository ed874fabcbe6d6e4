"""Counts of a corpus against enumeration; what controls keep; predictors' rows against autograd."""

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests.theory.corpus.test_corpus_geometry import plain
from theory import as_matrix, bigram_operator, context_operator, corpus_counts, top_singular
from theory.corpus.sequences import nearest_in_ratio

V = 7
CORPORA = st.lists(st.lists(st.integers(0, V - 1), max_size=6), max_size=8).filter(
    lambda corpus: any(len(s) > 1 for s in corpus)
)
DRAWN = [np.random.default_rng(0).integers(0, 9, size=n % 7) for n in range(60)]


def same(a: theory.CorpusCounts, b: theory.CorpusCounts) -> bool:
    return (
        (a.pairs != b.pairs).nnz == 0  # type: ignore[attr-defined]
        and np.array_equal(a.unigrams, b.unigrams)
        and a.n_sequences == b.n_sequences
    )


@given(CORPORA)
def test_counts_and_operators_are_those_of_enumeration(corpus: list[list[int]]) -> None:
    counts, expected = corpus_counts(corpus, V), plain(corpus, V)
    assert np.array_equal(counts.pairs.toarray(), expected.pairs)
    assert counts.n_pairs == expected.pairs.sum()
    assert np.array_equal(counts.unigrams, np.bincount(list(itertools.chain(*corpus)), minlength=V))
    for operator, matrix in (
        (bigram_operator(counts), expected.C),
        (context_operator(corpus, V), expected.context),
    ):
        assert as_matrix(operator) == pytest.approx(matrix, abs=1e-15)
        assert operator.rmatmat(np.eye(V)) == pytest.approx(matrix.T, abs=1e-15)
    half = len(corpus) // 2
    if any(len(s) > 1 for s in corpus[:half]) and any(len(s) > 1 for s in corpus[half:]):
        assert same(corpus_counts(corpus[:half], V) + corpus_counts(corpus[half:], V), counts)
    # Of sequences of two tokens the second is the label: C is that of eq. (5).
    pairs = np.array([p for s in corpus for p in itertools.pairwise(s)])
    assert theory.token_label_matrix(pairs[:, :1], pairs[:, 1], V) == pytest.approx(expected.C, abs=1e-15)
    for token in np.flatnonzero(counts.inputs):
        row = expected.pairs[token]
        assert counts.label_distribution(int(token)) == pytest.approx(row / row.sum())


@given(CORPORA)
def test_the_types_of_integers_change_nothing(corpus: list[list[int]]) -> None:
    """Nor does a mixture of them, where the common type of some is a float."""
    types = (np.uint64, np.int64, np.uint8)
    mixed = [np.array(s, types[k % 3]) for k, s in enumerate(corpus)]
    assert same(corpus_counts(mixed, V), corpus_counts(corpus, V))
    assert np.concatenate(theory.shuffled_tokens(mixed, V, np.random.default_rng(0))).dtype.kind in "iu"
    tokens, labels = np.array([p for s in corpus for p in itertools.pairwise(s)]).T
    of_types = [theory.pair_counts(tokens.astype(a), labels.astype(b), V) for a in types for b in types]
    assert all(same(found, of_types[0]) for found in of_types)


def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, vectors = corpus_counts(DRAWN, 9), np.random.default_rng(1).standard_normal((9, 4))
    C = context_operator(DRAWN, 9)
    products = C @ vectors, C.rmatmat(vectors)
    for name, size in (("counts._BLOCK", 3), ("operators._BLOCK", 10), ("operators._ENTRIES", 20)):
        monkeypatch.setattr(f"theory.corpus.{name}", size)
    assert same(corpus_counts(iter(DRAWN), 9), counts)
    C = context_operator(DRAWN, 9)
    again = C @ vectors, C.rmatmat(vectors)
    assert np.array(again) == pytest.approx(np.array(products), abs=1e-13)


def test_a_large_vocabulary_needs_no_matrix() -> None:
    """50 257 tokens: sparse solvers find what a dense decomposition finds for the tokens that occur."""
    V = 50_257
    used = np.random.default_rng(4).choice(V, size=9, replace=False)
    small, large = corpus_counts(DRAWN, 9), corpus_counts([used[s] for s in DRAWN], V)
    C = np.zeros((9, V))
    C[:, used] = small.joint.toarray()
    C -= small.ratios[:, None] / V
    left, values, right = top_singular(bigram_operator(large), 4)
    assert values == pytest.approx(np.linalg.svd(C, compute_uv=False)[:4], rel=1e-9)
    diagonal = left[used].T @ C @ right.T
    assert diagonal == pytest.approx(np.diag(values), abs=1e-12)
    # Φ is 0 outside the tokens that occur, and its columns are centred over the whole vocabulary.
    Phi = np.zeros((V, 9))
    Phi[used] = plain(DRAWN, 9).uncentred
    # Where every token is followed by all alike, C is 0.
    left, values, right = top_singular(bigram_operator(theory.pair_counts([0, 0, 1, 1], [0, 1, 0, 1], 2)), 1)
    assert (left.tolist(), values.tolist(), right.tolist()) == ([[1], [0]], [0], [[1, 0]])
    context = top_singular(context_operator([used[s] for s in DRAWN], V), 3)[1]
    assert context == pytest.approx(np.linalg.svd(Phi - Phi.mean(axis=0), compute_uv=False)[:3], rel=1e-9)


@given(CORPORA)
def test_shuffling_keeps_unigrams_and_lengths(corpus: list[list[int]]) -> None:
    found = theory.shuffled_tokens(corpus, V, np.random.default_rng(0))
    assert sorted(np.concatenate(found)) == sorted(itertools.chain(*corpus))
    assert [len(s) for s in found] == [len(s) for s in corpus if s]


def test_matched_tokens_are_equally_frequent_and_taken_once() -> None:
    own, other = np.array([100, 50, 10, 0]) / 160, np.array([52, 98, 11, 1, 838]) / 1000
    found = nearest_in_ratio(own, other, np.array([2, 0, 1, 3]), factor=20)
    assert len({b for _, b in found}) == len(found) == 3
    assert [a for a, _ in found] == [0, 1, 2]
    assert found[0] == (0, 4)
    assert nearest_in_ratio(own, own, np.arange(3), 1.25) == [(0, 0), (1, 1), (2, 2)]
    assert nearest_in_ratio(own, other, np.arange(3), 1.5) == [(0, 4), (2, 0)]  # Ratios 1.34 and 1.2; no 2.9.


DOCUMENTS = [np.random.default_rng(i).integers(0, V, size=2 + i % 6).tolist() for i in range(20)]
BEFORE = [s[:k] for s in DOCUMENTS for k in range(1, len(s))]
NEXT = torch.tensor([token for s in DOCUMENTS for token in s[1:]])
EYE = torch.eye(V, dtype=torch.float64)
LAST, AVERAGE = (
    torch.stack([EYE[s[of]].mean(dim=0) for s in BEFORE]) for of in (slice(-1, None), slice(None))
)
C = as_matrix(bigram_operator(corpus_counts(DOCUMENTS, V)))
CONTEXT = as_matrix(context_operator(DOCUMENTS, V)).T
Matrix = npt.NDArray[np.float64]
CASES: dict[str, tuple[torch.Tensor, int, Callable[[Matrix, Matrix], Matrix]]] = {
    "bigram": (LAST, 0, lambda W, U: C @ U.T),
    "readout": (LAST, 1, lambda W, U: W.T @ C),
    "context": (AVERAGE, 0, lambda W, U: CONTEXT @ U.T),
    "tied": (LAST, 0, lambda W, U: (C + C.T) @ W),
}
"""What a position shows, which of the embedding and the read-out is driven, and its drive."""


@pytest.mark.parametrize("name", CASES)
def test_the_drive_is_the_predictors_rows_times_a_shared_matrix(name: str) -> None:
    """The relative error falls as the square of the scale: logits are quadratic in it."""
    features, which, predicted = CASES[name]
    rng = np.random.default_rng(0)
    start = rng.standard_normal((V, 5)), rng.standard_normal((5, V))
    errors = []
    for scale in (2e-2, 1e-2):
        W, U = (torch.tensor(scale * matrix, requires_grad=True) for matrix in start)
        logits = features @ W @ (W.T if name == "tied" else U)
        torch.nn.functional.cross_entropy(logits, NEXT).backward()
        gradient = (W, U)[which].grad
        expected = predicted(W.detach().numpy(), U.detach().numpy())
        errors.append(np.linalg.norm(-gradient.numpy() - expected) / np.linalg.norm(expected))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
