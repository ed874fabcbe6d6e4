"""Controls keep what they say they keep."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import InputError, frequency_matched, limited_corpus, shuffled_tokens

V = 6
CORPORA = st.lists(st.lists(st.integers(0, V - 1), max_size=7), min_size=1, max_size=8).filter(any)


@given(CORPORA)
def test_shuffling_keeps_unigrams_and_lengths(corpus: list[list[int]]) -> None:
    found = shuffled_tokens(corpus, V, np.random.default_rng(0))
    assert sorted(np.concatenate(found)) == sorted(itertools.chain(*corpus))
    assert [len(s) for s in found] == [len(s) for s in corpus if s]


@given(CORPORA, st.integers(1, V))
def test_a_limited_corpus_invents_no_pair(corpus: list[list[int]], n_distinct: int) -> None:
    present = len({*itertools.chain(*corpus)})
    if n_distinct > present:
        with pytest.raises(InputError, match=f"the corpus has {present} distinct tokens"):
            limited_corpus(corpus, V, n_distinct)
        return
    found = [s.tolist() for s in limited_corpus(corpus, V, n_distinct)]
    kept = {*itertools.chain(*found)}
    assert len(kept) == n_distinct
    whole = list(itertools.chain(*corpus))
    assert min(whole.count(t) for t in kept) >= max([whole.count(t) for t in {*whole} - kept], default=0)
    pairs = [p for s in corpus for p in itertools.pairwise(s) if kept.issuperset(p)]
    assert sorted(p for s in found for p in itertools.pairwise(s)) == sorted(pairs)


def test_matched_tokens_are_equally_frequent_and_taken_once() -> None:
    own, other = [100, 50, 10, 0], [52, 98, 11, 1, 1000 - 162]
    found = frequency_matched(own, [n * 7 for n in other], [2, 0, 1, 3], factor=20)
    assert len({b for _, b in found}) == len(found) == 3
    shares = np.array(own) / sum(own), np.array(other) / sum(other)
    assert [a for a, _ in found] == [0, 1, 2]
    assert found[0] == (0, 4)
    for a, b in frequency_matched(own, own, [0, 1, 2]):
        assert a == b
    for a, b in frequency_matched(own, other, [0, 1, 2], factor=1.5):
        assert abs(np.log(shares[0][a] / shares[1][b])) <= np.log(1.5)
    with pytest.raises(InputError, match="not all of them 0"):
        frequency_matched([0, 0], [1], [0])
