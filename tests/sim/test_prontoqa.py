"""Our PrOntoQA: every question is solvable and solved, and the set is like the published one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import prontoqa_questions, read_prontoqa
from sim.data.prontoqa import ProntoQuestion, as_json_line
from tests.sim.prontoqa_solver import parse, sentences, why_wrong
from theory import InputError

OURS = prontoqa_questions(1000, seed=1)


def problem(q: ProntoQuestion) -> str:
    return why_wrong(q.question, q.query, q.chain_of_thought, q.answer)


def test_every_premise_is_present_and_no_answer_is_wrong() -> None:
    assert {problem(q) for q in OURS} == {""}


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
    file.write_text("\n".join(map(as_json_line, OURS[:5])))  # With empty lines between them.
    assert read_prontoqa(file) == OURS[:5]
    hops: Any = [np.int64(2)]
    file.write_text(as_json_line(prontoqa_questions(1, hops=hops)[0]))
    assert read_prontoqa(file)[0].hops == 2
    file.write_text(as_json_line(OURS[0]) + '{"question": "x"}\n')
    with pytest.raises(InputError, match="line 2 is not a question with question, query"):
        read_prontoqa(file)
