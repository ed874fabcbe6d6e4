"""From conditions to verdicts, in every combination of two conditions with and without controls."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from theory import InputError
from validate.claims import Claim, Condition, Finding, MissingRunsError, Needs, judge_claims
from validate.claims.presentation import headline, number, to_json, verdict_text
from validate.claims.statements import Measure, Sample, each, each_seed, with_control
from validate.claims.verdicts import Outcome

NEEDS = Needs("study", (0.8,))
MET, UNMET, UNDEFINED, MISSING = "met", "unmet", "undefined", "missing"
VALUES = {MET: [2.0, 3.0], UNMET: [-1.0, -2.0], UNDEFINED: [2.0, math.nan]}


def measuring(kind: str) -> Measure:
    def measure(_: Sample) -> list[float]:
        if kind == MISSING:
            raise MissingRunsError("no runs")
        return VALUES[kind]

    return measure


def condition(kind: str, role: str = "claim", part: str = "") -> Condition:
    return Condition(kind, measuring(kind), ">=", 1.0, needs=NEEDS, role=role, part=part)  # type: ignore[arg-type]


def finding(*conditions: Condition) -> Finding:
    (found,) = judge_claims([Claim("name", "statement", conditions)], lambda needs: {})
    return found


def expected(claimed: str, control: str | None) -> str:
    """What becomes of a condition, said another way than in the program."""
    if MISSING in (claimed, control):
        return "not tested"
    if claimed != MET:
        return "not met"
    return "met" if control in (None, UNMET) else "void"


KINDS = (MET, UNMET, UNDEFINED, MISSING)
CASES = list(itertools.product(KINDS, (*KINDS, None)))


@pytest.mark.parametrize("first", CASES)
def test_every_combination(first: tuple[str, str | None]) -> None:
    for second in CASES:
        conditions, states = [], []
        for part, (claimed, control) in zip("ab", (first, second), strict=True):
            conditions.append(condition(claimed, part=part))
            if control is not None:
                conditions.append(condition(control, "control", part))
            states.append(expected(claimed, control))
        found = finding(*conditions)
        claimed_states = [found.state(o) for o in found.outcomes if o.condition.role == "claim"]
        assert claimed_states == states
        met, tested = states.count("met"), len(states) - states.count("not tested")
        verdicts = {2: "holds", 1: "holds in part", 0: "does not hold"}
        assert found.verdict == (verdicts[met] if tested else "not tested")


def test_a_passing_control_leaves_nothing_that_holds() -> None:
    assert finding(condition(MET), condition(MET, "control")).verdict == "does not hold"
    assert finding(condition(MET), condition(UNMET, "control")).verdict == "holds"


def test_one_control_binds_all_conditions_of_its_part_and_no_other() -> None:
    found = finding(
        condition(MET, part="a"),
        condition(MET, part="a"),
        condition(MET, "control", "a"),
        condition(MET, part="b"),
    )
    assert [found.state(o) for o in found.outcomes] == ["void", "void", "passes", "met"]
    assert found.verdict == "holds in part"


@pytest.mark.parametrize("controls", [(UNMET, UNMET, MET), (UNMET, MET, UNMET), (MET, UNMET, UNMET)])
def test_one_control_that_passes_is_enough(controls: tuple[str, ...]) -> None:
    """All controls of a part have to fail."""
    found = finding(condition(MET), *(condition(kind, "control") for kind in controls))
    assert found.state(found.outcomes[0]) == "void"


def test_notes_decide_nothing() -> None:
    note = Condition("note", measuring(UNMET), needs=NEEDS, role="note")
    found = finding(condition(MET), note)
    assert found.verdict == "holds"
    assert found.state(found.outcomes[1]) == "reported"
    assert finding(condition(MISSING), note).verdict == "not tested"


def outcome(values: list[float], relation: str = ">=", threshold: float = 1.0) -> Outcome:
    made = Condition("x", lambda _: values, relation, threshold)  # type: ignore[arg-type]
    (found,) = judge_claims([Claim("n", "s", (made,))], lambda needs: {})
    return found.outcomes[0]


@pytest.mark.parametrize(
    ("values", "relation", "holds", "clear", "seeds"),
    [
        ([2.0, 2.1, 1.9], ">=", True, True, 3),
        ([2.0, 0.5, 1.5], ">=", True, False, 2),
        ([0.0, 0.1, 0.2], ">=", False, True, 0),
        ([0.0, 0.1, 0.2], "<=", True, True, 3),
        ([2.0], ">=", True, False, 1),
        ([1.0, 1.0], ">=", True, True, 2),
        ([1.0, 1.0], ">", False, True, 0),
        ([1.0, 1.0], "<", False, True, 0),
        ([0.9, 0.9], "<", True, True, 2),
        ([2.0, math.nan], ">=", False, False, 1),
    ],
)
def test_a_condition(values: list[float], relation: str, holds: bool, clear: bool, seeds: int) -> None:
    found = outcome(values, relation)
    assert (found.holds, found.clear, found.seeds_met) == (holds, clear, seeds)


def test_clear_asks_for_every_measured_condition_and_control() -> None:
    open_ = Condition("open", lambda _: [2.0, 0.5, 1.5], ">=", 1.0)
    assert finding(condition(MET, part="a")).clear is False  # two seeds a unit apart: t is wide
    sharp = Condition("sharp", lambda _: [2.0, 2.01, 2.02], ">=", 1.0)
    assert finding(sharp).clear
    assert not finding(sharp, open_).clear
    assert finding(sharp, condition(MISSING)).clear
    assert not finding(condition(MISSING)).clear


def test_against_the_paper() -> None:
    for opposing, kind, against in (
        (False, MET, False),
        (False, UNMET, True),
        (True, MET, True),
        (True, UNMET, False),
        (False, MISSING, False),
    ):
        claim = Claim("n", "s", (condition(kind),), opposing=opposing)
        (found,) = judge_claims([claim], lambda needs: {})
        assert found.against_the_paper is against


def test_headline_is_the_first_that_was_measured() -> None:
    def measured(*kinds: str) -> str:
        (claim,) = to_json([finding(*map(condition, kinds))])["claims"]
        return str(headline(claim)["measure"])

    assert measured(MISSING, UNMET, MET) == UNMET
    assert measured(MISSING) == MISSING


def text(*conditions: Condition) -> str:
    (claim,) = to_json([finding(*conditions)])["claims"]
    return verdict_text(claim)


def test_a_verdict_in_words() -> None:
    sharp = Condition("sharp", lambda _: [2.0, 2.01, 2.02], ">=", 1.0)
    assert text(sharp) == "holds"
    assert text(condition(MET)) == "holds, not clear"
    assert text(sharp, condition(MISSING)) == "holds in part, 1 of 2"
    assert text(sharp, replace(sharp, role="control")) == "does not hold, 1 void"
    assert text(condition(MISSING)) == "not tested"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.000"),
        (0.5, "0.500"),
        (-0.1234, "-0.123"),
        (0.00081, "0.00081"),
        (12.5, "12.500"),
        (3198.8, "3.2e+03"),
    ],
)
def test_small_and_large_numbers_keep_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_control_of_its_own() -> None:
    own, control = with_control(condition(MET), "why", measure=measuring(UNMET), what="other")
    assert (control.role, control.reason, control.what, control.threshold) == ("control", "why", "other", 1.0)
    assert own.part == control.part != ""


def test_an_observable_that_is_absent_is_not_tested_and_other_errors_are_not_swallowed() -> None:
    def raising(argument: str) -> Condition:
        def measure(_: Sample) -> list[float]:
            raise InputError(argument, "pca", "not observed", "train with all")

        return Condition("x", measure, ">=", 1.0)

    found = finding(raising("observable"))
    assert found.verdict == "not tested"
    assert "not observed" in found.outcomes[0].missing
    with pytest.raises(InputError, match="kept observations"):
        finding(raising("kept observations"))


class _Run:
    def __init__(self, seed: int, value: float) -> None:
        self.config = type("Config", (), {"seed": seed})()
        self.provenance = {"sources": {"a": "paper", "b": "chosen" if seed else "user"}}
        self.value = value


def test_seeds_are_the_unit() -> None:
    cells = {("", 0.3): [_Run(0, 1.0), _Run(1, 2.0)], ("", 0.8): [_Run(1, 5.0), _Run(2, 9.0)]}
    assert list(each_seed(lambda seed: seed["", 0.8].value - seed["", 0.3].value)(cells)) == [3.0]  # type: ignore[attr-defined]
    assert list(each(lambda run: run.value)({("", 0.3): cells["", 0.3]})) == [1.0, 2.0]  # type: ignore[attr-defined]
    made = Condition("x", each_seed(lambda seed: 1.0), ">=", 1.0, needs=NEEDS)
    (found,) = judge_claims([Claim("n", "s", (made,))], lambda needs: cells)
    assert found.outcomes[0].sources == {"a": "paper", "b": "user"}
    apart = {("", 0.3): [_Run(0, 1.0)], ("", 0.8): [_Run(1, 5.0)]}
    (found,) = judge_claims([Claim("n", "s", (made,))], lambda needs: apart)
    assert "no seed" in found.outcomes[0].missing
