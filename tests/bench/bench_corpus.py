"""How fast a corpus is counted: tokens per second of one core, as the package counts and otherwise."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import corpus_counts

VOCABULARY = 50_257
N_TOKENS = 8_000_000
_BLOCK = 2**21


def bench_corpus() -> dict[str, Any]:
    """Return millions of tokens per second of processor time; independent Zipf tokens, the hardest to count.

    A real corpus has far fewer distinct pairs than these, of which nearly every second one is new.
    """
    tokens = zipf_tokens(0, N_TOKENS)
    texts = np.split(tokens, range(200, N_TOKENS, 200))
    work: dict[str, Callable[[], object]] = {
        "corpus_counts (SciPy sparse), texts of 200": lambda: corpus_counts(texts, VOCABULARY),
        "the same, one text": lambda: corpus_counts([tokens], VOCABULARY),
        "NumPy unique of i V + j, blocks not merged": lambda: _unique(tokens),
    }
    found = {name: _rate(call) for name, call in work.items()}
    return {"what": f"counting {N_TOKENS:,} tokens of {VOCABULARY:,}, million tokens/s and core"} | found


def zipf_tokens(seed: int, n_tokens: int) -> npt.NDArray[np.int32]:
    """Return independent tokens whose frequencies obey Zipf's law."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    drawn = np.random.default_rng(seed).choice(VOCABULARY, size=n_tokens, p=weights / weights.sum())
    return drawn.astype(np.int32)


def _unique(tokens: npt.NDArray[np.int32]) -> None:
    for start in range(0, N_TOKENS, _BLOCK):
        block = tokens[start : start + _BLOCK + 1].astype(np.int64)
        np.unique(block[:-1] * VOCABULARY + block[1:], return_counts=True)


def _rate(call: Callable[[], object], rounds: int = 3) -> dict[str, float]:
    rates = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        rates.append(N_TOKENS / (time.process_time() - start) / 1e6)
    return {"median": statistics.median(rates), "min": min(rates), "max": max(rates)}
