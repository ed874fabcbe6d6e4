"""The ledger is data: a claim can be read, has endpoints with reasons, and names studies or is computed."""

import itertools
import json
import math
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from theory import InputError, Task, count_population
from validate import judge_claims, ledger
from validate.judge.condition import SETTINGS, SMALL
from validate.judge.evidence import Evidence
from validate.judge.ledger import read_claims
from validate.judge.measures import computed
from validate.judge.presentation import MAIN, explanations
from validate.observe.times import curve
from validate.studies import load_study, members_of

CLAIMS = ledger()


@pytest.mark.parametrize("claim", CLAIMS, ids=[str(c.number) for c in CLAIMS])
def test_a_claim_says_what_is_judged_and_why(claim):
    assert claim.name
    assert claim.statement.endswith(".")
    endpoints = [c for c in claim.conditions if c.role == "endpoint"]
    assert endpoints
    assert {c.setting for c in claim.conditions} == {c.setting for c in endpoints}
    # Variances are pooled, and rows are read, by these.
    labels = [(c.setting, c.what, c.contrast, *(n.init_rates for n in c.needs)) for c in claim.conditions]
    assert len(labels) == len(set(labels))
    for condition in endpoints:
        assert condition.reason, condition.what
        assert math.isfinite(condition.threshold), condition.what
        assert condition.relation != "within" or condition.margin, condition.what
        # Within a margin of a size there is no "no relevant effect": a size is asked for with >= or <=.
        assert condition.relation not in (">", "<") or not condition.margin or condition.threshold in (0, 1)
    testable = []
    for condition in endpoints:
        for needs in condition.needs:
            study = load_study(needs.study)
            assert set(needs.variants) <= set(study.variants) | {""}
            rates = {member.config.init_rate for member in members_of(study)}
            testable.append(set(needs.init_rates) <= rates)
    assert not testable or any(testable), "no setting has the runs that it needs"


def test_a_step_of_an_accuracy_is_that_of_the_runs():
    """One item more or less of those that are counted: no coarser, and no finer."""
    stepped = [c for claim in CLAIMS for c in claim.conditions if c.step and c.what.startswith("highest r")]
    assert len({c.step for c in stepped}) > 1
    for condition in stepped:
        (needs,) = condition.needs
        runs = Evidence().cells(needs.study, *needs.variants)[SMALL]
        counts = np.concatenate([curve(run, "accuracy", "rsn_test")[1] for run in runs]) / condition.step
        np.testing.assert_allclose(counts, counts.round(), atol=1e-6)
        assert np.gcd.reduce(counts.round().astype(int)) == 1, condition.what


def test_a_step_of_a_rank_correlation_with_the_rates_is_that_of_their_number():
    named = ("rank correlation of γ", "Spearman of γ")
    conditions = [c for claim in CLAIMS for c in claim.conditions if c.what.startswith(named)]
    assert {c.setting for c in conditions} == {"quarter", "pre", "GPT-2", "3e-4"}
    for condition in conditions:
        (needs,) = condition.needs
        n = len({member.config.init_rate for member in members_of(load_study(needs.study))})
        assert condition.step == pytest.approx(12 / (n * (n**2 - 1))), condition.what


def test_the_answer_is_a_paragraph_and_twelve_rows_of_80_columns(cli):
    lines = cli("claims", code=None).out.splitlines()
    first = lines.index("twelve statements of the paper")
    assert lines[0].startswith("Of the paper's statements these hold: ")
    second = lines.index("why some hold only partly")
    rows = [line for line in lines[first + 2 : second] if line[:1].isdigit()]
    assert len(rows) == 12
    (text,) = (row for row in rows if row.startswith("33+ "))
    assert "partly" in text
    statements = [line[line.index("  ") :].strip().partition("  ")[0] for line in rows]
    longest, main = (max(texts, key=len) for texts in (statements, MAIN))
    assert len(f"33+  {longest}  -0.33 [-0.42, -0.02]  {main}  undecided  0/6 ~4") <= 80
    lacking = [line for line in lines[second + 2 :] if line[:1].isdigit()]
    for claim in cli("claims", "32", "34", "--json", code=None).json()["claims"]:
        told = [line for line in lacking if line.split()[0] == str(claim["number"])]
        own = [c for c in claim["conditions"] if (c["setting"], c["role"]) == (claim["setting"], "endpoint")]
        assert [line.split()[-1] for line in told] == [c["state"] for c in own if c["state"] != "holds"]


def test_the_json_is_as_its_schema_says(cli):
    printed = cli("claims", "25", "2", "--json", code=None)
    document = printed.json()
    schema = json.loads((files("validate") / "schemas" / "claims.schema.json").read_text())
    jsonschema.validate(document, schema)
    assert [claim["number"] for claim in document["claims"]] == [25, 2]
    assert printed.code == int(any(claim["against_the_paper"] for claim in document["claims"]))


def test_all_shows_each_verdict_below_its_setting(cli):
    claims = cli("claims", "2", "26", "--json", code=None).json()["claims"]
    verdicts = {claim["number"]: claim["verdicts"] for claim in claims}
    lines = cli("claims", "2", "26", "--all", code=None).out.splitlines()
    for title, robustness in (("the paper's claims, by setting", False), ("checks of robustness", True)):
        first = lines.index(title) + 1
        labels = lines[first].split()[1:]
        assert labels == [s.label for s in SETTINGS if s.robustness is robustness and s.label in verdicts[26]]
        places = [*(lines[first].index(f" {label}") + 1 for label in labels), None]
        for line in lines[first + 1 : first + 3]:
            cells = [line[a:b].strip() for a, b in itertools.pairwise(places)]
            own = verdicts[int(line.split()[0])]
            assert cells == [own.get(label, "") for label in labels]


CLAIM = """
[[claim]]
number = 90
name = "memory stays empty"
statement = "With small weights nothing is memorised in the end."
settings = ["MLP"]

[[claim.endpoint]]
what = "memory accuracy after training"
measure = "spike"
at = 0.8
holds = "<= 0.1"
reason = "a tenth of the table"
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('["MLP"]', '["emb-mlp"]', "setting = 'emb-mlp': unknown setting"),
        ("holds", "hold", "claim 90, endpoint = 'hold': unknown key; did you mean 'holds'"),
        ("settings =", "setting =", "claim 90 = 'setting': unknown key; did you mean 'settings'"),
        ('settings = ["MLP"]', "", "measure = 'spike': needs runs"),
        ("spike", "spyke", "measure = 'spyke': unknown measure"),
        ('measure = "spike"', "", "claim 90, endpoint = 'measure': a key that is missing"),
        ('name = "memory stays empty"', "", "claim 90 = 'name': a key that is missing"),
        ("<= 0.1", "=< 0.1", "holds = '=< 0.1': not a threshold"),
        ("<= 0.1", "<=0.1", "holds = '<=0.1': not a threshold"),
        ("<= 0.1", "within 0.1", "holds = 'within 0.1': not a threshold"),
        ("reason", 'range = "shares"\nreason', "range = 'shares': unknown range; did you mean 'share'"),
        ("reason", 'step = "tables"\nreason', "step = 'tables': unknown step; did you mean 'table'"),
    ],
)
def test_a_mistake_in_a_claim_s_file_is_named(right, wrong, told, tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM)
    (claim,) = read_claims(path)
    assert [str(needs) for condition in claim.conditions for needs in condition.needs] == [
        "printed-emb-mlp-matched, γ = 0.8"
    ]
    path.write_text(CLAIM.replace(right, wrong))
    with pytest.raises(InputError) as refused:
        read_claims(path)
    assert told in str(refused.value)


@pytest.mark.parametrize("shown", [[], ["MLP"], ["printed", "pre"]])
def test_a_table_explains_the_settings_and_the_verdicts_that_it_shows(shown):
    found = explanations(["", "claim", *shown], [["1", "a claim", "holds", "partly"]])
    assert found[:-1] == [f"{s.label}: {s.name}; {s.meaning}." for s in SETTINGS if s.label in shown]
    assert found[-1].startswith("partly: ")


@pytest.mark.parametrize("mark", ["≥", "≤", "≈"])
def test_every_mark_of_a_bound_is_explained(mark):
    (found,) = explanations(["", "number"], [["1", f"{mark} 0.50 [0.20, ∞)"]])
    assert found.startswith(f"{mark}: a bound")


@pytest.fixture
def small(monkeypatch):
    """Take a task of eight keys and narrow matrices in place of the paper's."""
    task = Task(
        keys=range(20, 28), reasoning_anchors=range(8, 12), memory_anchors=range(1, 4), n_anchors=2,
        length=3, vocab_size=60,
    )  # fmt: skip
    population = count_population(task)
    monkeypatch.setattr(computed, "population", lambda: population)
    monkeypatch.setattr(computed, "D_M", 20)
    monkeypatch.setattr(computed, "D_F", 30)
    computed.error_order.cache_clear()
    yield
    computed.error_order.cache_clear()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("number", "verdict"), [(7, "holds"), (19, "holds"), (20, "holds"), (28, "fails"), (38, "holds")]
)
def test_computed_claims(number, verdict):
    """Props. 2-3 fail as printed: their form leaves out the last position's own weight."""
    (finding,) = judge_claims(ledger([number]), lambda needs: pytest.fail("no run is needed"))
    assert finding.verdict == verdict, [(o.condition.what, o.state) for o in finding.outcomes]


@pytest.mark.usefixtures("small")
def test_the_leading_error_is_small_for_small_weights_but_not_of_scrambled_laws():
    weights = computed.weights(0.5, 0).scaled(0.01)
    assert computed.leading_error(weights) < 1e-4
    assert computed.leading_error(weights, scramble=True) > 0.3


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
