"""A toy text beside PrOntoQA: a register of invented people, of whom nothing follows from anything else.

Where an answer of PrOntoQA follows by rules from the premises, each fact here is drawn once and for all, as
the labels of a memory mapping are (Section 2.1). A stand-in for demonstrations and tests, and no TinyStories.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sim.seeds import numpy_stream
from theory.checked import Between, Size, checked

_STARTS = ("b", "br", "d", "f", "g", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_MIDDLES = ("a", "e", "i", "o", "u", "au", "ei")
_ENDS = ("", "ck", "l", "m", "n", "nd", "r", "rt", "s", "t")
_FACTS = {
    "lives in": 150,
    "was born in": 150,
    "works with": 150,
    "is afraid of": 150,
    "collects": 150,
    "sings about": 150,
}
"""What is said of a person, and among how many words each fact is drawn."""
PEOPLE = 400
_SENTENCES = 5


@checked
def toy_facts(n: Size, *, seed: Annotated[int, Between(0)] = 0) -> list[str]:
    """Return n texts, each of five facts about people; a person's facts are the same in all of them."""
    rng = numpy_stream(seed, "data/facts")
    words = iter(_words(PEOPLE + sum(_FACTS.values()), rng))
    people = [next(words).capitalize() for _ in range(PEOPLE)]
    facts = {}
    for verb, size in _FACTS.items():
        known = [next(words) for _ in range(size)]
        facts[verb] = [known[i] for i in rng.integers(size, size=PEOPLE)]
    verbs = list(facts)
    texts = []
    for _ in range(n):
        told = [(int(rng.integers(PEOPLE)), verbs[int(rng.integers(len(verbs)))]) for _ in range(_SENTENCES)]
        texts.append(" ".join(f"{people[who]} {verb} {facts[verb][who]}." for who, verb in told))
    return texts


def _words(n: int, rng: np.random.Generator) -> list[str]:
    """Return n different invented words of two syllables."""

    def syllable() -> str:
        return "".join(str(rng.choice(part)) for part in (_STARTS, _MIDDLES, _ENDS))

    words: dict[str, None] = {}
    while len(words) < n:
        words[syllable() + syllable()] = None
    return list(words)
