"""Controls keep what they say they keep."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from theory import shuffled_tokens
from theory.corpus.sequences import nearest_in_ratio

V = 6
CORPORA = st.lists(st.lists(st.integers(0, V - 1), max_size=7), min_size=1, max_size=8).filter(any)


@given(CORPORA)
def test_shuffling_keeps_unigrams_and_lengths(corpus: list[list[int]]) -> None:
    found = shuffled_tokens(corpus, V, np.random.default_rng(0))
    assert sorted(np.concatenate(found)) == sorted(itertools.chain(*corpus))
    assert [len(s) for s in found] == [len(s) for s in corpus if s]


def test_matched_tokens_are_equally_frequent_and_taken_once() -> None:
    own, other = np.array([100, 50, 10, 0]) / 160, np.array([52, 98, 11, 1, 838]) / 1000
    found = nearest_in_ratio(own, other, np.array([2, 0, 1, 3]), factor=20)
    assert len({b for _, b in found}) == len(found) == 3
    assert [a for a, _ in found] == [0, 1, 2]
    assert found[0] == (0, 4)
    assert nearest_in_ratio(own, own, np.arange(3), 1.25) == [(0, 0), (1, 1), (2, 2)]
    for a, b in nearest_in_ratio(own, other, np.arange(3), 1.5):
        assert abs(np.log(own[a] / other[b])) <= np.log(1.5)
