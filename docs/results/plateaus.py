"""Where the loss pauses: the table of plateaus.md, and with a file's name its figure.

python docs/results/plateaus.py [plateaus.png]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from theory import label_entropies
from theory.edge.display import text_table
from theory.integrate.trajectory import first_passage
from validate.figures.style import PAGE_WIDTH, PALETTE, styled
from validate.observe import Observations, kept
from validate.observe.groups import Setting, group_runs

MODELS, SIZES = {"emb-mlp": "Emb-MLP", "transformer": "Transformer"}, (5, 10, 20)
BAND = 0.1
HEADER = ("model", "K", "γ", "level", "doublings at it", "in the middle above it", "pauses")
Cell = tuple[str, int, Setting, tuple[float, ...]]  # model, K, one γ; losses of a guess, H(Y), H(Y | key)


def cells() -> Iterator[Cell]:
    """Yield the kept runs of each model, K and γ, and the levels that their task determines."""
    for model, K in product(MODELS, SIZES):
        for setting in sorted(group_runs(kept("plateaus", f"{model}-{K}")), key=lambda s: s.init_rate):
            (levels,) = label_entropies(setting.task)
            yield MODELS[model], K, setting, (math.log(setting.task.vocab_size), levels.nothing, levels.key)


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
    for model, K, setting, levels in cells():
        for name, level, above in zip(("H(Y)", "H(Y | key)"), levels[1:], levels, strict=False):
            at, middle = ([doublings(run, to) for run in setting.runs] for to in (level, (level + above) / 2))
            seeds = [", ".join(f"{x:.2f}" for x in lengths) for lengths in (at, middle)]
            pauses = sum(x >= 2 * y for x, y in zip(at, middle, strict=True))
            row = [model, str(K), f"{setting.init_rate:g}", f"{name} = {level:.2f}"]
            table.append([*row, *seeds, f"{pauses}/{len(at)}"])
    return table


@styled
def draw() -> Figure:
    """Return the loss of each run over steps, and the levels as dotted lines, in one colour for each K."""
    figure = Figure(figsize=(PAGE_WIDTH, 4.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for model, K, setting, levels in cells():
        title, colour = f"{model}, γ = {setting.init_rate:g}", PALETTE[SIZES.index(K)]
        axes = panels[[*MODELS.values()].index(model), int(setting.init_rate > 0.5)]
        axes.hlines(levels, 1, 20_000, ["0.5", colour, colour], ":")
        for label, run in zip([f"K = {K}", "", "", ""], setting.runs, strict=True):
            steps, losses = np.array([(line["step"], line["loss"]["mem"]) for line in run.metrics]).T
            axes.plot(steps, losses, color=colour, linewidth=0.8, label=label)
        axes.set(title=title, xscale="log", xlim=(40, 20_000), ylim=(0, 4.4))
    panels[0, 0].legend(loc="lower left")
    figure.supxlabel("step", fontsize="medium")
    figure.supylabel("loss", fontsize="medium")
    return figure


if __name__ == "__main__":
    print(text_table(HEADER, rows()))
    if len(sys.argv) > 1:
        draw().savefig(sys.argv[1], dpi=200)
