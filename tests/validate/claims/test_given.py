"""Given runs answer the claims of a study that they could be runs of, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sim.config.run import MemberConfig, make_member_config
from theory import InputError
from validate.claims import Claim, Condition, Needs, each, ledger
from validate.claims.likeness import AMOUNTS, LOOKS, is_of_study
from validate.claims.matching import GivenRuns, Match
from validate.claims.statements import ALL_VARIANTS
from validate.claims.verdicts import MissingRunsError
from validate.observe import Observations
from validate.report.rows import why_none_is_tested
from validate.studies import load_study


def run(config: MemberConfig, **training: Any) -> Observations:
    data = config.model_dump(mode="json")
    changed = make_member_config(data | {"training": data["training"] | training})
    return Observations(changed, {}, [], (0,), {})


def members(study: str, variant: str | None = None, **training: Any) -> list[Observations]:
    return [run(config, **training) for config in load_study(study).configs[variant].members()]


def given(*runs: Observations) -> GivenRuns:
    return GivenRuns(tuple(runs))


def test_settings_named_here_exist() -> None:
    data = members("transformer")[0].config.model_dump()
    known = {f"{section}.{key}" for section in ("model", "data", "training") for key in data[section]}
    assert known >= AMOUNTS | LOOKS


def test_a_run_is_of_a_study_however_it_was_looked_at_and_no_other_setting_may_differ() -> None:
    study = load_study("emb-mlp").configs[None]
    looks = {
        "evaluate_every": 1,
        "evaluations_per_epoch": 2,
        "evaluation_size": 77,
        "snapshot_epochs": [3],
        "snapshot_tensors": "all",
        "checkpoint_every": 7,
    }
    own = study.training.model_dump(mode="json")
    assert all(own[key] != value for key, value in looks.items() if key != "evaluate_every")
    assert is_of_study(members("emb-mlp", **looks)[0].config, study)
    for key, value in (("epochs", 3), ("learning_rate", 0.5), ("batch_size", 7), ("dtype", "float64")):
        assert not is_of_study(members("emb-mlp", **{key: value})[0].config, study)


def test_a_studys_own_runs_stand_for_it_by_gamma_and_seed() -> None:
    runs = given(*reversed(members("emb-mlp")))
    found = runs.find(Needs("emb-mlp", (0.3, 0.8)))
    assert {cell: [o.config.seed for o in seeds] for cell, seeds in found.items()} == {
        ("", 0.3): [0, 1, 2],
        ("", 0.8): [0, 1, 2],
    }
    match = runs.match("emb-mlp", "")
    assert match is not None
    assert match.differences == ()
    assert runs.rates_of("emb-mlp", "") == (0.3, 0.5, 0.8)


def test_how_a_run_was_looked_at_does_not_matter_and_how_long_it_was_is_told() -> None:
    often = given(*members("emb-mlp", evaluate_every=1, snapshot_epochs=[3])).match("emb-mlp", "")
    assert often is not None
    assert often.differences == ()
    short = given(*members("emb-mlp", epochs=50)).match("emb-mlp", "")
    assert short is not None
    assert short.differences == ("training.epochs = 50 (study: 1000)",)


def test_one_seed_observed_in_two_ways_is_refused() -> None:
    """Taken as two seeds it would have an interval of no width."""
    once, twice = (members("emb-mlp", evaluate_every=every)[0] for every in (1, 2))
    with pytest.raises(InputError, match="one seed would count twice; name one of the two"):
        given(once, twice)


def test_the_nearest_runs_stand_for_a_study() -> None:
    exact = members("emb-mlp")
    runs = given(*members("emb-mlp", epochs=50), *exact).match("emb-mlp", "")
    assert runs is not None
    assert set(map(id, runs.runs)) == set(map(id, exact))


@pytest.mark.parametrize(
    ("of", "study", "training"),
    [
        ("emb-mlp", "transformer", {}),  # Another model and task.
        ("no-norm", "transformer", {}),  # Another network.
        ("emb-mlp", "emb-mlp", {"optimizer": "sgd"}),
        ("emb-mlp", "emb-mlp", {"frozen": ["W1"]}),
        ("emb-mlp", "emb-mlp", {"clip_norm": 0.0}),
    ],
)
def test_runs_of_something_else_do_not_stand_for_a_study(
    of: str, study: str, training: dict[str, Any]
) -> None:
    runs = given(*members(of, **training))
    assert runs.match(study, "") is None
    with pytest.raises(MissingRunsError, match=f"no given run stands for {study}"):
        runs.find(Needs(study, (0.8,)))


def test_the_variants_of_a_study_are_not_confused() -> None:
    """They differ in the learning rate alone, which a study without variants leaves open."""
    variant = load_study("learning-rates").variants[0]
    runs = given(*members("learning-rates", variant))
    assert runs.match("learning-rates", variant) is not None
    assert all(runs.match("learning-rates", v) is None for v in load_study("learning-rates").variants[1:])
    with pytest.raises(MissingRunsError, match="no given run stands for learning-rates"):
        runs.find(Needs("learning-rates", (0.8,), ALL_VARIANTS))


def test_missing_gammas_are_named() -> None:
    runs = given(*(o for o in members("emb-mlp") if o.config.init_rate == 0.3))
    with pytest.raises(MissingRunsError, match=r"emb-mlp: no run at γ = 0.8"):
        runs.find(Needs("emb-mlp", (0.3, 0.8)))
    with pytest.raises(MissingRunsError, match="1 of at least 7 γ"):
        runs.find(Needs("emb-mlp", least_rates=7))


def test_claims_of_other_runs_are_not_tested_and_say_why() -> None:
    """Nothing is computed for them, nor for claims about the theory alone."""
    findings = given(*members("emb-mlp", optimizer="sgd", learning_rate=0.5)).judge(ledger())
    assert {f.verdict for f in findings} == {"not tested"}
    reasons = {f.claim.number: f.outcomes[0].missing for f in findings}
    assert "no given run stands for transformer" in reasons[2]
    assert reasons[7] == "needs no runs: anchorflow claims 7"


def test_the_nearest_study_is_named_with_what_differs() -> None:
    """Runs of a study's variant stand for it if nothing differs: how they differ is said all the same."""
    near = given(*members("group-rates", "lr4e-3", epochs=20, warmup_epochs=3)).nearest_of(ledger())
    text = why_none_is_tested(near)
    assert "group-rates (lr4e-3), differs in training.epochs: 20 for 200; training.warmup_epochs: 3" in text
    assert "other tasks or models" not in text
    of_study = given(*members("emb-mlp")).nearest_of(ledger())
    assert of_study is not None
    assert (of_study.study, of_study.differing) == ("emb-mlp", {})
    assert "of the study emb-mlp, but not all of it" in why_none_is_tested(of_study)


def test_runs_of_another_task_are_near_no_study() -> None:
    """However few settings differ: the task is none of them."""
    (config, *_) = load_study("emb-mlp").configs[None].members()
    task = {"keys": "40..49", "n_anchors": 1, "length": 2, "vocab_size": 80, "memory_anchors": "1..3"}
    other = make_member_config(config.model_dump(mode="json") | {"task": task})
    near = given(Observations(other, {}, [], (0,), {})).nearest_of(ledger())
    assert near is not None
    assert "about other tasks or models than these runs" in why_none_is_tested(near)
    assert "more settings" in why_none_is_tested(
        Match("a", "", (), {f"training.{key}": ("1", "2") for key in "abcdefg"})
    )


def test_a_study_of_another_task_is_never_nearer() -> None:
    other = members("fig8-memory", "emb-mlp")[0].config.model_dump(mode="json")
    task = members("emb-mlp")[0].config.model_dump(mode="json")["task"]
    changed = Observations(make_member_config(other | {"task": task}), {}, [], (0,), {})
    needs = [Needs("fig8-memory", (0.8,), ("emb-mlp",)), Needs("causal", (0.8,), ("shuffled",))]
    claim = Claim("n", "s", tuple(Condition("c", lambda _: [0.0], needs=each) for each in needs), 1)
    near = given(changed).nearest_of([claim])
    assert near is not None
    assert (near.study, near.variant) == ("causal", "shuffled")
    assert len(near.differing) > 1


def test_a_claim_is_judged_with_its_own_threshold() -> None:
    seeds = Condition("seed", each(lambda o: o.config.seed), ">=", -5.0, needs=Needs("emb-mlp", (0.8,)))
    claim = Claim("n", "s", (seeds,), 1)
    (finding,) = given(*members("emb-mlp")).judge([claim])
    assert finding.verdict == "holds"
    assert finding.outcomes[0].values == (0.0, 1.0, 2.0)
    assert [m.study for m in given(*members("emb-mlp")).matches_of([claim])] == ["emb-mlp"]


def test_a_measure_that_these_runs_do_not_allow_is_not_tested() -> None:
    """As one at an epoch at which they have no snapshot."""
    at_seven = Condition("gram", each(lambda o: float(o.at("gram", 7)[0, 0])), needs=Needs("emb-mlp", (0.8,)))
    arrays = {"gram": np.ones((1, 2, 2))}
    runs = [Observations(o.config, {}, [], (0,), arrays) for o in members("emb-mlp")]
    (finding,) = given(*runs).judge([Claim("n", "s", (at_seven,), 1)])
    assert finding.verdict == "not tested"
    assert "no snapshot" in finding.outcomes[0].missing
