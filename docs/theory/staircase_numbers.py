"""Print the numbers of docs/theory/staircase.md: ``python docs/theory/staircase_numbers.py [TASK ...]``.

The tasks, the scales, the draws and the bound (every ratio within 1 % of 1 at the smallest scale) were
committed before any task but the first had been run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
from printing import names_among

from sim.config.task_files import as_task
from theory import (
    EmbMLPParameters,
    Solver,
    count_population,
    draw_tables,
    escape_dose,
    escape_threshold,
    linearised_flow,
    measured_rank_steps,
    saddle_staircase,
)
from theory.edge.arrays import FloatArray

SCALES = (6e-2, 6e-3, 6e-4, 6e-5, 6e-6)
LIMIT = 6e-9
N_MODES = 4
MEASURED = Solver(rtol=1e-5, atol=1e-6)
TABLES = tomllib.loads(Path(__file__).with_name("staircase_tasks.toml").read_text(encoding="utf-8"))
TASKS = {name: as_task(table) for name, table in TABLES.items()}


def alone(C: FloatArray, initial: EmbMLPParameters) -> FloatArray:
    """Return when each mode would escape by itself: its dose over its singular value of C."""
    u, s, w = np.linalg.svd(C)
    threshold = escape_threshold(initial)
    return np.array([escape_dose(initial, u[:, i], w[i], threshold) / s[i] for i in range(N_MODES)])


def report(name: str) -> None:
    rng = np.random.default_rng(0)
    population = count_population(TASKS[name], draw_tables(TASKS[name], rng))
    C, S = population.token_label_matrix(), population.cooccurrence()
    d = len(C)
    rng = np.random.default_rng(1)
    start = EmbMLPParameters(*(rng.standard_normal(shape) for shape in ((d, 12), (12, 20), (20, d))))
    limit = LIMIT * saddle_staircase(C, S, start.scaled(LIMIT), N_MODES).times
    print(f"== {name}: limit of time × scale {limit.round(3)}", flush=True)
    for scale in SCALES:
        initial = start.scaled(scale)
        predicted = saddle_staircase(C, S, initial, N_MODES)
        rival = np.sort(alone(C, initial))
        times = np.linspace(0, 1.3 * max(predicted.times[-1], rival[-1]), 1201)
        flow = linearised_flow(C, S, initial, times, solver=MEASURED)
        measured = measured_rank_steps(flow, escape_threshold(initial), N_MODES)
        print(
            f"{scale:g}: measured × scale {(measured * scale).round(3)}; predicted / measured: staircase "
            f"{(predicted.times / measured).round(4)}, limit {(limit / scale / measured).round(3)}, "
            f"from labels {(rival / measured).round(3)}; at saddles {predicted.slow_share:.3f}; evaluations "
            f"{predicted.n_evaluations}, flow {flow.solver.n_evaluations}",
            flush=True,
        )


if __name__ == "__main__":
    for chosen in names_among(__doc__, "task", list(TASKS)):
        report(chosen)
