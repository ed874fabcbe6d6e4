"""The ledger: each claim has endpoints with reasons, and names studies or is computed; how it is printed."""

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.validate.judge.test_verdict import ABOVE, BELOW, WIDE, endpoint, find, judged, over, value
from theory import InputError
from validate import Claim, Endpoint, Findings, above, judge_claims, ledger
from validate.judge import presentation
from validate.judge.claim import Setup
from validate.judge.claims.rows import ROWS, SENTENCES, rows_claims
from validate.judge.condition import conditions_of
from validate.judge.evidence import Evidence
from validate.judge.measures import computed
from validate.judge.settings import BY_LABEL, GELU, GROUP, POST, PRE, PRINTED, QUARTER, SETTINGS, SMALL
from validate.judge.verdict import judge_claim
from validate.observe.times import curve
from validate.studies.study import load_study, members_of

CLAIMS = ledger()


@pytest.mark.parametrize("claim", CLAIMS, ids=[str(c.number) for c in CLAIMS])
def test_a_claim_says_what_is_judged_and_why(claim):
    assert claim.name
    assert claim.statement.endswith(".")
    assert claim.endpoints
    conditions = conditions_of(claim)
    assert {c.setup.label for c in conditions} == {c.setup.label for c in conditions if c.threshold}
    # Variances are pooled by the one, and rows are read by the other.
    for told in (
        [(c.setup.label, c.kind) for c in conditions],
        [(c.setup.label, c.endpoint.what, c.contrast, *c.needs) for c in conditions],
    ):
        assert len(told) == len(set(told))
    for condition in conditions:
        asked = condition.threshold
        assert (asked is None) == (condition.role == "shown")
        if asked is None:
            continue
        assert condition.reason, condition.endpoint.what
        assert math.isfinite(asked.value), condition.endpoint.what
        assert asked.relation != "within" or asked.margin, condition.endpoint.what
        # Within a margin of a size there is no "no relevant effect": a size is asked for with >= or <=.
        assert asked.relation not in (">", "<") or not asked.margin or asked.value in (0, 1)
    testable = []
    for needs in (needs for condition in conditions if condition.threshold for needs in condition.needs):
        study = load_study(needs.study)
        assert set(needs.variants) <= set(study.variants) | {""}
        rates = {member.config.init_rate for member in members_of(study)}
        testable.append(set(needs.init_rates) <= rates)
    assert not testable or any(testable), "no setting has the runs that it needs"


def test_each_claim_of_the_twelve_rows_says_what_the_paper_says_and_where():
    assert len(ROWS) == 12
    for claim in ledger(rows_claims()):
        assert re.search("“[^”]+”", claim.paper), claim.number
        assert re.match(r"(abstract, )?(1|3\.\d)\b", claim.section), claim.number


def test_a_step_of_an_accuracy_is_that_of_the_runs():
    """One item more or less of those that are counted: no coarser, and no finer."""
    conditions = [c for claim in CLAIMS for c in conditions_of(claim)]
    stepped = [c for c in conditions if c.step and c.endpoint.what.startswith("highest r")]
    assert len({c.step for c in stepped}) > 1
    for condition in stepped:
        (needs,) = condition.needs
        runs = Evidence().cells(needs.study, *needs.variants)[SMALL]
        counts = np.concatenate([curve(run, "accuracy", "rsn_test")[1] for run in runs]) / condition.step
        np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
        assert np.gcd.reduce(counts.round().astype(int)) == 1, condition.endpoint.what


def test_a_step_of_a_rank_correlation_with_the_rates_is_that_of_their_number():
    named = ("rank correlation of γ", "Spearman of γ")
    conditions = [c for claim in CLAIMS for c in conditions_of(claim) if c.endpoint.what.startswith(named)]
    assert {c.setup.label for c in conditions} == {"quarter", "pre", "GPT-2", "3e-4"}
    for condition in conditions:
        (needs,) = condition.needs
        n = len({member.config.init_rate for member in members_of(load_study(needs.study))})
        assert condition.step == pytest.approx(12 / (n * (n**2 - 1))), condition.endpoint.what


def test_a_claim_without_runs_or_with_a_measure_of_nothing_known_is_refused():
    (claim,) = ledger([1])
    with pytest.raises(InputError, match="needs runs, but neither a study nor a setting is given"):
        conditions_of(replace(claim, settings=(Setup(""),)))[0].sides  # noqa: B018
    with pytest.raises(InputError, match="of 'value'; name its first parameter run, seed, runs, draw"):
        Endpoint("a number", lambda value: 0.0)


def test_the_answer_is_twelve_lines_of_90_characters_and_a_paragraph_of_110_words(cli):
    lines = cli("claims", code=None).out.splitlines()
    rows = lines[: lines.index("")]
    assert [row[:4].split() for row in rows] == [[str(n), row[3]] for n, row in enumerate(rows, 1)]
    assert len(rows) == 12
    assert max(map(len, rows)) <= 90
    said = lines[13]
    assert said.startswith("Of the paper's statements ")
    assert len(said.split()) <= 110
    counted = Counter(row[3] for row in rows)
    assert len(counted) > 1
    assert f"{counted['✓']} hold, {counted['~']} hold partly, {counted['✗']} fail." in said


def test_a_sentence_of_the_answer_is_said_only_with_its_verdicts():
    claims = judge_claims(ledger([7]), Evidence().find)
    assert not any(words in presentation.paragraph(claims) for words, _ in SENTENCES)
    (words, asked) = SENTENCES[-1]
    both = [claims[0], claims[0].model_copy(update={"number": 28, "verdict": "fails"})]
    assert asked == {7: "holds", 28: "fails"}
    assert words in presentation.paragraph(both)


def test_the_json_is_as_its_schema_says(cli):
    printed = cli("claims", "25", "2", "--json", code=None)
    document = printed.json()
    schema = Findings.model_json_schema(mode="serialization")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    changes: list[dict[str, Any]] = [{"schema": "anchorflow/claims/3"}, {"claims": [{}]}, {"extra": 1}]
    for broken in changes:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | broken, schema)
    assert [claim["number"] for claim in document["claims"]] == [25, 2]
    assert printed.code == int(any(claim["against_the_paper"] for claim in document["claims"]))


@pytest.mark.parametrize("shown", [[], ["MLP"], ["printed", "pre"]])
def test_a_table_explains_the_settings_and_the_verdicts_that_it_shows(shown):
    found = presentation.explanations(["", "claim", *shown], [["1", "a claim", "holds", "partly"]])
    assert found[:-1] == [f"{s.label}: {s.name}; {s.meaning}." for s in SETTINGS if s.label in shown]
    assert found[-1].startswith("partly: ")
    for mark in "≥≤≈":
        (told,) = presentation.explanations(["", "number"], [["1", f"{mark} 0.50 [0.20, ∞)"]])
        assert told.startswith(f"{mark}: a bound")


def test_tables_have_each_verdict_in_the_column_of_its_setting():
    finding = over({GROUP: ABOVE, GELU: BELOW, POST: WIDE, QUARTER: BELOW, PRE: ABOVE}, number=25)
    claims = [finding]
    for robustness, labels in ((False, ["group", "GELU", "post"]), (True, ["quarter", "pre"])):
        header, (row,) = presentation.setting_table(claims, robustness)
        assert header == ["", "claim", *labels]
        assert row == ["25", "name", *(finding.verdicts[label] for label in labels)]
    assert finding.verdicts == {
        "group": "holds", "GELU": "fails", "post": "undecided", "quarter": "fails", "pre": "holds",
    }  # fmt: skip
    ((told, _, number, setting, verdict, where),) = presentation.answer_rows(claims)
    assert (told, setting, verdict, where) == ("25", "group", "holds", "1/3")
    assert number.startswith("1.00 [")
    assert presentation.summary(finding) == "holds (group, pre), fails (GELU, quarter), undecided (post)"
    assert f"{BY_LABEL['GELU'].name}: 1 fails" in presentation.closing_lines(claims)


def test_a_statement_that_no_run_tests_was_judged_nowhere():
    claim = Claim(
        2,
        "name",
        "A statement.",
        [Endpoint("a measure", value, SMALL, holds=above(0.0))],
        settings=(PRINTED,),
    )
    untested = judge_claim(claim, find)
    assert (untested.verdict, untested.primary.missing) == ("not tested", "no runs of printed")
    claims = [judged(endpoint(ABOVE), setting="group", number=25), untested]
    at = "Judged at: group (group's code, 3 seeds). The paper's printed settings are judged from 4 seeds on."
    assert presentation.paragraph(claims).endswith(at)
    assert "Judged" not in presentation.paragraph(claims[1:])


@pytest.mark.parametrize(
    ("endpoints", "numbers"),
    [
        ([(ABOVE, "first {}"), (ABOVE, "second {}")], ["first 1.00 [0.75, 1.25]"]),
        ([(WIDE, "first {}"), (BELOW, "second {}")], ["second -1.00 [-1.25, -0.75]"]),
        (
            [(WIDE, "first {}"), (BELOW, "second {}"), (ABOVE, "{} third")],
            ["1.00 [0.75, 1.25] third", "second -1.00"],
        ),
        ([(WIDE, "first {}"), (ABOVE, "{} last")], ["1.00 [0.75, 1.25] last", "first 0.10"]),
    ],
)
def test_a_row_shows_the_endpoints_that_decide_it_with_their_units(endpoints, numbers):
    """The primary one if all hold, the first that fails, or one that holds and the first that is lacking."""
    finding = judged(*(endpoint(values, unit=unit) for values, unit in endpoints))
    told = [o.with_unit for o in presentation.deciding([finding])]
    assert len(told) == len(numbers)
    assert all(one.startswith(wanted) for one, wanted in zip(told, numbers, strict=True))


@pytest.mark.parametrize(
    ("number", "verdict"), [(7, "holds"), (19, "holds"), (20, "holds"), (28, "fails"), (38, "holds")]
)
def test_computed_claims(number, verdict):
    """Props. 2-3 fail as printed: their form leaves out the last position's own weight."""
    (claim,) = ledger([number])
    (finding,) = judge_claims([replace(claim, shown=())], lambda needs: pytest.fail("no run is needed"))
    assert finding.verdict == verdict, [(o.measure, o.state) for o in finding.conditions]


def test_the_leading_error_is_small_for_small_weights_but_not_of_scrambled_laws():
    weights = computed.weights(0.5, 0, 10).scaled(0.01)
    assert computed.leading_error(weights, 10) < 1e-4
    assert computed.leading_error(weights, 10, scramble=True) > 0.3


def test_powers_of_q_tell_skewed_anchors_from_symmetric_ones():
    symmetric, skewed = (computed.kolmogorov_power(skewed=skewed) for skewed in (False, True))
    assert symmetric < -0.9 < -0.6 < skewed < -0.4
    # Of the sums of q skewed anchors the first term of Edgeworth's series is nearly all.
    assert computed.skewness_share() == pytest.approx(1, abs=0.1)


def test_the_inner_products_tell_theorem_1_from_no_shape_at_all_and_the_bound_does_not():
    """Relative to themselves zero comes no nearer with q; the bound holds for noise alone."""
    assert computed.difference_power() < -0.9
    assert computed.difference_power(shape=False) == pytest.approx(0, abs=1e-12)
    with_shape, without = (computed.bound_ratio(400, 4, 0.3, 0, shape=shape) for shape in (True, False))
    assert with_shape != without < 1
