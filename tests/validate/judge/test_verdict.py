"""What values come to: states of conditions and verdicts of claims, on made-up seeds."""

import itertools
import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tests.validate.judge.synthetic import run
from validate import Claim, Endpoint, Findings, Other, Runs, above, at_least, below, within
from validate.judge import presentation
from validate.judge.claim import Setup
from validate.judge.condition import MissingRunsError, conditions_of
from validate.judge.settings import BY_LABEL, GELU, GROUP, LARGE, POST, SMALL
from validate.judge.verdict import benjamini_hochberg, judge_claim
from validate.observe.bounds import Bound, Value

STORED: dict[str, dict[int, Value]] = {}
"""The values of made-up studies, one a seed."""


def stored(values):
    name = f"made-up {len(STORED)}"
    STORED[name] = values if isinstance(values, dict) else dict(enumerate(values))
    return Runs(name)


def find(needs):
    if needs.study not in STORED:
        raise MissingRunsError(f"no runs of {needs.study}")
    values = STORED[needs.study]
    runs = [
        SimpleNamespace(config=SimpleNamespace(seed=n), provenance={}, value=v) for n, v in values.items()
    ]
    return {("", rate): runs for rate in needs.init_rates}


def value(run):
    return run.value


ZERO = above(0.0)


def endpoint(values, holds=ZERO, what="a measure", **keys):
    return Endpoint(what, value, SMALL, holds=holds, runs=stored(values), **keys)


def judged(*endpoints, number=0, setting="", shown=()):
    setup = BY_LABEL.get(setting, Setup(setting))
    return judge_claim(Claim(number, "name", "A statement.", endpoints, shown, settings=(setup,)), find)


def over(values, number=0, what="a measure", **keys):
    """Judge one endpoint at several settings, of which the values are given."""
    runs = {setup: stored(own) for setup, own in values.items()}
    asked = Endpoint(what, value, SMALL, holds=above(0.0), runs=runs, **keys)
    return judge_claim(Claim(number, "name", "A statement.", [asked], settings=[*values]), find)


ABOVE, BELOW, WIDE = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.3]


@pytest.mark.parametrize(
    ("values", "holds", "state", "reading"),
    [
        (ABOVE, above(0.0), "holds", ""),
        (BELOW, above(0.0), "fails", ""),
        (WIDE, above(0.0), "undecided", ""),
        ([1.0], above(0.0), "undecided", ""),
        ([1.0, 1.0, 1.0], above(0.0, 0.1), "undecided", ""),
        (BELOW, below(0.0), "holds", ""),
        ([math.nan, 1.0, 1.0], above(0.0), "undefined", ""),
        ([math.inf, 1.0, 1.0], above(0.0), "undefined", ""),
        ([Bound(-1.0, 1.2), 1.0, 1.1], above(0.0), "censored", ""),
        ([Bound(), 1.0, 1.1, 1.2], above(0.0), "censored", ""),  # Of one seed nothing is known.
        ([Bound(-1.0, 9.0), 1.0, 1.1], above(0.0), "undecided", ""),  # Neither end would decide it.
        (
            [2.0, 2.1, 2.2, Bound(-0.1, 0.2), 1.9, 2.0],
            above(0.0),
            "holds",
            "",
        ),  # On both sides, and yet no matter.
        ([Bound(1.0, math.inf), Bound(1.1, math.inf), Bound(0.9, math.inf)], above(0.0), "holds", ""),
        ([0.01, 0.02, 0.0], within(0.1), "holds", "no relevant effect"),
        ([0.5, 0.51, 0.49], within(0.1), "fails", ""),
        ([0.11, 0.13, 0.09], within(0.1), "undecided", ""),
        ([0.001, -0.001, 0.0], above(0.0, 0.1), "fails", "no relevant effect"),
        ([0.001, -0.001, 0.0], at_least(0.0, 0.1), "undecided", "at the threshold"),
        (ABOVE, None, "shown", ""),
        ([Bound(-1.0, 1.0), 2.0, 2.1], within(0.1), "censored", ""),
        ([Bound(0.01, 5.0), Bound(0.02, 5.0), Bound(1e-4, 5.1)], above(0.0, 0.1), "censored", ""),
        ([Bound(0.01, 0.02), Bound(0.0, 0.01)], within(0.1), "holds", "no relevant effect"),
    ],
)
def test_states(values, holds, state, reading):
    beside = endpoint(ABOVE)
    asked = endpoint(values, holds)
    finding = judged(asked) if holds else judged(beside, shown=[asked])
    outcome = finding.conditions[-1]
    assert (outcome.state, outcome.reading) == (state, reading)
    assert (outcome.adjusted_p is None) == (outcome.p_value is None)  # What is not tested has none.


def test_a_mean_of_bounds_has_both_ends_intervals_the_weaker_p_value_and_the_nearer_mean():
    low, high = [1.0, 1.2, 0.9], [2.0, 3.6, 1.9]
    half, wide = (stats.t.ppf(0.975, 2) * stats.sem(own) for own in (low, high))
    bounds = [Bound(*pair) for pair in zip(low, high, strict=True)], [Bound(x) for x in low]
    for values, end in zip(bounds, (np.mean(high) + wide, math.inf), strict=True):
        (outcome,) = judged(endpoint(values)).conditions
        found = outcome.estimate
        assert (found.low, found.high) == pytest.approx((np.mean(low) - half, end))
        assert (outcome.state, found.mean) == ("holds", pytest.approx(np.mean(low)))
        p = [stats.ttest_1samp(ends, 0.0).pvalue for ends in (low, high)]
        assert outcome.p_value == pytest.approx(p[1] if math.isfinite(end) else p[0])
    assert p[0] < p[1]
    assert str(found).endswith(f"[{np.mean(low) - half:.3f}, ∞)")
    (open_below,) = judged(endpoint([Bound(-math.inf, x) for x in low], below(5.0))).conditions
    assert (open_below.state, open_below.estimate.mean) == ("holds", pytest.approx(np.mean(low)))
    assert (open_below.estimate.low, open_below.side) == (-math.inf, "≤")


def test_a_seed_of_which_nothing_is_known_leaves_no_mean_but_a_count():
    (outcome,) = judged(endpoint([1.0, 1.2, 0.9, Bound(-1.0, 1.0), Bound()], above(0.5))).conditions
    assert math.isnan(outcome.estimate.mean)
    assert outcome.estimate.n == 5
    assert outcome.mean_text() == "3 of 5 seeds > 0.5"
    assert outcome.to_json()["estimate"]["mean"] is None


@pytest.mark.parametrize(
    ("values", "state", "share"),
    [
        ([Bound(0.6, 0.9)] * 6, "holds", 1.0),
        ([0.1] * 5 + [Bound(0.1, 0.2)], "fails", 0.0),
        ([0.1] * 5 + [Bound(0.2, 0.9)], "censored", 1 / 6),
        ([0.9] * 5 + [Bound(0.2, 0.9)], "censored", 5 / 6),
        ([0.9] * 4 + [0.1, Bound(0.2, 0.9)], "undecided", 4 / 6),
        ([math.nan, 0.9, 0.1], "undefined", 0.5),
    ],
)
def test_a_seed_that_may_count_is_no_evidence(values, state, share):
    (outcome,) = judged(endpoint(values, above(0.5), counted_from=0.5)).conditions
    assert outcome.state == state
    assert outcome.estimate.mean == pytest.approx(share)


@pytest.mark.parametrize(
    ("endpoints", "verdict"),
    [
        ([ABOVE, ABOVE], "holds"),
        ([ABOVE, BELOW], "partly"),
        ([ABOVE, WIDE], "partly"),
        ([BELOW, WIDE], "fails"),
        ([BELOW, BELOW], "fails"),
        ([WIDE, WIDE], "undecided"),
        ([[Bound(-1.0, 1.2), 1.0, 1.1]], "censored"),
    ],
)
def test_verdicts(endpoints, verdict):
    assert judged(*map(endpoint, endpoints)).verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"), [((1.0, 1.0), "holds"), ((1.0, -1.0), "partly"), ((-1.0, -1.0), "fails")]
)
def test_one_computed_number_decides_without_seeds(values, verdict):
    asked = [Endpoint("a number", lambda *, own=own: own, holds=above(0.0)) for own in values]
    assert judge_claim(Claim(0, "name", "A statement.", asked), find).verdict == verdict


def test_what_is_shown_changes_no_verdict_and_has_the_middle_of_bounds():
    """A control or a note stands beside the endpoints; it is no veto."""
    for first, second in itertools.product((ABOVE, BELOW, WIDE), repeat=2):
        alone = judged(endpoint(first))
        beside = judged(endpoint(first), shown=[endpoint(second, what="beside")])
        assert alone.verdict == beside.verdict
    values: list[Value] = [Bound(1.0, 3.0), Bound(0.0, 2.0), 3.0]
    _, outcome = judged(endpoint(ABOVE), shown=[endpoint(values, None)]).conditions
    assert outcome.estimate.mean == pytest.approx(2.0)
    assert outcome.cells(["seeds"]) == ["3"]  # No threshold that a seed could meet.
    assert str(within(0.0, of=0.3)) == "within 0 of 0.3"


def test_what_the_correction_leaves_undecided_shows_the_interval_that_says_so():
    """The first endpoint excludes its threshold at 5 %, and not at the level to which two endpoints come."""
    values = [0.505, 0.505, 1.495, 1.495]
    alone, beside = judged(endpoint(values)).primary, judged(endpoint(values), endpoint(WIDE)).primary
    assert (alone.corrected, alone.adjusted) == ("holds", None)
    assert alone.mean_text() == "1.000 [0.090, 1.910]"
    assert (beside.state, beside.corrected, beside.estimate) == ("holds", "undecided", alone.estimate)
    low, high = stats.t.interval(0.975, 3, 1.0, stats.sem(values))
    assert low < 0 < alone.p_value < 0.05 < beside.adjusted_p == pytest.approx(2 * alone.p_value)
    assert beside.cells(["state", "mean [95 %]"]) == ["undecided", f"1.000 [{low:.3f}, {high:.3f}] (97.5 %)"]
    # Where all hold, each does at its own level.
    assert judged(endpoint(values), endpoint(values)).primary.corrected == "holds"


def test_a_source_on_which_runs_disagree_is_the_users():
    runs = [
        run(0.8, seed, {"mem": [0.0] * 11}, sources={"model.d_f": source})
        for seed, source in enumerate(("paper", "sibling"))
    ]
    asked = Endpoint(
        "a measure", lambda run: float(run.config.seed), SMALL, holds=above(0.0), runs=Runs("any")
    )
    claim = Claim(0, "name", "Said.", [asked])
    (outcome,) = judge_claim(claim, lambda needs: {("", 0.8): runs}).conditions
    assert outcome.sources == {"model.d_m": "paper", "training.learning_rate": "chosen", "model.d_f": "user"}


def test_the_json_of_a_condition_has_each_number_under_its_name():
    """A contrast in which every number is another one; each side has a seed that the other lacks."""
    first, second = stored({1: 5.0, 2: 7.25, 3: 6.5, 4: 8.0}), stored({4: 1.0, 2: 2.0, 3: 0.25, 9: 50.0})
    second = Runs(second.study, "v")
    contrasted = Endpoint(
        "left minus right", value, SMALL, Other("right", at=LARGE, runs=second), at_least(3.5, 0.75),
        "because", runs=first,
    )  # fmt: skip
    claim = Claim(12, "a name", "A statement.", [contrasted], paper="Said.", section="3.4", settings=(POST,))
    finding = judge_claim(claim, find, lambda needs: f"no {needs.study}")
    found_q = [finding.model_copy(update={"q_values": q}) for q in benjamini_hochberg([finding])]
    (entry,) = Findings(claims=tuple(found_q)).to_json()["claims"]
    (found,) = entry["conditions"]
    contrast = np.array([7.25 - 2.0, 6.5 - 0.25, 8.0 - 1.0])
    low, high = stats.t.interval(0.95, 2, contrast.mean(), stats.sem(contrast))
    assert found["values"] == contrast.tolist()
    assert found["estimate"] == pytest.approx({"mean": contrast.mean(), "low": low, "high": high, "n": 3})
    assert found["p_value"] == pytest.approx(stats.ttest_1samp(contrast, 3.5).pvalue)
    assert found["adjusted_p"] == found["p_value"] == entry["q_values"]["post"]
    assert [(s["measure"], s["values"], s["runs"]) for s in found["sides"]] == [
        ("left minus right", [7.25, 6.5, 8.0], f"{first.study}, γ = 0.8"),
        ("right", [2.0, 0.25, 1.0], f"{second.study} (v), γ = 0.3"),
    ]
    assert found["runs"] == f"{first.study}, γ = 0.8 minus {second.study} (v), γ = 0.3"
    alike = judge_claim(claim, find, lambda needs: "one seed missing").conditions
    assert [outcome.absent for outcome in alike] == ["one seed missing"]
    words = {key: found[key] for key in ("relation", "threshold", "margin", "reason", "setting", "role")}
    assert words == {
        "relation": ">=", "threshold": 3.5, "margin": 0.75, "reason": "because", "setting": "post",
        "role": "endpoint",
    }  # fmt: skip
    assert (found["init_rates"], found["absent"]) == (
        "0.8 − 0.3",
        f"no {first.study}; no {second.study}",
    )
    assert (entry["number"], entry["name"], entry["section"]) == (12, "a name", "3.4")
    assert finding.primary.cells(("measure", "threshold", "mean [95 %]", "n")) == [
        "left minus right", ">= 3.5", f"{contrast.mean():.3f} [{low:.3f}, {high:.3f}]", "3",
    ]  # fmt: skip


SPREADS = {GROUP: 0.1, GELU: 0.2, POST: 0.4}
THREE: dict[Setup, list[Value]] = {setup: [1 - s, 1.0, 1 + s] for setup, s in SPREADS.items()}


def widths(finding):
    return [o.estimate.high - o.estimate.low for o in finding.conditions]


def test_variances_of_one_measure_are_pooled_over_three_settings_with_fewer_than_four_seeds():
    """Two settings alone, or settings of four seeds, have Student's interval over their own seeds."""
    pooled, alone = widths(over(THREE)), widths(over({s: THREE[s] for s in (GROUP, GELU)}))
    plain = [2 * stats.t.ppf(0.975, 2) * s / math.sqrt(3) for s in SPREADS.values()]
    assert alone == pytest.approx(plain[:2])
    assert pooled[0] / plain[0] > 1 > pooled[2] / plain[2]  # The small variance grows, the large one shrinks.
    four = {setup: [1 - s, 1 - s, 1 + s, 1 + s] for setup, s in SPREADS.items()}
    assert widths(over(four)) == pytest.approx(
        [stats.t.ppf(0.975, 3) * s * 2 / 3**0.5 for s in SPREADS.values()]
    )


def test_variances_are_told_apart_by_measure_arguments_rates_and_runs_and_by_no_words():
    def scaled(run, by):
        return by * run.value

    def kinds(*asked):
        conditions = conditions_of(Claim(0, "name", "A statement.", asked, settings=[*THREE]))
        return [c.kind for c in conditions if c.setup is GROUP]

    runs = {setup: stored(own) for setup, own in THREE.items()}
    one = Endpoint("one", partial(scaled, by=1.0), SMALL, holds=above(0.0), runs=runs)
    assert len(set(kinds(one, replace(one, what="the same in other words", unit="{} steps")))) == 1
    others = {"measure": partial(scaled, by=10.0), "at": LARGE, "minus": LARGE, "runs": Runs("another")}
    assert len(set(kinds(one, *(replace(one, **{key: other}) for key, other in others.items())))) == 5
    assert widths(over(THREE, what="one")) == widths(over(THREE, what="two"))


def test_false_discoveries_are_controlled_over_the_primary_endpoints_that_runs_test():
    """Claims of one's own have no number; a computed claim is no test, and lowers no other's q."""
    findings = [judged(endpoint(values), endpoint(BELOW)) for values in (ABOVE, WIDE, BELOW)]
    p = [finding.endpoints("")[0].p_value for finding in findings]
    computed = judged(Endpoint("x", lambda draw: ABOVE[draw], holds=above(0.0)))
    *found, of_computed = benjamini_hochberg([*findings, computed])
    assert [q[""] for q in found] == pytest.approx(stats.false_discovery_control(p))
    assert of_computed == {}
    # What a look leaves undecided at its own level is not decided at 5 % either.
    look = judged(endpoint([1.0, 1.9, 0.4, 0.8]), setting="printed")
    p_value = look.endpoints("printed")[0].p_value
    assert (look.verdict, 0.0164 < p_value < 0.05) == ("undecided", True)
    assert benjamini_hochberg([look]) == [{"printed": pytest.approx(p_value * 0.05 / 0.0164)}]


def test_the_interim_look_and_the_last_one_spend_five_per_cent_together():
    """O'Brien–Fleming: two looks at 4 and 6 of six seeds, whose z-values correlate as √(4/6)."""
    setup = BY_LABEL["printed"]
    assert [setup.level(n) for n in (2, 3)] == [None, None]
    assert [setup.look(n) for n in (3, 4, 5, 6, 7)] == [None, 4, 4, 6, 6]
    assert setup.level(5) == setup.level(4)
    limits = [stats.norm.isf(setup.level(n) / 2) for n in (4, 6)]  # type: ignore[operator]
    z = stats.multivariate_normal(cov=[[1, math.sqrt(4 / 6)], [math.sqrt(4 / 6), 1]])
    neither = z.cdf(limits, lower_limit=[-x for x in limits])
    assert 1 - neither == pytest.approx(0.05, abs=5e-4)
    assert Setup("of my own").level(2) == 0.05


def test_an_interval_at_the_level_of_a_look_says_so():
    values = [1.0, 1.1, 0.9, 1.3]
    usual, look = (judged(endpoint([*values]), setting=label, number=25) for label in ("group", "printed"))
    assert look.primary.mean_text().endswith("] (98.4 %)")
    open_below = judged(endpoint([Bound(high=x) for x in values]), setting="printed").primary
    assert open_below.mean_text().endswith("] (98.4 %)")
    equal = judged(endpoint([1.0] * 4), setting="printed").primary
    assert equal.mean_text() == "1.000"  # There is no interval.
    assert usual.primary.mean_text().endswith("]")
    assert "4 seeds, intervals of 98.4 %)" in presentation.paragraph([look])
