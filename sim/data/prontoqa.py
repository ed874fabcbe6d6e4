"""Invented texts: true-or-false questions with their chains of thought, and facts about people.

The questions have the form of PrOntoQA (Saparov & He, ICLR 2023): a chain of concepts, each below the next
and below a second one, with one property each; an individual at a concept of the chain; a property some hops
further up that decides the query; and distractors: the second concepts, another fact about the individual,
and a concept elsewhere that has the queried property with the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from sim.seeds import numpy_stream
from theory import InputError
from theory.edge.checked import Size, checked
from theory.edge.checks import Between

CONCEPTS = tuple(
    f"{stem}pus"
    for stem in (
        *("brim", "dum", "gor", "grim", "im", "jom", "lem", "lor", "num"),
        *("rom", "shum", "ster", "tum", "vum", "wum", "yum", "zum"),
    )
)
NAMES = ("Fae", "Max", "Sally", "Wren", "Stella", "Alex", "Rex", "Polly", "Sam")
FAMILIES = (
    ("aggressive", "amenable", "angry", "kind", "mean"),
    ("bitter", "sour", "spicy", "sweet"),
    ("blue", "brown", "orange", "red"),
    ("bright", "dull"),
    ("cold", "hot", "temperate"),
    ("discordant", "loud", "melodic", "muffled"),
    ("earthy", "floral", "fruity"),
    ("fast", "moderate", "slow"),
    ("feisty", "happy", "nervous", "shy"),
    ("large", "small"),
    ("liquid", "luminous", "metallic", "wooden"),
    ("opaque", "transparent"),
    ("overcast", "rainy", "snowy", "sunny", "windy"),
)
"""Adjectives; a question uses at most one of each family, so that no two of its properties clash."""
MOST_HOPS = 5
Hops = Annotated[int, Between(1, MOST_HOPS)]
_NEGATED = 1 / 3
"""The share of properties with "not", except for the pair about the query; published questions have 0.317."""
_LONGER = 0.86
"""How often a chain is drawn, relative to one a concept shorter: fitted to the published questions."""


@dataclass(frozen=True)
class ProntoQuestion:
    """A question with its answer, "True" or "False"."""

    question: str
    """Premises."""
    query: str
    chain_of_thought: tuple[str, ...]
    """A premise about the individual, then a rule and its conclusion for each hop."""
    answer: str
    hops: int

    @property
    def text(self) -> str:
        """All of it as one text."""
        return " ".join([self.question, self.query, *self.chain_of_thought, self.answer])


@checked
def prontoqa_questions(
    n: Size, *, seed: Annotated[int, Between(0)] = 0, hops: Sequence[Hops] = (1, 2, 3, 4, 5)
) -> list[ProntoQuestion]:
    """Return n different questions, with each number of hops in turn.

    Parameters
    ----------
    n : int
    seed : int, optional
        Equal seeds give equal questions.
    hops : sequence of int, optional
        Each from 1 to 5.
    """
    if not len(hops):
        raise InputError("hops", hops, "none", f"give numbers from 1 to {MOST_HOPS}")
    rng = numpy_stream(seed, "data/prontoqa")
    questions: dict[str, ProntoQuestion] = {}
    while len(questions) < n:
        question = _question(rng, int(hops[len(questions) % len(hops)]))
        questions.setdefault(question.question + question.query, question)
    return list(questions.values())


def _question(rng: np.random.Generator, hops: int) -> ProntoQuestion:
    lengths = np.arange(hops, MOST_HOPS + 1)
    weights = _LONGER**lengths
    length = int(rng.choice(lengths, p=weights / weights.sum()))
    names = iter(rng.permutation(CONCEPTS).tolist())
    chain = [next(names) for _ in range(length + 1)]
    beside = [next(names) for _ in range(length)]
    other, above_other, elsewhere = (next(names) for _ in range(3))
    adjectives = (str(rng.choice(family)) for family in rng.permutation(np.array(FAMILIES, object)))
    # One of the two concepts above the chain's last but one has no property.
    bare = (chain, beside)[int(rng.integers(2))][-1]
    bearing = [c for c in (*chain, *beside, other) if c != bare]
    properties = {
        concept: (adjective, bool(rng.random() < _NEGATED))
        for concept, adjective in zip(bearing, adjectives, strict=False)
    }
    start = int(rng.integers(length - hops + 1))
    end = start + hops - 1
    adjective, negated = properties[chain[end]][0], bool(rng.random() < 0.5)
    properties[chain[end]] = (adjective, negated)
    name = str(rng.choice(NAMES))
    up = {low: _rule(rng, low, high) for low, high in pairwise(chain)}
    sides = [_rule(rng, low, high) for low, high in zip(chain[:-1], beside, strict=True)]
    has = {concept: _rule(rng, concept, *of) for concept, of in properties.items()}
    rules = [*up.values(), *sides, *has.values(), _rule(rng, other, above_other)]
    rules.append(_rule(rng, elsewhere, adjective, not negated))
    first = f"{name} is {_article(chain[start])}."
    facts = [first, f"{name} is {_article(other)}."]
    thought = [first]
    for low, high in pairwise(chain[start : end + 1]):
        thought += [up[low], f"{name} is {_article(high)}."]
    thought += [has[chain[end]], f"{name} is {'not ' * negated}{adjective}."]
    asked = bool(rng.random() < 0.5)
    premises = " ".join([*rng.permutation(rules).tolist(), *rng.permutation(facts).tolist()])
    query = f"True or false: {name} is {'not ' * asked}{adjective}."
    return ProntoQuestion(premises, query, tuple(thought), str(asked == negated), hops)


def _rule(rng: np.random.Generator, concept: str, of: str, negated: bool = False) -> str:
    """Return "Each X is a Y.", "Every X is a Y." or, as often as both together, "Xs are Ys."."""
    form, no = rng.integers(4), "not " * negated
    if form > 1:
        return f"{concept.capitalize()}es are {no}{of}{'es' if of in CONCEPTS else ''}."
    return f"{('Each', 'Every')[form]} {concept} is {no}{_article(of) if of in CONCEPTS else of}."


def _article(concept: str) -> str:
    return f"{'an' if concept[0] in 'aeiou' else 'a'} {concept}"


_PEOPLE = 400
_VERBS = ("lives in", "was born in", "works with", "is afraid of", "collects", "sings about")
_WORDS = 150
"""The number of words that each fact is drawn from."""
_SENTENCES = 5
_SYLLABLE = (
    ("b", "br", "d", "f", "g", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"),
    ("a", "e", "i", "o", "u", "au", "ei"),
    ("", "ck", "l", "m", "n", "nd", "r", "rt", "s", "t"),
)


@checked
def toy_facts(n: Size, *, seed: Annotated[int, Between(0)] = 0) -> list[str]:
    """Return n texts, each of five facts about people; a person's facts are the same in all texts.

    Each fact is drawn once and for all, like the labels of a memory mapping (Section 2.1): no fact follows
    from another. These texts are for demonstrations and tests; they do not replace TinyStories.
    """
    rng = numpy_stream(seed, "data/facts")
    invented: dict[str, None] = {}
    while len(invented) < _PEOPLE + _WORDS * len(_VERBS):
        invented["".join(str(rng.choice(part)) for part in 2 * _SYLLABLE)] = None
    words = iter(invented)
    people = [next(words).capitalize() for _ in range(_PEOPLE)]
    facts = {}
    for verb in _VERBS:
        known = [next(words) for _ in range(_WORDS)]
        facts[verb] = [known[i] for i in rng.integers(_WORDS, size=_PEOPLE)]
    texts = []
    for _ in range(n):
        drawn = [(int(rng.integers(_PEOPLE)), _VERBS[rng.integers(len(_VERBS))]) for _ in range(_SENTENCES)]
        texts.append(" ".join(f"{people[who]} {verb} {facts[verb][who]}." for who, verb in drawn))
    return texts
