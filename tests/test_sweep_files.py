"""The sweeps and the map that the documentation keeps: they are what their pages say."""

from __future__ import annotations

import itertools
import json
import runpy
from pathlib import Path

import pytest

from validate.sweeps import load_sweep, plan_of

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize(("name", "runs"), [("transformer", 7 * 2 * 3 * 4), ("emb-mlp", 7 * 3 * 4)])
def test_the_phase_diagrams_have_as_many_runs_as_their_axes_give(name: str, runs: int) -> None:
    sweep = load_sweep(DOCS / "configs" / f"phases-{name}.toml")
    assert len(sweep.members) == runs
    assert f"`docs/configs/phases-{name}.toml` | {runs} |" in (DOCS / "sweeps.md").read_text()


@pytest.mark.parametrize(("name", "runs"), [("transformer", 7 * 2 * 3 * 4), ("emb-mlp", 7 * 3 * 4)])
def test_every_run_of_the_small_diagrams_is_evaluated_33_times_at_equal_steps(name: str, runs: int) -> None:
    sweep = load_sweep(DOCS / "configs" / f"phases-small-{name}.toml")
    assert len(sweep.members) == runs
    for member in sweep.members.values():
        training = member.training
        assert training.epochs * training.evaluations_per_epoch == 32 * training.evaluate_every
    rates = {m.training.learning_rate: m.training.epochs for m in sweep.members.values()}
    assert sorted(rates) == [3e-4, 1e-3, 3e-3, 1e-2]
    epochs = [rates[rate] for rate in sorted(rates)]
    assert all(longer == 2 * shorter for longer, shorter in itertools.pairwise(epochs))


@pytest.mark.long
@pytest.mark.parametrize(("name", "steps"), [("transformer", "3 991 680"), ("emb-mlp", "3 326 400")])
def test_the_phase_diagrams_have_as_many_steps_as_the_page_says(
    name: str, steps: str, tmp_path: Path
) -> None:
    plan = plan_of(load_sweep(DOCS / "configs" / f"phases-{name}.toml"), tmp_path)
    assert f"{plan.n_steps:,}".replace(",", " ") == steps
    assert steps in (DOCS / "sweeps.md").read_text()


def test_the_map_of_the_normal_approximation_is_computed() -> None:
    script = runpy.run_path(str(DOCS / "update_normal_range.py"))
    rows = json.loads((DOCS / "results" / "normal_range.json").read_text())
    assert len(rows) == len(script["Q"]) * len(script["N_Z"])
    assert (DOCS / "results" / "normal_range.md").read_text() == script["page"](rows)
    for row in (rows[0], rows[16], rows[-1]):
        found = script["distance"](row["q"], row["n_keys"])
        assert row["kolmogorov"] == pytest.approx(found.kolmogorov, rel=1e-9)
        assert row["total_variation"] == pytest.approx(found.total_variation, rel=1e-9)
