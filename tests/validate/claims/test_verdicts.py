"""From conditions to verdicts: every combination of states, settings, families, and bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from theory import InputError
from validate.claims import Claim, Condition, Finding, MissingRunsError, Needs, judge_claims
from validate.claims.presentation import (
    condition_rows,
    counts,
    explanations,
    headline,
    parts,
    row,
    summary,
    to_json,
    untested,
)
from validate.claims.statements import Measure, Sample, each, each_seed, note, with_control
from validate.claims.verdicts import Outcome
from validate.judge.bounds import Bound, Value
from validate.judge.stats import estimate_text, number, t_test
from validate.observe import NotObservedError

NEEDS = Needs("study", (0.8,))
MET, UNMET, OPEN, UNDEFINED, MISSING = "met", "unmet", "open", "undefined", "missing"
CENSORED = "censored"
VALUES: dict[str, list[Value]] = {
    MET: [2.0, 2.01, 2.02],
    UNMET: [-1.0, -1.01, -1.02],
    OPEN: [2.0, 0.5, 1.5],
    CENSORED: [2.0, 2.01, Bound(low=0.5)],
    UNDEFINED: [2.0, math.nan, 2.0],
}


def measuring(kind: str) -> Measure:
    def measure(_: Sample) -> list[Value]:
        if kind == MISSING:
            raise MissingRunsError("no runs")
        return VALUES[kind]

    return measure


def condition(kind: str, role: str = "claim", part: str = "", setting: str = "") -> Condition:
    return Condition(
        kind,
        measuring(kind),
        ">=",
        1.0,
        needs=NEEDS,
        role=role,
        part=part,
        setting=setting,  # type: ignore[arg-type]
    )


def finding(*conditions: Condition) -> Finding:
    (found,) = judge_claims([Claim("name", "statement", conditions)], lambda needs: {})
    return found


def expected(claimed: str, control: str | None) -> str:
    """What becomes of a condition, said another way than in the program."""
    alone = {MET: "holds", UNMET: "fails", OPEN: "undecided", UNDEFINED: "undefined", MISSING: "not tested"}
    alone |= {CENSORED: "censored"}
    if claimed != MET or control in (None, UNMET):
        return alone[claimed]
    return "void" if control == MET else "undecided"


KINDS = (MET, UNMET, OPEN, CENSORED, UNDEFINED, MISSING)
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
        assert [found.state(o) for o in found.outcomes if o.condition.role == "claim"] == states
        if states == ["not tested"] * 2:
            verdict = "not tested"
        elif states == ["holds"] * 2:
            verdict = "holds"
        elif "fails" in states:
            verdict = "holds in part" if "holds" in states else "fails"
        else:
            verdict = "undecided"
        assert found.verdict == verdict


def test_one_control_binds_all_conditions_of_its_part_and_no_other() -> None:
    found = finding(
        condition(MET, part="a"),
        condition(MET, part="a"),
        condition(MET, "control", "a"),
        condition(MET, part="b"),
    )
    assert [found.state(o) for o in found.outcomes] == ["void", "void", "holds", "holds"]
    assert found.verdict == "undecided"


@pytest.mark.parametrize("controls", [(UNMET, UNMET, MET), (UNMET, MET, UNMET), (MET, UNMET, UNMET)])
def test_one_control_that_holds_is_enough(controls: tuple[str, ...]) -> None:
    """All controls of a part have to fail."""
    found = finding(condition(MET), *(condition(kind, "control") for kind in controls))
    assert found.state(found.outcomes[0]) == "void"


def test_notes_decide_nothing() -> None:
    note = Condition("note", measuring(UNMET), needs=NEEDS, role="note")
    found = finding(condition(MET), note)
    assert found.verdict == "holds"
    assert found.state(found.outcomes[1]) == "reported"
    assert finding(condition(MISSING), note).verdict == "not tested"


# --- settings ---------------------------------------------------------------------------------------------


def test_settings_are_judged_by_themselves_and_the_likeliest_that_was_tested_decides() -> None:
    found = finding(
        condition(MET, setting="pre"),
        condition(UNMET, setting="none"),
        condition(MISSING, setting="group"),
        condition(MET, "control", setting="none"),
    )
    assert found.settings == ("group", "none", "pre")
    assert [found.verdict_at(s) for s in found.settings] == ["not tested", "fails", "holds"]
    assert (found.setting, found.verdict) == ("none", "fails")
    assert found.against_the_paper
    (claim,) = to_json([found])["claims"]
    assert claim["verdicts"] == {"group": "not tested", "none": "fails", "pre": "holds"}
    assert summary(claim) == "holds (pre), fails (none), not tested (group)"
    assert row(claim, ["none", "pre", "theory"]) == ["0", "name", "fails", "holds", ""]
    assert counts([claim]) == ["group: 1 is not tested", "none: 1 fails", "pre: 1 holds"]


def test_one_seed_is_said_to_decide_nothing() -> None:
    """Far beyond its threshold, with a control far from it: still undecided, and the reason is named."""
    alone = of_values([9.0], setting="group"), of_values([0.0], "control", setting="group")
    several = of_values([9.0, 9.1, 9.2], setting="pre"), of_values([0.5, 9.0, 2.0], setting="none")
    found = finding(*alone, *several)
    assert [found.verdict_at(s) for s in ("group", "none", "pre")] == ["undecided", "undecided", "holds"]
    (claim,) = to_json([found])["claims"]
    assert [c["state"] for c in claim["conditions"]] == ["undecided", "undecided", "holds", "undecided"]
    rows = condition_rows(claim)
    assert [r[0] for r in rows] == ["undecided (one seed)"] * 2 + ["holds", "undecided"]
    assert counts([claim]) == [
        "group: 1 is undecided; one seed decides nothing",
        "none: 1 is undecided",
        "pre: 1 holds",
    ]
    said = explanations([], rows)
    assert "undecided (one seed): one seed has no interval and decides nothing." in said
    assert not any(line.startswith(("(opposing)", "≥ ")) for line in said)
    assert [line[:3] for line in explanations([], [["≥ 3.2"]])] == ["≥ :"]
    (other,) = to_json([finding(of_values([9.0, 0.0, 2.0], setting="group"))])["claims"]
    assert (
        counts([claim, other])[0] == "group: 2 are undecided; 1 of these have one seed, which decides nothing"
    )


def test_two_seeds_decide_only_far_beyond_the_threshold() -> None:
    """With one degree of freedom, 12.7 standard errors or 6.4 times their distance."""
    found = finding(of_values([9.0, 9.1], threshold=8.0), of_values([7.0, 7.4], "control", threshold=8.0))
    assert [found.state(outcome) for outcome in found.outcomes] == ["undecided", "undecided"]
    alone = [finding(of_values([mean - 0.1, mean + 0.1], threshold=8.0)) for mean in (9.25, 9.29)]
    assert [each.verdict for each in alone] == ["undecided", "holds"]


def test_equal_values_of_a_measure_that_takes_steps_are_not_certain() -> None:
    """Three times 0.75, above 0.5: open without steps and with steps of 1, nearly certain with small ones."""
    values: list[Value] = [0.75, 0.75, 0.75]
    states = {}
    for step in (0.0, 0.01, 1.0):
        made = finding(replace(of_values(values, threshold=0.5), step=step))
        states[step] = made.state(made.outcomes[0]), made.p_value(made.outcomes[0])
    assert states[0.0] == ("undecided", None)
    assert states[0.01][0] == "holds"
    assert states[1.0][0] == "undecided"
    assert 0 < (states[0.01][1] or 0) < 0.05 < (states[1.0][1] or 0)


def test_seeds_between_the_same_evaluations_agree_no_closer_than_these() -> None:
    """Three times between 2 and 3: above 1.5 only if it is said how far apart they can be."""
    coarse, silent = (finding(of_values([Bound(2, 3, step)] * 3, threshold=1.5)) for step in (0.4, 0.0))
    assert (coarse.verdict, silent.verdict) == ("holds", "undecided")
    found = coarse.outcomes[0]
    assert found.estimate.mean == 2
    assert found.p_value == pytest.approx(t_test([2, 2, 2], 1.5, step=0.4))


def test_a_claim_in_part_says_which() -> None:
    found = finding(condition(MET, setting="pre"), condition(UNMET, setting="pre", part="b"))
    (claim,) = to_json([found])["claims"]
    assert parts([claim]) == ["0 pre: holds: met; fails: unmet"]
    more = [condition(UNMET, setting="pre", part=str(i)) for i in range(4)]
    (claim,) = to_json([finding(condition(MET, setting="pre"), *more)])["claims"]
    assert parts([claim]) == ["0 pre: holds: met; fails: unmet, unmet and 2 more"]


def test_settings_without_runs_are_named_with_the_command_for_them() -> None:
    found = finding(condition(MET, setting="pre"), condition(MISSING, setting="group"))
    (line,) = untested(to_json([found])["claims"])
    assert line.startswith("group (")
    assert line.endswith("not tested; anchorflow study group-2024 --run --keep")


# --- families ---------------------------------------------------------------------------------------------


def of_values(
    values: list[Value], role: str = "claim", setting: str = "", threshold: float = 1.0
) -> Condition:
    return Condition(
        "x",
        lambda _: values,
        ">=",
        threshold,
        needs=NEEDS,
        role=role,
        part=str(values),
        setting=setting,  # type: ignore[arg-type]
    )


def test_a_family_of_conditions_at_one_setting_is_corrected_for_its_number() -> None:
    """Alone p = 0.02; with a second test of the family, 0.04; with two more, above 0.05."""
    values: list[Value] = [1.1, 1.2, 1.25, 1.1]
    alone = finding(of_values(values))
    p_value = alone.p_value(alone.outcomes[0])
    assert p_value is not None
    assert 0.05 / 3 < p_value < 0.05 / 2
    assert alone.verdict == "holds"
    crossing: list[Value] = [0.5, 1.6, 1.1]
    two = finding(of_values(values), of_values(crossing, "control"))
    assert two.p_value(two.outcomes[0]) == pytest.approx(2 * p_value)
    three = finding(of_values(values), of_values(crossing), of_values([*crossing, 1.2]))
    assert three.p_value(three.outcomes[0]) == pytest.approx(3 * p_value)
    assert three.state(three.outcomes[0]) == "undecided"
    apart = finding(of_values(values, setting="pre"), of_values(crossing, setting="none"))
    assert apart.p_value(apart.outcomes[0]) == pytest.approx(p_value)


@pytest.mark.parametrize("nothing", [[1.2], [math.nan, 1.2, 1.3], [Bound(low=0.9), 1.2, 1.3]])
def test_what_nothing_can_be_decided_on_counts_in_its_family(nothing: list[Value]) -> None:
    """Else more seeds of one condition would change the verdict on another."""
    alone = finding(of_values([1.1, 1.2, 1.25, 1.1]))
    p_value = alone.p_value(alone.outcomes[0])
    assert p_value is not None
    both = finding(of_values([1.1, 1.2, 1.25, 1.1]), of_values(nothing, "control"))
    assert [both.p_value(outcome) for outcome in both.outcomes] == [pytest.approx(2 * p_value), None]
    noted = finding(of_values([1.1, 1.2, 1.25, 1.1]), note("x", lambda _: nothing, NEEDS))
    assert noted.p_value(noted.outcomes[0]) == pytest.approx(p_value)


def test_one_seed_and_values_on_the_threshold_decide_nothing() -> None:
    assert finding(of_values([5.0])).verdict == "undecided"
    assert finding(of_values([1.0, 1.0, 1.0])).verdict == "undecided"
    computed = replace(of_values([1.0]), needs=None)
    assert finding(computed).verdict == "holds"  # One computed number has no chance in it.


# --- bounds -----------------------------------------------------------------------------------------------

AT_LEAST, AT_MOST = Bound(low=1.3), Bound(high=1.3)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([AT_LEAST, AT_LEAST, 1.4], "holds"),
        ([AT_MOST, AT_MOST, 1.4], "censored"),
        ([Bound(low=0.7), 1.4, 1.4], "censored"),
        ([Bound(high=0.7), Bound(high=0.6), 0.65], "fails"),
        ([Bound(0.2, 0.5), Bound(0.2, 0.45), 0.48], "fails"),
        # The first may be 10, and the mean above 1 with it.
        ([Bound(low=1.1), -0.5, -0.6, -0.4, -0.5], "censored"),
        ([Bound(high=0.9), 1.9, 2.0, 2.1, 2.0], "censored"),
        ([AT_LEAST, math.nan, 1.4], "undefined"),
        ([AT_LEAST], "undecided"),
    ],
)
def test_a_bound_decides_only_where_its_whole_range_lies_on_one_side(values: list[Value], state: str) -> None:
    found = finding(of_values(values))
    assert found.state(found.outcomes[0]) == state


def test_a_bound_is_printed_as_one() -> None:
    (claim,) = to_json([finding(of_values([AT_LEAST, 1.5, 1.4]))])["claims"]
    (found,) = claim["conditions"]
    assert found["side"] == "≥"
    assert found["values"] == [{"low": 1.3, "high": None}, 1.5, 1.4]
    assert found["estimate"]["mean"] == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([Bound(high=4.1), Bound(0.09, 4.1), Bound(0.07, 3.4)], "no mean"),
        ([Bound(high=0.5), Bound(low=2.0), 1.0], "no mean"),
        ([Bound(0.2, 0.5), Bound(low=2.0), 1.0], "no mean"),
        ([Bound(high=0.5), Bound(high=0.7), 0.5], "≤ 0.5"),
        ([Bound(1.2, 1.6), Bound(0.4, 0.6), 1.0], "≈ 0."),
        ([1.2, 1.0, 1.1], "1.1"),
    ],
)
def test_ends_of_opposite_kinds_have_no_mean(values: list[Value], shown: str) -> None:
    (claim,) = to_json([finding(of_values(values))])["claims"]
    (row,) = condition_rows(claim)
    assert row[4].startswith(shown)
    told = explanations(["mean [95 %]"], [row])
    assert any(line.startswith("no mean: ") for line in told) == (shown == "no mean")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([Bound(0.2, 1.0), 0.3], "≥"),
        ([Bound(0.0, 0.2), 0.3], "≤"),
        ([Bound(0.2, 1.0), Bound(0.0, 0.2)], "≈"),
        ([0.2, 0.3], ""),
    ],
)
def test_an_end_of_what_is_possible_is_no_bound(values: list[Value], shown: str) -> None:
    made = replace(of_values(values), within=(0.0, 1.0))
    assert finding(made).outcomes[0].side == shown


def outcome(
    values: list[Value],
    relation: str = ">=",
    threshold: float = 1.0,
    needs: Needs | None = NEEDS,
    step: float = 0,
) -> Outcome:
    made = Condition("x", lambda _: values, relation, threshold, needs=needs, step=step)  # type: ignore[arg-type]
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
        ([1.0, 1.0], ">=", True, False, 2),
        ([1.0, 1.0], ">", False, False, 0),
        ([1.0, 1.0], "<", False, False, 0),
        ([0.9, 0.9, 0.9], "<", True, False, 3),
        ([Bound(low=0.5), 0.55, 0.52], "<=", True, False, 2),
        ([Bound(high=0.5), 0.55, 0.52], "<=", True, True, 3),
        ([2.0, math.nan], ">=", False, False, 1),
        ([2.0, AT_LEAST], ">=", True, False, 2),
    ],
)
def test_a_condition(values: list[Value], relation: str, holds: bool, clear: bool, seeds: int) -> None:
    found = outcome(values, relation)
    assert (found.holds, found.clear, found.seeds_met) == (holds, clear, seeds)
    assert found.decision == (("holds" if holds else "fails") if clear else "undecided")
    assert found.as_dict()["verdict"] == found.decision


def test_by_itself_a_condition_is_as_undecided_as_in_the_ledger() -> None:
    """Equal values of known resolution decide, and so does one number that was computed without runs."""
    assert outcome([0.9] * 3, "<", step=0.01).decision == "holds"
    assert outcome([0.9] * 3, "<").decision == "undecided"
    assert outcome([2.0], needs=None).decision == "holds"
    assert outcome([0.5], needs=None).decision == "fails"
    for values in ([0.6] * 3, [0.9], [0.5, 0.6]):
        (alone,) = judge_claims([Claim("n", "s", (outcome(values, "<=").condition,))], lambda needs: {})
        assert alone.state(alone.outcomes[0]) == outcome(values, "<=").decision


def test_against_the_paper() -> None:
    for opposing, kind, against in (
        (False, MET, False),
        (False, UNMET, True),
        (True, MET, True),
        (True, UNMET, False),
        (False, OPEN, False),
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


@pytest.mark.parametrize(
    ("mean", "low", "high", "shown"),
    [
        (0.0902, 0.0896, 0.0908, "0.0902 [0.0896, 0.0908]"),
        (0.02, -0.0012, 0.0412, "0.020 [-0.001, 0.041]"),
        (-0.0004, -0.0204, 0.0196, "0.000 [-0.020, 0.020]"),
        (0.5, 0.5, 0.5, "0.500 [0.500, 0.500]"),
        (0.00081, 0.00081, 0.00081, "0.00081 [0.00081, 0.00081]"),
        (1.2e-6, 1e-6, 1.4e-6, "1.2e-06 [1e-06, 1.4e-06]"),
        (3198.8, 3100.0, 3297.6, "3.2e+03 [3.1e+03, 3.3e+03]"),
        (0.00081, None, None, "0.00081"),
        (None, None, None, "–"),
    ],
)
def test_mean_and_interval_have_as_many_decimals_and_enough_to_tell_them_apart(
    mean: float | None, low: float | None, high: float | None, shown: str
) -> None:
    assert estimate_text(mean, low, high) == shown


def test_a_control_of_its_own() -> None:
    own, control = with_control(condition(MET), "why", measure=measuring(UNMET), what="other")
    assert (control.role, control.reason, control.what, control.threshold) == ("control", "why", "other", 1.0)
    assert own.part == control.part != ""


def test_an_observable_that_is_absent_is_not_tested_and_other_errors_are_not_swallowed() -> None:
    def raising(error: type[InputError]) -> Condition:
        def measure(_: Sample) -> list[float]:
            raise error("observable", "pca", "not observed", "train with all")

        return Condition("x", measure, ">=", 1.0)

    found = finding(raising(NotObservedError))
    assert found.verdict == "not tested"
    assert "not observed" in found.outcomes[0].missing
    with pytest.raises(InputError, match="observable"):
        finding(raising(InputError))


class _Run:
    def __init__(self, seed: int, value: float) -> None:
        self.config = type("Config", (), {"seed": seed})()
        self.provenance = {"sources": {"a": "paper", "b": "chosen" if seed else "user"}}
        self.value = value


def test_seeds_are_the_unit() -> None:
    cells = {("", 0.3): [_Run(0, 1.0), _Run(1, 2.0)], ("", 0.8): [_Run(1, 5.0), _Run(2, 9.0)]}
    assert list(each_seed(lambda seed: seed["", 0.8].value - seed["", 0.3].value)(cells)) == [3.0]  # type: ignore[attr-defined]
    assert list(each(lambda run: run.value)({("", 0.3): cells["", 0.3]})) == [1.0, 2.0]  # type: ignore[attr-defined, dict-item]
    made = Condition("x", each_seed(lambda seed: 1.0), ">=", 1.0, needs=NEEDS)
    (found,) = judge_claims([Claim("n", "s", (made,))], lambda needs: cells)  # type: ignore[return-value]
    assert found.outcomes[0].sources == {"a": "paper", "b": "user"}
    apart = {("", 0.3): [_Run(0, 1.0)], ("", 0.8): [_Run(1, 5.0)]}
    (found,) = judge_claims([Claim("n", "s", (made,))], lambda needs: apart)  # type: ignore[return-value]
    assert "no seed" in found.outcomes[0].missing
