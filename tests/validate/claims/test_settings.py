"""The column "none" is judged as soon as runs of its study are kept, and on those of no other study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.validate.claims.synthetic import looks, refined
from tests.validate.figures.synthetic import PROVENANCE, make_observations, several
from validate.claims import Claim, Finding, MissingRunsError, judge_claims, ledger
from validate.claims.evidence import Evidence
from validate.claims.settings import NONE
from validate.figures.paper import FIGURES, kept_of
from validate.observe import kept, write_kept
from validate.observe.store import kept_file
from validate.studies import load_study

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


def test_fig_16_shows_every_run_without_norm(tmp_path: Path) -> None:
    """The two studies differ in their seeds alone: one setting, whose γ are those of either."""
    for run in several("no-norm", (0.3, 0.5, 0.8)):
        write_kept(run, kept_file("no-norm", None, run.config, tmp_path))
        if run.config.init_rate != 0.5:
            config = run.config.model_copy(update={"seed": run.config.seed + 10})
            write_kept(replace(run, config=config), kept_file(NONE.study, None, config, tmp_path))
    runs, missing = kept_of(FIGURES[16], lambda study: kept(study, folder=tmp_path))
    assert (len(runs), missing) == (10, [])
    assert "γ = 0.3 (4 seeds), 0.5 (2 seeds), 0.8 (4 seeds)" in FIGURES[16].build(runs).about
    before, after = (load_study(name).configs[None].members()[0] for name in ("no-norm", NONE.study))
    assert before.model_copy(update={"seed": after.seed}) == after
