"""What values come to: states of conditions and verdicts of claims, on made-up seeds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from validate.judge.bounds import Bound, Value
from validate.judge.condition import Claim, Condition, Needs, Side
from validate.judge.outcome import MissingRunsError
from validate.judge.verdict import Finding, judge_claim

NEEDS = Needs("made-up", (0.8,))


def condition(values: list[Value], threshold: float = 0.0, **keys: Any) -> Condition:
    side = Side("a measure", lambda _: dict(enumerate(values)), NEEDS)
    return Condition("a measure", (side,), threshold=threshold, **keys)


def judged(*conditions: Condition) -> Finding:
    return judge_claim(Claim("name", "A statement.", conditions), lambda needs: {})


ABOVE, BELOW, WIDE = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.3]


@pytest.mark.parametrize(
    ("values", "keys", "state", "reading"),
    [
        (ABOVE, {}, "holds", ""),
        (BELOW, {}, "fails", ""),
        (WIDE, {}, "undecided", ""),
        ([1.0], {}, "undecided", ""),
        (BELOW, {"relation": "<"}, "holds", ""),
        ([math.nan, 1.0, 1.0], {}, "undefined", ""),
        ([Bound(-1.0, 2.0), 1.0, 1.1], {}, "censored", ""),
        ([Bound(1.0, math.inf), Bound(1.1, math.inf), Bound(0.9, math.inf)], {}, "holds", ""),
        ([0.01, 0.02, 0.0], {"relation": "within", "margin": 0.1}, "holds", "no relevant effect"),
        ([0.5, 0.51, 0.49], {"relation": "within", "margin": 0.1}, "fails", ""),
        ([0.001, -0.001, 0.0], {"margin": 0.1}, "fails", "no relevant effect"),
        (ABOVE, {"role": "shown"}, "shown", ""),
    ],
)
def test_states(values: list[Value], keys: dict[str, Any], state: str, reading: str) -> None:
    (outcome,) = judged(condition(values, **keys)).outcomes
    assert (outcome.state, outcome.decision.reading) == (state, reading)


def test_a_contrast_is_taken_within_each_seed() -> None:
    first = Side("a", lambda _: {1: 5.0, 2: 7.0, 3: 6.0}, NEEDS)
    second = Side("b", lambda _: {3: 1.0, 1: 2.0, 4: 9.0}, NEEDS)
    (outcome,) = judged(Condition("a minus b", (first, second), threshold=0.0)).outcomes
    assert dict(zip((1, 3), outcome.values, strict=True)) == {1: 3.0, 3: 5.0}


@pytest.mark.parametrize(
    ("endpoints", "verdict"),
    [
        ([ABOVE, ABOVE], "holds"),
        ([ABOVE, BELOW], "partly"),
        ([ABOVE, WIDE], "partly"),
        ([BELOW, WIDE], "fails"),
        ([BELOW, BELOW], "fails"),
        ([WIDE, WIDE], "undecided"),
        ([[Bound(-1.0, 2.0), 1.0, 1.1]], "censored"),
    ],
)
def test_verdicts(endpoints: list[list[Value]], verdict: str) -> None:
    assert judged(*map(condition, endpoints)).verdict == verdict


def test_what_is_shown_changes_no_verdict() -> None:
    """A control or a note stands beside the endpoints; it is no veto."""
    for first, second in itertools.product((ABOVE, BELOW, WIDE), repeat=2):
        alone = judged(condition(first))
        beside = judged(condition(first), replace(condition(second), role="shown"))
        assert alone.verdict == beside.verdict


def test_runs_that_are_missing_are_named() -> None:
    def find(needs: Needs) -> Any:
        raise MissingRunsError(f"no runs of {needs.study}")

    finding = judge_claim(Claim("name", "A statement.", (condition(ABOVE),)), find)
    assert finding.verdict == "not tested"
    assert finding.outcomes[0].missing == "no runs of made-up"
