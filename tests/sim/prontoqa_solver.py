"""An independent solver of the questions: it reads the sentences and knows nothing of how they were made."""

from __future__ import annotations

import re
from collections.abc import Iterable

Statement = tuple[str, str, bool, bool]
"""Subject, what is said of it, whether that is a concept, and whether it is negated."""


def singular(word: str) -> str:
    return word.removesuffix("es") if word.endswith("puses") else word


def parse(sentence: str) -> Statement:
    words = sentence.rstrip(".").split()
    if words[0] in ("Each", "Every"):
        words = words[1:]
    assert words[1] in ("is", "are"), sentence
    rest = [word for word in words[2:] if word not in ("not", "a", "an")]
    assert len(rest) == 1, sentence
    said = singular(rest[0])
    subject = singular(words[0].lower()) if words[0].lower().endswith(("pus", "puses")) else words[0]
    return subject, said, said.endswith("pus"), "not" in words


def sentences(text: str) -> list[str]:
    return re.findall(r"[^.]+\.", text.replace(". ", "."))


def consequences(premises: Iterable[Statement]) -> set[Statement]:
    """Return all that follows about individuals, by applying every rule until nothing new appears."""
    premises = set(premises)
    known = {p for p in premises if not p[0].endswith("pus")}
    while True:
        new = {
            (name, said, concept, negated)
            for name, held, is_concept, _ in known
            if is_concept
            for subject, said, concept, negated in premises
            if subject == held
        }
        if new <= known:
            return known
        known |= new


def why_wrong(question: str, query: str, chain: Iterable[str], answer: str) -> str:
    """Return what is wrong with a question, or nothing."""
    texts = sentences(question)
    premises = [parse(text) for text in texts]
    name, adjective, _, negated = parse(query.removeprefix("True or false: "))
    known = consequences(premises)
    truth = {no for who, said, _, no in known if (who, said) == (name, adjective)}
    if len(truth) != 1:
        return f"the premises decide {len(truth)} ways"
    if answer != str(truth == {negated}):
        return "wrong answer"
    steps = list(chain)
    if steps[0] not in texts:
        return "the first step is no premise"
    for before, rule, after in zip(steps[::2], steps[1::2], steps[2::2], strict=False):
        if rule not in texts:
            return f"no premise: {rule}"
        subject, *said = parse(rule)
        if parse(before)[:2] != (name, subject) or parse(after) != (name, *said):
            return f"does not follow: {after}"
    return "" if parse(steps[-1])[:2] == (name, adjective) else "the chain ends elsewhere"
