"""Observations of real runs, as the studies keep them, hold what every measure of every claim asks for."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sim import train
from sim.config.run import make_run_config
from tests.validate.claims.synthetic import MEMORIES, RANGES, world
from tests.validate.conftest import TASK
from theory.task.task import task_to_dict
from validate.claims import Claim, Needs, judge_claims, ledger
from validate.claims.settings import LANGUAGE, TRANSFORMERS
from validate.claims.statements import Sample
from validate.observe import Observations, observe
from validate.studies import load_study

TRANSFORMER = {"kind": "transformer", "d_m": 12, "d_f": 8, "d_k": 4}
EMB_MLP = {"d_m": 12, "d_f": 16}
SEEN = {setup.study for setup in TRANSFORMERS} | {"scan", "composition"}
VARIANTS = {"learning-rates": ("lr1", "lr2"), "norms": ("pre-1", "post-1")}


def observed(out: Path, task: dict[str, Any], model: dict[str, Any], **data: Any) -> list[Observations]:
    config = {
        "task": task,
        "model": model,
        "data": data,
        "init_rates": [0.8],
        "seeds": [0, 1],
        "training": {
            "epochs": 2,
            "snapshot_epochs": [1],
            "snapshot_tensors": "all",
            "evaluate_every": 1,
            "learning_rate": 1e-2,
        },
    }
    return [observe(run) for run in train(make_run_config(config), out)]


@cache
def kept_patterns(study: str, rate: float) -> tuple[str, ...]:
    return load_study(study).kept_at(rate)


def as_kept(study: str, rate: float, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what the study keeps of the observables of a run at one γ."""
    patterns = kept_patterns(study, rate)
    return {name: a for name, a in arrays.items() if any(fnmatchcase(name, p) for p in patterns)}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Observations]]:
    """Two seeds of a tiny run of each kind; γ is written onto them afterwards."""
    root = tmp_path_factory.mktemp("real")
    return {
        "transformer": observed(
            root / "a", TASK | {"length": 6}, TRANSFORMER, source="draw", n_sequences=250
        ),
        "emb-mlp": observed(root / "b", TASK, EMB_MLP),
        "fig8-ranges": observed(root / "c", task_to_dict(RANGES), EMB_MLP),
        "fig8-memory": observed(root / "d", task_to_dict(MEMORIES), EMB_MLP),
    }


# A language model's observables are named after corpora that no test has; tests/validate/language has one
TRAINED = [c for c in ledger() if c.studies and c.studies != (LANGUAGE.study,)]


@pytest.mark.parametrize("claim", TRAINED, ids=lambda claim: str(claim.number))
def test_every_condition_can_be_measured(claim: Claim, found: dict[str, list[Observations]]) -> None:
    def find(needs: Needs) -> Sample:
        kind = needs.study.removesuffix("-long")
        runs = found.get(kind) or found["transformer" if needs.study in SEEN else "emb-mlp"]

        def build(_: str, rate: float, seed: int) -> Observations:
            run = runs[seed % 2]
            config = run.config.model_copy(update={"init_rate": rate, "seed": seed})
            return replace(run, config=config, arrays=as_kept(needs.study, rate, run.arrays))

        return world(build, VARIANTS.get(needs.study, ("",)))(needs)  # type: ignore[no-any-return]

    (finding,) = judge_claims([claim], find)
    assert [o.missing for o in finding.outcomes] == [""] * len(finding.outcomes)
