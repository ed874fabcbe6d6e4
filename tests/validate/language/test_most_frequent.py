"""Which tokens' cosines are observed one by one: the most frequent, without the end of a text."""

from __future__ import annotations

import numpy as np
import pytest

from sim.data.corpus import Corpus
from sim.data.language import END
from validate.observe.language import SHOWN, most_frequent


@pytest.mark.parametrize("n", [SHOWN - 1, SHOWN, SHOWN + 1, SHOWN + 9])
@pytest.mark.parametrize("end", [0, 5, None])
def test_as_many_as_are_shown_by_falling_frequency(n: int, end: int | None) -> None:
    tokens = np.repeat(np.arange(n, dtype=np.int32), np.arange(n, 0, -1))
    words = tuple(END if i == end else f"word {i}" for i in range(n))
    found = most_frequent(Corpus(tokens, np.array([len(tokens)]), words))
    assert found.tolist() == [i for i in range(n) if i != end][:SHOWN]
