"""A toy text for tests: sentences by a small grammar, in which some words are interchangeable."""

from __future__ import annotations

import numpy as np

ANIMALS, VERBS, PLACES = ("dog", "cat", "fox"), ("sees", "likes"), ("hill", "lake", "wood")


def toy_documents(n: int, seed: int = 0) -> list[str]:
    """Return n documents of three sentences each."""
    rng = np.random.default_rng(seed)

    def sentence() -> str:
        one, other = rng.choice(ANIMALS, 2)
        return f"The {one} {rng.choice(VERBS)} the {other} at a {rng.choice(PLACES)}."

    return [" ".join(sentence() for _ in range(3)) for _ in range(n)]
