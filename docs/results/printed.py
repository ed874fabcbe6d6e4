"""The numbers of printed.md, fig3a.md, and emb_mlp.md at the paper's sum of learning rates, from kept runs.

python docs/results/printed.py seeds|width|apart [fig3a.png]|positions|emb-mlp
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from validate.figures.style import PAGE_WIDTH, PALETTE, styled
from validate.judge.measures import learning
from validate.judge.measures.geometry import When, mean_cosine, ordering
from validate.judge.measures.prediction import lowest_row_correlation, near_error
from validate.judge.stats import COSINE, SHARE, over_seeds
from validate.observe import Observations, kept
from validate.observe.bounds import ends


def seeds() -> None:
    """Print when accuracies are passed, what was learned, mean cosines and the errors of eq. 14."""
    for run in (*kept("printed"), *kept("printed-seeds")):
        print("γ", run.config.init_rate, "seed", run.config.seed)
        for level in (0.1, 0.3, 0.5, 0.9):
            at_level(run, level)
        for line in [*run.metrics[200:-1:100], run.metrics[-1]]:
            print(line["epoch"], line["accuracy"], line["loss"])
        for epoch in (10, 25, 50, 100, 200, *(later for later in run.epochs if later > 200)):
            for kind in ("memory anchors", "reasoning anchors"):
                print(epoch, round(mean_cosine(run, kind, at(epoch)), 2))
            print(epoch, "eq. 14:", near_error(run, at(epoch)), lowest_row_correlation(run, at(epoch)))


def at(epoch: int) -> When:
    """Return what names this epoch for every run."""
    return lambda run: epoch


def at_level(run: Observations, level: float) -> None:
    """Print a run where its training accuracy first rises through a level, between two evaluations."""
    for before, after in zip(run.metrics, run.metrics[1:], strict=False):
        low, high = (line["accuracy"]["rsn_train"] for line in (before, after))
        if low < level <= high:
            share = (level - low) / (high - low)
            print(level, round(before["epoch"] + share * (after["epoch"] - before["epoch"]), 1))
            for kind in ("accuracy", "loss"):
                first, second = before[kind], after[kind]
                found = {name: first[name] + share * (second[name] - first[name]) for name in first}
                print(kind, {name: round(number, 3) for name, number in found.items()})
            return


def width() -> None:
    """Print endpoints 1, 3 and 4, final accuracies and doublings from sums to table, cell by cell."""
    for cell in (f"d{width}-{peak}" for width in (50, 100, 200) for peak in ("1e-4", "2e-4", "4e-4")):
        runs = kept("printed-width", cell)
        large, small = ([run for run in runs if run.config.init_rate == rate] for rate in (0.3, 0.8))
        accuracy = [[learning.matched_test_accuracy(run) for run in runs] for runs in (large, small)]
        ended = [run for run in large if run.metrics[-1]["accuracy"]["rsn_train"] >= 0.9]
        bias = [b - a for a, b in zip(*accuracy, strict=True)]
        gaps: list[Any] = [learning.loss_gap_aligned(run) for run in ended]
        changes: list[Any] = [learning.held_out_loss_change(run, since="guess") for run in ended]
        print(cell, over_seeds(bias), over_seeds(gaps), over_seeds(changes))
        for runs in (large, small):
            for part in ("mem", "rsn_test"):
                print(part, over_seeds([run.metrics[-1]["accuracy"][part] for run in runs], SHARE))
        print(*(learning.lead(run) for run in large))


CELLS = {
    "smaller task": ("printed-width", "d200-1e-4"),
    "keys": ("width-200-apart", "keys"),
    "sequences": ("width-200-apart", "sequences"),
    "length": ("width-200-apart", "length"),
    "keys, length": ("width-200-pairs", "keys-length"),
    "keys, sequences": ("width-200-pairs", "keys-sequences"),
    "length, sequences": ("width-200-pairs", "length-sequences"),
    "all: printed, 1e-5": ("printed", None),
    "printed, 1e-4": ("printed-rates", "constant-1e-4"),
    "printed, warm-up": ("printed-rates", "tenfold"),
}
"""What of the printed setting the smaller task has, or at which rate the printed one is trained."""


def when_half_of_table(run: Observations) -> list[dict[str, Any]]:
    """Return the evaluations at which half of the table is right."""
    return [line for line in run.metrics if line["accuracy"]["mem"] >= 0.5]


def apart() -> None:
    """Print what changed settings do to runs of width 200, and other learning rates to printed ones."""
    cells = {name: [*kept(*cell)] for name, cell in CELLS.items()}
    cells["all: printed, 1e-5"] += kept("printed-seeds")
    for name, runs in cells.items():
        for run in runs:
            half = [line["accuracy"]["rsn_test"] for line in when_half_of_table(run)]
            ended, change = run.metrics[-1]["accuracy"], learning.held_out_loss_change(run, since="guess")
            told = (name, run.config.init_rate, run.config.seed, learning.lead(run), half[:1], change)
            print(*told, learning.loss_gap_aligned(run), learning.loss_lead(run, "mem", "rsn_train"), ended)
    if len(sys.argv) > 2:
        draw(cells).savefig(sys.argv[2], dpi=200)


@styled
def draw(cells: dict[str, list[Observations]]) -> Figure:
    """Return how much later half of the table is right than half of the sums, a mark for each run.

    Filled where fewer than a fifth of held-out sums are right by then. Circles end their brackets.
    """
    figure = Figure(figsize=(PAGE_WIDTH, 3.4), layout="constrained")
    for axes, rate in zip(figure.subplots(1, 2, sharex=True, sharey=True), (0.3, 0.8), strict=True):
        for place, every in enumerate(cells.values()):
            runs = [run for run in every if run.config.init_rate == rate]
            for run, shift in zip(runs, np.linspace(-0.25, 0.25, len(runs)), strict=True):
                low, high = ends(learning.lead(run))
                then = when_half_of_table(run) or run.metrics[-1:]
                marker = ">" if np.isinf(high) else "<" if np.isinf(low) else "o"
                at = low if np.isinf(high) else high
                fill = "full" if then[0]["accuracy"]["rsn_test"] < 0.2 else "none"
                axes.plot(at, place + shift, marker, color=PALETTE[0], fillstyle=fill, markersize=4)
        axes.axvline(1, color="0.5", linewidth=0.8)
        axes.set(title=f"γ = {rate}", xlabel="doublings, half of sums to half of table", ylim=(9.5, -0.5))
        axes.set_yticks(range(len(cells)), cells)
    return figure


def positions() -> None:
    """Print how the other fan-in of W_pos changes held-out accuracy at equal fit, with a 90 % interval."""
    own, theirs = (
        {(run.config.init_rate, run.config.seed): learning.matched_test_accuracy(run) for run in kept(study)}
        for study in ("positions-fan-in", "group-small")
    )
    for rate in (0.3, 0.8):
        change = np.array([own[rate, seed] - theirs[rate, seed] for seed in (11, 12, 13)])
        half = 2.92 * change.std(ddof=1) / 3**0.5  # Student's t, two degrees of freedom
        print(f"{rate}: {change.mean():.3f} [{change.mean() - half:.3f}, {change.mean() + half:.3f}]")


def emb_mlp() -> None:
    """Print the anchors' cosines and order, and accuracies, where Σ learning rate is the paper's."""
    for rate in (0.3, 0.5, 0.8):
        runs = [run for run in kept("printed-emb-mlp-matched") if run.config.init_rate == rate]
        for epoch in (126, 2262):
            shares = [run.until(epoch).metrics[-1]["accuracy"] for run in runs]
            aligned = [mean_cosine(run, "memory anchors", at(epoch)) for run in runs]
            ordered = [ordering(run, at(epoch)) for run in runs]
            print(rate, epoch, over_seeds(aligned, COSINE), over_seeds(ordered, COSINE))
            print(*(over_seeds([share[part] for share in shares], SHARE) for part in ("mem", "rsn_test")))


PARTS = {"seeds": seeds, "width": width, "apart": apart, "positions": positions, "emb-mlp": emb_mlp}
if __name__ == "__main__":
    PARTS[sys.argv[1]]()
