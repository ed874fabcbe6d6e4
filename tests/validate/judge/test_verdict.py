"""What values come to: states of conditions and verdicts of claims, on made-up seeds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.validate.judge.synthetic import run
from validate.judge import presentation
from validate.judge.condition import BY_LABEL, Claim, Condition, Needs, Setup, Side, by_seed
from validate.judge.outcome import MissingRunsError
from validate.judge.verdict import benjamini_hochberg, judge_claim
from validate.observe.bounds import Bound, Value

NEEDS = Needs("made-up", (0.8,))


def condition(values, threshold=0.0, **keys):
    side = Side("a measure", lambda _: dict(enumerate(values)), NEEDS)
    return Condition("a measure", (side,), threshold=threshold, **keys)


def judged(*conditions, number=0):
    return judge_claim(Claim("name", "A statement.", conditions, number), lambda needs: {})


WITHIN = {"relation": "within", "margin": 0.1}
ABOVE, BELOW, WIDE = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.3]


@pytest.mark.parametrize(
    ("values", "keys", "state", "reading"),
    [
        (ABOVE, {}, "holds", ""),
        (BELOW, {}, "fails", ""),
        (WIDE, {}, "undecided", ""),
        ([1.0], {}, "undecided", ""),
        ([1.0, 1.0, 1.0], {"margin": 0.1}, "undecided", ""),
        (BELOW, {"relation": "<"}, "holds", ""),
        ([math.nan, 1.0, 1.0], {}, "undefined", ""),
        ([math.inf, 1.0, 1.0], {}, "undefined", ""),
        ([Bound(-1.0, 1.2), 1.0, 1.1], {}, "censored", ""),
        ([Bound(), 1.0, 1.1, 1.2], {}, "censored", ""),  # Of one seed nothing is known.
        ([Bound(-1.0, 9.0), 1.0, 1.1], {}, "undecided", ""),  # Neither end would decide it.
        ([-0.6, 1.2, 2.1, Bound(1.0), Bound(1.5)], {}, "censored", ""),
        ([2.0, 2.1, 2.2, Bound(-0.1, 0.2), 1.9, 2.0], {}, "holds", ""),  # On both sides, and yet no matter.
        ([Bound(1.0, math.inf), Bound(1.1, math.inf), Bound(0.9, math.inf)], {}, "holds", ""),
        ([0.01, 0.02, 0.0], WITHIN, "holds", "no relevant effect"),
        ([0.5, 0.51, 0.49], WITHIN, "fails", ""),
        ([0.11, 0.13, 0.09], WITHIN, "undecided", ""),
        ([0.001, -0.001, 0.0], {"margin": 0.1}, "fails", "no relevant effect"),
        ([0.001, -0.001, 0.0], {"margin": 0.1, "relation": ">="}, "undecided", "at the threshold"),
        (ABOVE, {"role": "shown"}, "shown", ""),
        ([Bound(-1.0, 1.0), 2.0, 2.1], WITHIN, "censored", ""),
        ([Bound(-1.0, 1.0), Bound(-1.1, 1.2), Bound(-0.9, 0.9)], WITHIN, "censored", ""),
        ([Bound(0.01, 5.0), Bound(0.02, 5.0), Bound(1e-4, 5.1)], {"margin": 0.1}, "censored", ""),
        ([Bound(0.01), Bound(0.02), Bound(1e-4)], {"margin": 0.1}, "censored", ""),
        ([Bound(0.01, 0.02), Bound(0.0, 0.01)], WITHIN, "holds", "no relevant effect"),
    ],
)
def test_states(values, keys, state, reading):
    (outcome,) = judged(condition(values, **keys)).outcomes
    assert (outcome.state, outcome.decision.reading) == (state, reading)


@pytest.mark.parametrize(
    ("values", "verdict"), [((1.0, 1.0), "holds"), ((1.0, -1.0), "partly"), ((-1.0, -1.0), "fails")]
)
def test_one_computed_number_decides_without_seeds(values, verdict):
    sides = [(Side("a number", by_seed(lambda value=value: value, "")),) for value in values]
    assert judged(*(Condition("a number", own, threshold=0.0) for own in sides)).verdict == verdict


def test_the_interval_of_a_mean_of_bounds_reaches_from_the_low_ends_to_the_high_ones():
    low, high = [1.0, 1.2, 0.9], [2.0, 2.6, 1.9]
    half, wide = (stats.t.ppf(0.975, 2) * np.std(own, ddof=1) / math.sqrt(3) for own in (low, high))
    bounds = [Bound(*pair) for pair in zip(low, high, strict=True)], [Bound(x) for x in low]
    for values, end in zip(bounds, (np.mean(high) + wide, math.inf), strict=True):
        (outcome,) = judged(condition(values)).outcomes
        found = outcome.estimate
        assert (found.low, found.high) == pytest.approx((np.mean(low) - half, end))
    assert str(found).endswith(f"[{np.mean(low) - half:.3f}, ∞)")


def test_the_weaker_p_value_of_two_ends_counts_and_the_nearer_mean_is_shown():
    low, high = [1.0, 1.2, 0.9], [2.0, 3.6, 1.9]
    (outcome,) = judged(condition([Bound(*pair) for pair in zip(low, high, strict=True)])).outcomes
    p = [stats.ttest_1samp(end, 0.0).pvalue for end in (low, high)]
    assert outcome.state == "holds"
    assert outcome.p_value == pytest.approx(max(p)) == pytest.approx(p[1])
    assert outcome.estimate.mean == pytest.approx(np.mean(low))
    (below,) = judged(condition([Bound(-math.inf, x) for x in low], 5.0, relation="<")).outcomes
    assert (below.state, below.estimate.mean) == ("holds", pytest.approx(np.mean(low)))
    assert (below.estimate.low, below.side) == (-math.inf, "≤")


def test_a_seed_of_which_nothing_is_known_leaves_no_mean_but_a_count():
    (outcome,) = judged(condition([1.0, 1.2, 0.9, Bound(-1.0, 1.0), Bound()], 0.5)).outcomes
    assert math.isnan(outcome.estimate.mean)
    assert outcome.estimate.n == 5
    document = presentation.to_json([judge_claim(Claim("x", "X.", (outcome.condition,)), lambda _: {})])
    (plain,) = document["claims"][0]["conditions"]
    assert presentation.measured(plain)[2] == "3 of 5 seeds > 0.5"
    assert outcome.row()[5] == "1.0, 1.2, 0.9, -1 to 1, unknown"


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
    (outcome,) = judged(condition(values, 0.5, counted_from=0.5)).outcomes
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
    assert judged(*map(condition, endpoints)).verdict == verdict


def test_what_is_shown_changes_no_verdict_and_has_the_middle_of_bounds():
    """A control or a note stands beside the endpoints; it is no veto."""
    for first, second in itertools.product((ABOVE, BELOW, WIDE), repeat=2):
        alone = judged(condition(first))
        beside = judged(condition(first), replace(condition(second), role="shown"))
        assert alone.verdict == beside.verdict
    values: list[Value] = [Bound(1.0, 3.0), Bound(0.0, 2.0), 3.0]
    (outcome,) = judged(condition(values, math.nan, role="shown")).outcomes
    assert outcome.estimate.mean == pytest.approx(2.0)
    assert outcome.cells()[-1] == "3"  # No threshold that a seed could meet.
    assert condition([1.0], 0.3, relation="within").asked == "within 0 of 0.3"


def test_a_source_on_which_runs_disagree_is_the_users():
    runs = [
        run(0.8, seed, {"mem": [0.0] * 11}, sources={"model.d_f": source})
        for seed, source in enumerate(("paper", "sibling"))
    ]
    claim = Claim("name", "Said.", (condition([1.0, 2.0]),))
    (outcome,) = judge_claim(claim, lambda needs: {("", 0.8): runs}).outcomes
    assert outcome.sources == {"model.d_m": "paper", "training.learning_rate": "chosen", "model.d_f": "user"}


def test_the_json_of_a_condition_has_each_number_under_its_name():
    """A contrast in which every number is another one; each side has a seed that the other lacks."""
    first = Side("left", lambda _: {1: 5.0, 2: 7.25, 3: 6.5, 4: 8.0}, Needs("one", (0.8,)))
    second = Side("right", lambda _: {4: 1.0, 2: 2.0, 3: 0.25, 9: 50.0}, Needs("two", (0.3,), ("v",)))
    contrasted = Condition(
        "left minus right", (first, second), ">=", 3.5, margin=0.75, reason="because", setting="post"
    )
    claim = Claim("a name", "A statement.", (contrasted,), number=12, section="3.4")
    finding = judge_claim(claim, lambda needs: {}, lambda needs: f"no {needs.study}")
    (entry,) = presentation.to_json([finding])["claims"]
    (found,) = entry["conditions"]
    contrast = np.array([7.25 - 2.0, 6.5 - 0.25, 8.0 - 1.0])
    low, high = stats.t.interval(0.95, 2, contrast.mean(), stats.sem(contrast))
    assert found["values"] == contrast.tolist()
    assert found["estimate"] == pytest.approx({"mean": contrast.mean(), "low": low, "high": high, "n": 3})
    assert found["p_value"] == pytest.approx(stats.ttest_1samp(contrast, 3.5).pvalue)
    assert found["adjusted_p"] == found["p_value"] == entry["q_values"]["post"]
    assert [(s["measure"], s["values"], s["runs"]) for s in found["sides"]] == [
        ("left", [7.25, 6.5, 8.0], "one, γ = 0.8"),
        ("right", [2.0, 0.25, 1.0], "two (v), γ = 0.3"),
    ]
    words = {key: found[key] for key in ("relation", "threshold", "margin", "reason", "setting", "role")}
    assert words == {
        "relation": ">=", "threshold": 3.5, "margin": 0.75, "reason": "because", "setting": "post",
        "role": "endpoint",
    }  # fmt: skip
    assert (found["init_rates"], found["absent"]) == ("0.8 − 0.3", "no one; no two")
    assert (entry["number"], entry["name"], entry["section"]) == (12, "a name", "3.4")
    assert presentation.measured(found) == [
        "left minus right", ">= 3.5", f"{contrast.mean():.3f} [{low:.3f}, {high:.3f}]", "3",
    ]  # fmt: skip


def test_tables_have_each_verdict_in_the_column_of_its_setting():
    values = {"group": ABOVE, "GELU": BELOW, "post": WIDE, "quarter": BELOW, "pre": ABOVE}
    conditions = [condition(found, setting=label) for label, found in values.items()]
    claims = presentation.to_json([judged(*conditions, number=25)])["claims"]
    for robustness, labels in ((False, ["group", "GELU", "post"]), (True, ["quarter", "pre"])):
        header, (row,) = presentation.setting_table(claims, robustness)
        assert header == ["", "claim", *labels]
        assert row == ["25", "name", *(claims[0]["verdicts"][label] for label in labels)]
    assert claims[0]["verdicts"] == {
        "group": "holds", "GELU": "fails", "post": "undecided", "quarter": "fails", "pre": "holds",
    }  # fmt: skip
    ((told, _, number, setting, verdict, where),) = presentation.answer_rows(claims)
    assert (told, setting, verdict, where) == ("25", "group", "holds", "1/3")
    assert number.startswith("1.00 [")
    assert presentation.summary(claims[0]) == "holds (group, pre), fails (GELU, quarter), undecided (post)"
    assert f"{BY_LABEL['GELU'].name}: 1 fails" in presentation.closing_lines(claims)


def test_a_statement_that_no_run_tests_was_judged_nowhere():
    def none(needs):
        raise MissingRunsError(f"no runs of {needs.study}")

    claim = Claim("name", "A statement.", (condition(ABOVE, setting="printed"),), 2)
    untested = judge_claim(claim, none)
    assert (untested.verdict, untested.outcomes[0].missing) == ("not tested", "no runs of made-up")
    claims = presentation.to_json([judged(condition(ABOVE, setting="group"), number=25), untested])["claims"]
    at = "Judged at: group (group's code, 3 seeds). The paper's printed settings are judged from 4 seeds on."
    assert presentation.paragraph(claims).endswith(at)
    assert "Judged" not in presentation.paragraph(claims[1:])


def test_variances_of_one_measure_are_pooled_over_settings_and_of_another_are_not():
    """Three settings of one measure share a prior; a condition with another name keeps its own variance."""
    spreads = {"group": 0.1, "GELU": 0.2, "post": 0.4}
    alike = [condition([1 - s, 1.0, 1 + s], setting=label) for label, s in spreads.items()]
    other = replace(condition([1.0, 1.2, 1.4], setting="group"), what="another")
    outcomes = judged(*alike, other).outcomes
    assert {o.prior.freedom > 0 for o in outcomes[:3]} == {True}
    assert outcomes[3].prior.freedom == 0
    width = [o.estimate.high - o.estimate.low for o in outcomes[:3]]  # type: ignore[operator]
    plain = [2 * stats.t.ppf(0.975, 2) * s / math.sqrt(3) for s in spreads.values()]
    assert width[0] / plain[0] > 1 > width[2] / plain[2]  # the small variance grows, the large one shrinks


def test_false_discoveries_are_controlled_over_the_primary_endpoints_that_runs_test():
    """Claims of one's own have no number; a computed claim is no test, and lowers no other's q."""
    findings = [judged(condition(values), condition(BELOW)) for values in (ABOVE, WIDE, BELOW)]
    p = [finding.endpoints("")[0].p_value for finding in findings]
    computed = judged(replace(condition(ABOVE), sides=(Side("x", lambda _: dict(enumerate(ABOVE))),)))
    *found, of_computed = benjamini_hochberg([*findings, computed])
    assert [q[""] for q in found] == pytest.approx(stats.false_discovery_control(p))
    assert of_computed == {}
    # What a look leaves undecided at its own level is not decided at 5 % either.
    look = judged(condition([1.0, 1.9, 0.4, 0.8], setting="printed"))
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
    both = [judged(condition([*values], setting=label), number=25) for label in ("group", "printed")]
    claims = presentation.to_json(both)["claims"]
    (usual,), (look,) = (claim["conditions"] for claim in claims)
    assert presentation.measured(look)[2].endswith("] (98.4 %)")
    below = judged(condition([Bound(high=x) for x in values], setting="printed"))
    ((open_below,),) = (claim["conditions"] for claim in presentation.to_json([below])["claims"])
    assert presentation.measured(open_below)[2].endswith("] (98.4 %)")
    (equal,) = judged(condition([1.0] * 4, setting="printed")).outcomes
    assert equal.row()[5] == "1.000"  # There is no interval.
    assert presentation.measured(usual)[2].endswith("]")
    assert "4 seeds, intervals of 98.4 %)" in presentation.paragraph(claims[1:])
