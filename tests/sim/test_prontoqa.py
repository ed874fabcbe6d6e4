"""Our PrOntoQA: every question is solvable and solved, and the set is like the published one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim import prontoqa_questions, read_prontoqa
from sim.data.prontoqa import ProntoQuestion, as_json_line
from tests.sim.prontoqa_solver import parse, sentences, why_wrong
from theory import InputError

REAL = Path(__file__).parents[3] / "shared" / "data" / "prontoqa.jsonl"
OURS = prontoqa_questions(1000, seed=1)


def problem(q: ProntoQuestion) -> str:
    return why_wrong(q.question, q.query, q.chain_of_thought, q.answer)


def test_every_premise_is_present_and_no_answer_is_wrong() -> None:
    assert {problem(q) for q in OURS} == {""}


def test_the_solver_sees_what_is_wrong() -> None:
    q = next(q for q in OURS if q.hops == 3)
    other = "False" if q.answer == "True" else "True"
    assert problem(replace(q, answer=other)) == "wrong answer"
    rule = q.chain_of_thought[3]
    assert "decide 0 ways" in problem(replace(q, question=q.question.replace(rule, "")))
    assert "no premise" in problem(
        replace(q, chain_of_thought=(*q.chain_of_thought[:3], "Each x is a y.", *q.chain_of_thought[4:]))
    )
    swapped = (*q.chain_of_thought[:2], q.chain_of_thought[4], *q.chain_of_thought[3:])
    assert "does not follow" in problem(replace(q, chain_of_thought=swapped))


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


def test_a_file_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(map(as_json_line, OURS[:5])))
    assert read_prontoqa(file) == OURS[:5]
    file.write_text(as_json_line(OURS[0]) + '{"question": "x"}\n')
    with pytest.raises(InputError, match="line 2 is not a question with question, query"):
        read_prontoqa(file)


def shares(questions: Sequence[ProntoQuestion]) -> dict[str, float]:
    """Return how often each form of sentence and each answer occurs."""
    found: Counter[str] = Counter()
    for q in questions:
        found[f"answer {q.answer}"] += 1
        found["query negated"] += " not " in q.query
        for text in sentences(q.question):
            words = text.split()
            found[words[0] if words[0] in ("Each", "Every") else words[1]] += 1
            found["not"] += "not" in words
    return {name: count / len(questions) for name, count in found.items()}


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not REAL.exists(), reason=f"needs {REAL}")
def test_our_questions_are_like_the_published_ones() -> None:
    real, ours = read_prontoqa(REAL), prontoqa_questions(2500, seed=3)
    assert len(real) == 10_800
    assert {problem(q) for q in real} == {""}
    words = [{*re.findall(r"\w+|\S", " ".join(q.text for q in part))} for part in (real, ours)]
    assert words[0] == words[1]
    for hops in range(1, 6):
        parts = [[q for q in part if q.hops == hops] for part in (real, ours)]
        lengths = [np.array([len(re.findall(r"\w+|\S", q.text)) for q in part]) for part in parts]
        assert lengths[1].mean() == pytest.approx(lengths[0].mean(), rel=0.025), hops
        assert lengths[1].std() == pytest.approx(lengths[0].std(), rel=0.15), hops
        premises, steps = ([{f(q) for q in part} for part in parts] for f in (_premises, _steps))
        assert premises[0] == premises[1]
        assert steps[0] == steps[1]
    expected, found = shares(real), shares(ours)
    assert expected.keys() == found.keys()
    for name, share in expected.items():
        assert found[name] == pytest.approx(share, rel=0.06), name


def _premises(q: ProntoQuestion) -> int:
    return len(sentences(q.question))


def _steps(q: ProntoQuestion) -> int:
    return len(q.chain_of_thought)
