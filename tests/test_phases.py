"""The phase diagrams: the page is made from the kept runs, and its conditions are what they say."""

from __future__ import annotations

import copy
import itertools
import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.docs_script import load_script

runs: Any = load_script("phases_runs")
conditions: Any = load_script("phases_conditions")
cost: Any = load_script("phases_cost")
script: Any = load_script("update_phases")
NAMES = [name for name in runs.SWEEPS if runs.kept_file(name).exists()]


def config(scale: float, rate: float = 1e-3, norm: str | None = "post") -> Any:
    """Return as much of a configuration as the conditions read."""
    training = SimpleNamespace(learning_rate=rate)
    return SimpleNamespace(init_rate=scale, training=training, model=SimpleNamespace(norm=norm))


def test_growth_is_the_rank_correlation_with_fishers_interval() -> None:
    column = [(config(g), g**3) for g in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)]
    assert conditions.growth(column).value == pytest.approx(1)
    column[0] = (config(0.3), 0.2)  # Between the values at 0.5 and 0.6: ranks 3, 1, 2, 4, 5, 6.
    found = conditions.growth(column)
    assert found.value == pytest.approx(1 - 6 * (4 + 1 + 1) / (6 * 35))
    half = 1.959964 * math.sqrt(1.06 / 3)
    ends = [math.tanh(math.atanh(found.value) + sign * half) for sign in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(ends)
    assert (found.side, conditions.growth([(c, -v) for c, v in column]).side) == ("above", "below")


def test_a_column_of_few_runs_or_few_scales_is_not_judged() -> None:
    few = [(config(g), g) for g in (0.3, 0.4, 0.5, 0.6, 0.7)]
    alike = [(config(g), g) for g in (0.3, 0.4, 0.5) for _ in range(3)]
    assert [conditions.growth(column).side for column in (few, alike)] == ["none", "none"]
    assert str(conditions.growth(few)) == "–"


def test_a_share_is_the_adjusted_r_squared_of_the_means() -> None:
    values = {(0.3, 1e-3): (1.0,), (0.3, 3e-3): (2.0,), (0.8, 1e-3): (3.0,), (0.8, 3e-3): (6.0,)}
    found = conditions.shares([(config(*at), value) for at, own in values.items() for value in own])
    total = 4 + 1 + 0 + 9
    assert found["γ"] == pytest.approx(1 - (0.5 + 4.5) / total * 3 / 2)
    assert found["learning rate"] == pytest.approx(1 - (2 + 8) / total * 3 / 2)
    assert found["norm"] == pytest.approx(0)
    assert math.isnan(conditions.shares([(config(0.3), 1.0), (config(0.8), 2.0)])["γ"])
    assert math.isnan(conditions.shares([(config(0.3), 1.0)] * 3)["γ"])


def test_the_interval_is_over_samples_of_cells_with_their_runs() -> None:
    cells = [[(config(g, r), g + r + s / 7) for s in (0, 1)] for g in (0.3, 0.9) for r in (0.1, 0.5)]
    rng = np.random.default_rng(3)
    drawn = [[cells[i] for i in rng.integers(4, size=4)] for _ in range(400)]
    shares = [conditions.shares([run for cell in sample for run in cell]) for sample in drawn]
    expected = np.nanquantile([each["γ"] - each["learning rate"] for each in shares], [0.025, 0.975])
    found = conditions.advantage([run for cell in cells for run in cell], "learning rate")
    np.testing.assert_allclose((found.low, found.high), expected, atol=0.1)


def test_the_axis_that_makes_the_values_explains_more() -> None:
    rng = np.random.default_rng(1)
    axes = ((0.3, 0.5, 0.7, 0.9), (1e-3, 3e-3), ("pre", "post"))
    grid = list(itertools.product(*axes))
    by_scale = [(config(*at), at[0] + 0.1 * rng.normal()) for at in grid for _ in range(2)]
    by_norm = [(config(*at), (at[2] == "pre") + 0.1 * rng.normal()) for at in grid for _ in range(2)]
    assert conditions.shares(by_scale)["γ"] > 0.8 > conditions.shares(by_scale)["norm"]
    assert conditions.advantage(by_scale, "norm").side == "above"
    assert conditions.advantage(by_norm, "norm").side == "below"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_are_runs_of_the_sweep_with_all_their_evaluations(name: str) -> None:
    kept = runs.read(name)
    assert {run["run"] for run in kept.data["runs"]} <= set(kept.sweep.members)
    assert len(kept.runs) == len(kept.data["runs"]) == kept.state["complete"]
    assert {len(metrics) for _, metrics in kept.runs} == {33}
    assert not any(origin["dirty"] for origin in kept.origins)
    assert runs.text_of(kept) == runs.kept_file(name).read_text()


def test_the_page_is_made_from_what_is_kept_and_changes_with_it() -> None:
    kept = [runs.read(name) for name in NAMES]
    assert script.page(kept) == script.PAGE.read_text()
    changed = copy.deepcopy(kept[0].data)
    valued = next(run for run in changed["runs"] if max(run["accuracy"]["rsn_train"]) >= 0.5)
    valued["accuracy"]["rsn_test"] = [1 - value for value in valued["accuracy"]["rsn_test"]]
    assert script.page([runs.Kept(NAMES[0], changed), *kept[1:]]) != script.PAGE.read_text()
    for each in kept:
        for norm in script.norms(each):
            file = script.picture(each.name, norm)
            assert file.is_file() == bool(script.diagram(each, norm))
            assert not file.exists() or f"({file.relative_to(script.PAGE.parent)})" in script.PAGE.read_text()


def test_a_sweep_that_is_not_finished_says_what_is_missing() -> None:
    kept = runs.read(NAMES[-1])
    some = [run for run in kept.data["runs"] if kept.sweep.members[run["run"]].init_rate == 0.8][:2]
    state = kept.state | {"complete": len(some), "diverged": 0}
    page = script.page([runs.Kept(kept.name, kept.data | {"runs": some, "state": state})])
    left = state["runs"] - len(some)
    assert f"{len(some)} of {state['runs']} runs complete" in page
    assert f"**{left} are not trained yet and are blank below**" in page
    assert "too few runs" in page


def test_the_cost_on_the_page_is_worked_out_from_the_kept_rates() -> None:
    data = json.loads(cost.RATES.read_text())
    assert cost.table(data) in cost.PAGE.read_text()
    (found,) = [cost.cost(name, data["rates"]) for name in ["phases-transformer"]]
    by_norm = data["rates"]["phases-transformer"]
    seconds = sum(56 * (23760 * r["step_seconds"] + 49 * r["evaluation_seconds"]) for r in by_norm.values())
    assert (found["runs"], found["steps"]) == (168, 3_991_680)
    assert found["core_seconds"] == pytest.approx(seconds)
    assert found["core_seconds"] / cost.CORES < found["on_cores"] < 1.3 * found["core_seconds"] / cost.CORES


def test_a_row_whose_basic_interval_says_something_else_is_borderline() -> None:
    near = conditions.Interval(0.16, 0.01, 0.36)
    assert (near.mirrored.low, near.mirrored.high) == pytest.approx((-0.04, 0.31))
    assert script._explains(near, "norm") == "γ, borderline"
    assert script._explains(conditions.Interval(0.76, 0.36, 0.91), "norm") == "γ"
    assert script._explains(conditions.Interval(0.1, -0.2, 0.3), "norm") == "undecided"
