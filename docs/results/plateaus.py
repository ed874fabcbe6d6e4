"""Where the loss pauses: the table of plateaus.md, from the kept runs of the study.

python docs/results/plateaus.py [FOLDER]     FOLDER: of kept observations; the package's own by default
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from theory import label_entropies
from theory.edge.display import text_table
from theory.integrate.trajectory import first_passage
from validate.observe import KEPT, Observations, kept

BAND = 0.1
HEADER = ("model", "K", "γ", "H(Y)", "H(Y | key)", "at H(Y | key)", "at the middle", "pauses")


def doublings(run: Observations, level: float) -> float:
    """Return the doublings of steps in which the loss falls from a band above a level to one below it.

    NaN if the run ends before.
    """
    steps, losses = np.array([(line["step"], line["loss"]["mem"]) for line in run.metrics], float).T
    enter, leave = (first_passage(steps, -losses, -level + sign * BAND) for sign in (-1, 1))
    return math.log2(leave / enter) if math.isfinite(leave) and enter > 0 else math.nan


def rows(folder: Path) -> list[list[str]]:
    """Return a line for each model, K and γ, with one number a seed."""
    table = []
    for model in ("emb-mlp", "transformer"):
        for K in (5, 10, 20):
            runs = kept("plateaus", f"{model}-{K}", folder=folder)
            (levels,) = label_entropies(runs[0].task)
            middle = (levels.nothing + levels.key) / 2
            for rate in (0.3, 0.8):
                own = sorted((r for r in runs if r.config.init_rate == rate), key=lambda r: r.config.seed)
                pairs = [(doublings(run, levels.key), doublings(run, middle)) for run in own]
                at, between = (", ".join(f"{x:.2f}" for x in side) for side in zip(*pairs, strict=True))
                pauses = sum(first >= 2 * second for first, second in pairs)
                shown = [f"{rate:g}", f"{levels.nothing:.2f}", f"{levels.key:.2f}", at, between]
                table.append([model, str(K), *shown, f"{pauses}/{len(pairs)}"])
    return table


if __name__ == "__main__":
    print(text_table(HEADER, rows(Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT)))
