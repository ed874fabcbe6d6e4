"""Where the loss pauses: the table of plateaus.md, and with a file's name its figure.

python docs/results/plateaus.py [plateaus.png]
"""

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from theory import label_entropies
from theory.edge.display import text_table
from theory.integrate.trajectory import first_passage
from validate.figures.style import PAGE_WIDTH, PALETTE, styled
from validate.observe import Observations, kept

MODELS, SIZES, RATES = {"emb-mlp": "Emb-MLP", "transformer": "Transformer"}, (5, 10, 20), (0.3, 0.8)
BAND = 0.1
HEADER = ("model", "K", "γ", "level", "doublings at it", "in the middle above it", "pauses")


def runs_of(model: str, K: int, rate: float) -> list[Observations]:
    """Return the four seeds of a model, a number of anchors and a γ."""
    own = [run for run in kept("plateaus", f"{model}-{K}") if run.config.init_rate == rate]
    return sorted(own, key=lambda run: run.config.seed)


def doublings(run: Observations, level: float) -> float:
    """Return the doublings of steps in which the loss falls from a band above a level to one below it.

    NaN if the run ends before.
    """
    steps, losses = np.array([(line["step"], line["loss"]["mem"]) for line in run.metrics], float).T
    enter, leave = (first_passage(steps, -losses, -level + sign * BAND) for sign in (-1, 1))
    return math.log2(leave / enter) if math.isfinite(leave) and enter > 0 else math.nan


def rows() -> list[list[str]]:
    """Return a line for each model, K, γ and level, with one number a seed.

    A loss pauses at a level if it is near it at least twice as long as near the middle between it and the
    level above, which is that of a uniform guess for H(Y).
    """
    table = []
    for model, K, rate in product(MODELS, SIZES, RATES):
        runs = runs_of(model, K, rate)
        (levels,) = label_entropies(runs[0].task)
        guess = math.log(runs[0].task.vocab_size)
        for name, level, above in (
            ("H(Y)", levels.nothing, guess),
            ("H(Y | key)", levels.key, levels.nothing),
        ):
            at, middle = ([doublings(run, to) for run in runs] for to in (level, (level + above) / 2))
            seeds = [", ".join(f"{x:.2f}" for x in lengths) for lengths in (at, middle)]
            pauses = sum(x >= 2 * y for x, y in zip(at, middle, strict=True))
            row = [MODELS[model], str(K), f"{rate:g}", f"{name} = {level:.2f}"]
            table.append([*row, *seeds, f"{pauses}/{len(runs)}"])
    return table


@styled
def draw() -> Figure:
    """Return the loss of each run over steps, and the levels as dotted lines, in one colour for each K."""
    figure = Figure(figsize=(PAGE_WIDTH, 4.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (model, rate) in zip(panels.flat, product(MODELS, RATES), strict=True):
        for K, colour in zip(SIZES, PALETTE, strict=False):
            runs = runs_of(model, K, rate)
            (levels,) = label_entropies(runs[0].task)
            guess = math.log(runs[0].task.vocab_size)
            axes.hlines([guess, levels.nothing, levels.key], 1, 20_000, ["0.5", colour, colour], ":")
            for label, run in zip([f"K = {K}", "", "", ""], runs, strict=True):
                steps, losses = np.array([(line["step"], line["loss"]["mem"]) for line in run.metrics]).T
                axes.plot(steps, losses, color=colour, linewidth=0.8, label=label)
        axes.set(title=f"{MODELS[model]}, γ = {rate}", xscale="log", xlim=(40, 20_000), ylim=(0, 4.4))
    panels[0, 0].legend(loc="lower left")
    figure.supxlabel("step", fontsize="medium")
    figure.supylabel("loss", fontsize="medium")
    return figure


if __name__ == "__main__":
    print(text_table(HEADER, rows()))
    if len(sys.argv) > 1:
        draw().savefig(sys.argv[1], dpi=200)
