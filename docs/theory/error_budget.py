"""The error budget of the theory: how long each rung of the ladder of flows can be trusted, over γ.

python docs/theory/error_budget.py            compute (about five minutes on one core), keep and draw
python docs/theory/error_budget.py --draw     draw from the kept rows
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
from printing import has_flag, redraw

from theory import Horizon, Solver, Task, count_population, draw_tables, validity_horizon
from validate.figures import ErrorBudget, new_axes

KEPT = Path(__file__).with_suffix(".json")
GAMMAS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BOUNDS = (0.05, 0.2)


def compute() -> list[Horizon]:
    """Follow every rung of the paper's Emb-MLP from one drawn start, rescaled to each γ."""
    task = Task.paper(length=3)
    population = count_population(task, draw_tables(task, np.random.default_rng(1)))
    anchors = list(task.anchors)
    rows = []
    for gamma in GAMMAS:
        rows += validity_horizon(
            population,
            anchors,
            [gamma],
            BOUNDS,
            d_m=200,
            d_f=512,
            rng=np.random.default_rng(0),
            solver=Solver(rtol=1e-3),
        )
        print(f"γ = {gamma} done", flush=True)
    return rows


def keep(rows: list[Horizon]) -> None:
    """Write the rows as JSON, which has no infinity: null is a horizon that was not reached."""
    plain = [dataclasses.asdict(r) | {"time": r.time if math.isfinite(r.time) else None} for r in rows]
    KEPT.write_text(json.dumps(plain, indent=1) + "\n")


def kept() -> list[Horizon]:
    """Read the rows back."""
    return [
        Horizon(**(row | {"time": math.inf if row["time"] is None else row["time"]}))
        for row in json.loads(KEPT.read_text())
    ]


def draw(rows: list[Horizon]) -> None:
    """Draw one panel a bound."""
    figure, axes = new_axes(1, len(BOUNDS), size=(3.8, 3.0))
    for ax, bound in zip(axes, BOUNDS, strict=True):
        ErrorBudget.from_horizons(rows, bound).plot(ax)
    axes[-1].legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for suffix in (".png", ".svg"):
        redraw(figure, KEPT.with_suffix(suffix))


if __name__ == "__main__":
    if not has_flag(__doc__, "--draw", "draw from the kept rows"):
        keep(compute())
    draw(kept())
