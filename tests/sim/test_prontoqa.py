"""Our PrOntoQA: every question is solvable and solved, by a solver that reads the sentences alone."""

import re
from collections import Counter
from collections.abc import Iterable

from sim import prontoqa_questions
from sim.data.prontoqa import ProntoQuestion

OURS = prontoqa_questions(1000, seed=1)


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


def why_wrong(q: ProntoQuestion) -> str:
    """Return what is wrong with a question, or nothing."""
    texts, steps = sentences(q.question), q.chain_of_thought
    premises = [parse(text) for text in texts]
    name, adjective, _, negated = parse(q.query.removeprefix("True or false: "))
    known = consequences(premises)
    truth = {no for who, said, _, no in known if (who, said) == (name, adjective)}
    if len(truth) != 1:
        return f"the premises decide {len(truth)} ways"
    if q.answer != str(truth == {negated}):
        return "wrong answer"
    if steps[0] not in texts:
        return "the first step is no premise"
    for before, rule, after in zip(steps[::2], steps[1::2], steps[2::2], strict=False):
        if rule not in texts:
            return f"no premise: {rule}"
        subject, *said = parse(rule)
        if parse(before)[:2] != (name, subject) or parse(after) != (name, *said):
            return f"does not follow: {after}"
    return "" if parse(steps[-1])[:2] == (name, adjective) else "the chain ends elsewhere"


def test_every_premise_is_present_and_no_answer_is_wrong() -> None:
    assert {why_wrong(q) for q in OURS} == {""}


def test_hops_and_distractors() -> None:
    assert Counter(q.hops for q in OURS) == dict.fromkeys(range(1, 6), 200)
    for q in OURS:
        assert len(q.chain_of_thought) == 2 * q.hops + 1
        said = [parse(text) for text in sentences(q.question)]
        adjective = parse(q.chain_of_thought[-1])[1]
        # The queried property stands twice, with both signs, on two concepts.
        assert sorted(no for _, what, _, no in said if what == adjective) == [False, True]
        assert sum(not subject.endswith("pus") for subject, *_ in said) == 2
    assert {q.hops for q in prontoqa_questions(6, hops=[2, 4])} == {2, 4}
