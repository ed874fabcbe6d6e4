"""Columns of the ledger: "none" and "quarter" are judged on the runs of their studies and of no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.data.dataset import build_dataset
from tests.validate.claims.synthetic import looks, refined
from tests.validate.figures.synthetic import PROVENANCE, make_observations, several
from theory import Task
from validate.claims import Claim, Condition, Finding, MissingRunsError, judge_claims, ledger
from validate.claims.entries.embedding import rank_step
from validate.claims.entries.learning import accuracy_step
from validate.claims.entries.mechanism import entry_step
from validate.claims.evidence import Evidence
from validate.claims.measures.order import spearman_step
from validate.claims.settings import EMB_MLP, GROUP, NONE, QUARTER, TRANSFORMERS
from validate.figures.paper import FIGURES, kept_of
from validate.observe import kept, write_kept
from validate.observe.store import kept_file
from validate.studies import load_study
from validate.studies.shared import shared_runs

SEEDS = load_study(NONE.study).configs[None].seeds


def about_none() -> list[Claim]:
    """Return the claims that are judged without layer norm, with those conditions alone."""
    asked = [(c, tuple(k for k in c.conditions if k.setting == NONE.label)) for c in ledger()]
    return [replace(claim, conditions=conditions) for claim, conditions in asked if conditions]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """Those claims, judged on what is kept of made-up runs of the study."""
    folder = tmp_path_factory.mktemp("kept")
    for seed in SEEDS:
        for rate in (0.3, 0.8):
            run = refined(looks(rate, seed - SEEDS[0], small=rate > 0.55))
            config = run.config.model_copy(update={"seed": seed})
            whole = replace(run, config=config, provenance=run.provenance | PROVENANCE)
            write_kept(whole, kept_file(NONE.study, None, config, folder))
    return judge_claims(about_none(), Evidence(folder=folder).find)


def test_one_study_stands_for_the_setting() -> None:
    assert {c.needs.study for claim in about_none() for c in claim.conditions if c.needs} == {NONE.study}
    assert {5, 6, 8, 9, 10, 11, 12, 13, 14, 17, 25, 26, 27, 29} == {claim.number for claim in about_none()}


def test_all_but_what_asks_for_another_gamma_is_tested_once_its_runs_are_kept(
    findings: list[Finding],
) -> None:
    for finding in findings:
        for outcome in finding.outcomes:
            if outcome.condition.needs is None or outcome.condition.role == "note":
                continue
            lacking = set(outcome.condition.needs.init_rates) - {0.3, 0.8}
            assert bool(outcome.missing) is bool(lacking), outcome
            assert len(outcome.values) == (0 if lacking else len(SEEDS))


@pytest.mark.parametrize("number", [8, 10, 11, 12, 14, 17, 25, 26, 29])
def test_it_holds_where_its_runs_look_as_the_paper_says(findings: list[Finding], number: int) -> None:
    (finding,) = (found for found in findings if found.claim.number == number)
    assert finding.verdict == "holds"


def test_without_them_the_earlier_runs_of_the_setting_do_not_stand_in(tmp_path: Path) -> None:
    run = make_observations("no-norm")
    write_kept(run, kept_file("no-norm", None, run.config, tmp_path))
    evidence = Evidence(folder=tmp_path)
    for claim in about_none():
        for condition in claim.conditions:
            assert condition.needs is not None
            with pytest.raises(MissingRunsError, match="no-norm-all"):
                evidence.find(condition.needs)


def conditions(number: int, label: str) -> list[Condition]:
    (claim,) = (claim for claim in ledger() if claim.number == number)
    return [c for c in claim.conditions if c.setting == label]


@pytest.mark.parametrize("number", [1, 2, 5, 6, 8, 10, 11, 13, 14, 25, 26, 29])
def test_at_a_quarter_of_the_size_they_ask_what_they_ask_of_the_primary_setting(number: int) -> None:
    quarter, group = conditions(number, QUARTER.label), conditions(number, GROUP.label)
    assert [(c.what, c.role, c.relation, str(c.threshold)) for c in quarter] == [
        (c.what, c.role, c.relation, str(c.threshold)) for c in group
    ]
    assert [c.needs for c in quarter] == [c.needs and replace(c.needs, study=QUARTER.study) for c in group]


@pytest.mark.parametrize("number", [9, 12, 27])
def test_what_is_about_the_papers_task_is_not_asked_at_a_quarter_of_it(number: int) -> None:
    assert conditions(number, GROUP.label)
    assert not conditions(number, QUARTER.label)


def test_a_quarter_of_the_size_is_the_primary_setting_but_for_size_and_rate() -> None:
    quarter = load_study(QUARTER.study).configs[None].training.model_dump()
    group = load_study(GROUP.study).configs[None].training.model_dump()
    differ = {name for name in group if quarter[name] != group[name]}
    assert differ == {"learning_rate", "final_learning_rate", "evaluation_size", "checkpoint_every"}
    assert quarter["learning_rate"] == 4 * group["learning_rate"]


def test_its_seeds_are_those_of_no_other_study() -> None:
    assert [names for names, _ in shared_runs() if QUARTER.study in names] == []


def task_of(study: str) -> Task:
    (config, *_) = load_study(study).configs.values()
    return config.build_task()


@pytest.mark.parametrize("study", [setup.study for setup in (*TRANSFORMERS, EMB_MLP)])
def test_the_steps_of_measures_are_those_of_the_studys_task(study: str) -> None:
    task = task_of(study)
    for group, tokens in (("keys", task.keys), ("reasoning anchors", task.reasoning_anchors)):
        assert rank_step(study, group) == spearman_step(len(tokens) * (len(tokens) - 1) // 2)
    if study != EMB_MLP.study:
        rows = np.arange(2, task.length + 1)
        assert entry_step(study) == pytest.approx(1 / (512 * rows.sum()))


def test_claims_17_and_18_have_their_own_studies_there() -> None:
    assert {c.needs.study for c in conditions(17, QUARTER.label) if c.needs} == {"group-no-norm-small"}
    asked = [c for c in conditions(18, QUARTER.label) if c.needs]
    decides = {(c.needs.study, c.needs.variants) for c in asked if c.needs and c.role != "note"}
    assert decides == {("group-rates", ())}
    one_each = {c.needs.variants for c in asked if c.needs and c.needs.variants}
    assert one_each == {(name,) for name in load_study("group-rates").variants}


def test_their_accuracies_have_the_steps_of_their_held_out_sums() -> None:
    data = build_dataset(load_study(QUARTER.study).configs[None].members()[0])
    assert (
        accuracy_step(QUARTER.study)
        == accuracy_step("group-no-norm-small")
        == 1 / len(data.parts["rsn_test"])
    )


@pytest.mark.parametrize(
    ("number", "studies"),
    [
        (16, ("group-no-norm", "group-no-norm-small", "no-norm-all")),
        (17, ("group-rates", "learning-rates")),
    ],
)
def test_a_figure_takes_the_first_study_that_has_both_gammas(
    number: int, studies: tuple[str, ...], tmp_path: Path
) -> None:
    """The one with a whole setting, though a likelier one has begun, and never two at once."""
    for run in several("no-norm"):
        for study in studies[1:]:
            write_kept(run, kept_file(study, None, run.config, tmp_path))
    first = make_observations("no-norm", 0.3, 5)
    write_kept(first, kept_file(studies[0], None, first.config, tmp_path))
    runs, missing = kept_of(FIGURES[number], lambda study: kept(study, folder=tmp_path))
    assert (sorted({run.config.seed for run in runs}), len(runs), missing) == ([0, 1], 4, [])
    second = make_observations("no-norm", 0.8, 5)
    write_kept(second, kept_file(studies[0], None, second.config, tmp_path))
    runs, _ = kept_of(FIGURES[number], lambda study: kept(study, folder=tmp_path))
    assert {run.config.seed for run in runs} == {5}
