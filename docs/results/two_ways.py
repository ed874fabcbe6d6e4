"""Two ways to learn the sums: the table of two_ways.md, and with a file's name its figure.

python docs/results/two_ways.py [two_ways.png]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from matplotlib.figure import Figure

from theory.edge.arrays import FloatArray
from theory.edge.display import text_table
from validate.figures.moments import ON_KEY, on_key
from validate.figures.style import PALETTE, styled
from validate.judge.measures.geometry import mean_cosine
from validate.judge.measures.learning import matched_test_accuracy
from validate.observe import Observations, kept
from validate.observe.groups import group_runs

EARLY, LAST = 10, 200


def first_six(init_rate: float) -> list[Observations]:
    """Return seeds 0 to 5 of the printed setting, up to epoch 200."""
    runs = [run for name in ("printed", "printed-seeds") for run in kept(name)]
    return [run.until(LAST) for run in runs if run.config.init_rate == init_rate]


def on_anchors(run: Observations, epoch: int) -> float:
    """Return the same attention on the two anchors, which follow the key; over sums and tables."""
    rows = run.at("last_attention", epoch)
    return float(np.mean([row[place + 1 : place + 3].sum() for place, row in enumerate(rows)]))


def half_learned(run: Observations) -> tuple[float, int]:
    """Return the first epoch with half of the training sums right, and that of the nearest snapshot."""
    half = next(line["epoch"] for line in run.metrics if line["accuracy"]["rsn_train"] >= 0.5)
    return half, min(run.epochs, key=lambda epoch: abs(epoch - half))


def value_direction(run: Observations, epoch: int) -> tuple[float, float]:
    """Return what the first layer's W_V reads most.

    Its top direction's mean cosine with the reasoning anchors, and |r| of its cosine with the key's number.
    """
    anchors, keys = np.split(run.at("wv_direction", epoch), [len(run.task.anchors)])
    reasoning = [run.task.anchors.index(anchor) for anchor in run.task.reasoning_anchors]
    numbers = np.corrcoef(keys, np.arange(len(keys)))[0, 1]
    return float(anchors[reasoning].mean()), float(abs(numbers))


COLUMNS = {f"on the key, epoch {EARLY}": ".2f", "on the anchors, end": ".2f", "rank of W_Q 1": ".0f"}
COLUMNS |= {"half at epoch": ".0f", "held-out then": ".3f", "averages then": ".2f"}
COLUMNS |= {"W_V: anchors": ".2f", "W_V: numbers": ".2f", "table, end": ".2f"}


def row(group: str, run: Observations) -> list[str]:
    """Return a seed's row of the table."""
    half, near = half_learned(run)
    last, rank = run.epochs[-1], float(run.at("effective_rank/0.W_Q", EARLY))
    numbers = [on_key(run, EARLY), on_anchors(run, last), rank, half, matched_test_accuracy(run)]
    table = run.metrics[-1]["accuracy"]["mem"]
    numbers += [run.at("lemma1_share", near)[0], *value_direction(run, last), table]
    return [group, str(run.config.seed), *map(format, numbers, COLUMNS.values())]


Later = tuple[Callable[[Observations], bool], str, str]
TABLE: Later = (lambda run: run.metrics[-1]["accuracy"]["mem"] < 0.1, "no table at 200", "table begun")
FEW = "under 0.3 of the held-out\nsums at equal fit"
HELD_OUT: Later = (lambda run: matched_test_accuracy(run) < 0.3, FEW, "over 0.3")
GROUPS: dict[str, tuple[list[Observations], Later]] = {
    "γ = 0.3": (first_six(0.3), TABLE),
    "γ = 0.8": (first_six(0.8), HELD_OUT),
    "γ = 0.8, fresh": (list(kept("printed-fresh")), HELD_OUT),
    "γ = 0.8, frozen": (list(kept("printed-key", "forbidden")), HELD_OUT),
    "γ = 0.8, forced": (list(kept("printed-key", "forced")), HELD_OUT),
}
"""Runs, and what a seed does later, with the names of those that do and do not."""


def telling(runs: Sequence[Observations], epoch: int) -> str:
    """Return which measures at an epoch have the seeds with few held-out sums on one side of the others."""
    kinds = ["memory anchors", "reasoning anchors"]
    ranks = sorted(name for name in runs[0].arrays if name.startswith("effective_rank/"))
    few, many = list[list[float]](), list[list[float]]()
    for run in runs:
        cosines = [mean_cosine(run, kind, lambda _: epoch) for kind in kinds]
        found = [on_key(run, epoch), *cosines, *(float(run.at(name, epoch)) for name in ranks)]
        (few if HELD_OUT[0](run) else many).append(found)
    apart = (np.min(few, 0) > np.max(many, 0)) | (np.max(few, 0) < np.min(many, 0))
    names = np.array(["on the key", *kinds, *ranks])[apart]
    return f"epoch {epoch}: {len(names)} of {len(apart)} tell the fresh seeds apart: {', '.join(names)}"


Elsewhere = tuple[str, float, FloatArray, FloatArray]  # name, γ, held-out: on the key, others


def elsewhere() -> Iterator[Elsewhere]:
    """Yield the other kept settings in which some seeds attend to the key at equal fit, and some do not."""
    for name in ("group-2024", "no-norm-all", "post-norm", "post-norm-gelu", "width-200-pairs"):
        for setting in group_runs([run for run in kept(name) if "key_attention" in run.arrays]):
            held_out = np.array([matched_test_accuracy(run) for run in setting.runs])
            finds = np.array([on_key(run, half_learned(run)[1]) > ON_KEY for run in setting.runs])
            if 0 < finds.sum() < len(finds):
                yield f"{name}, {setting.label}", setting.init_rate, held_out[finds], held_out[~finds]


def fewer(settings: Sequence[Elsewhere]) -> str:
    """Return in how many pairs of seeds of a setting the one on the key has fewer held-out sums right.

    The chance of as many is exact: which seeds are on the key is exchanged within each setting.
    """
    won, chance = 0, np.ones(1)
    for *_, few, many in settings:
        pooled = np.concatenate([few, many])
        choices = combinations(range(len(pooled)), len(few))  # The first is that of the seeds on the key.
        counts = [sum(pooled[i] < x for i in own for x in np.delete(pooled, own)) for own in choices]
        won += counts[0]
        chance = np.convolve(chance, np.bincount(counts, minlength=len(few) * len(many) + 1) / len(counts))
    return f"{won} of {len(chance) - 1} pairs, p = {chance[won:].sum():.2g}"


@styled
def draw() -> Figure:
    """Return attention on the key over epochs, a line for each seed, coloured by what it does later."""
    figure = Figure(figsize=(6.75, 4.4), layout="constrained")
    panels = figure.subplots(2, 3)
    for axes, (title, (runs, (does, yes, no))) in zip(panels.flat, GROUPS.items(), strict=False):
        for does_it, name in ((True, yes), (False, no)):
            own = [run for run in runs if does(run) is does_it]
            for label, run in zip([name, *[""] * len(own)], own, strict=False):
                values = [on_key(run, epoch) for epoch in run.epochs]
                axes.plot(run.epochs, values, "-" if does_it else "--", color=PALETTE[does_it], label=label)
        axes.axvline(EARLY, color="0.8", linewidth=0.8)
        axes.set(title=title, xlabel="epoch", xscale="symlog", xlim=(0, LAST), ylim=(0, 1.03))
        axes.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        # The lines of the other panels mean what those of the fresh seeds do.
        if title in ("γ = 0.3", "γ = 0.8, fresh"):
            axes.legend(fontsize="small", loc="upper left")
    for axes in panels[:, 0]:
        axes.set_ylabel("attention on the key")
    every = panels[1, 2]
    for (title, (runs, _)), marker, colour in zip([*GROUPS.items()][1:], "osvD", PALETTE[2:], strict=False):
        keys = [on_key(run, half_learned(run)[1]) for run in runs]
        every.plot(keys, [*map(matched_test_accuracy, runs)], marker, color=colour, label=title, alpha=0.7)
    every.set(title="γ = 0.8, at equal fit", xlabel="attention on the key", ylabel="held-out sums", ylim=0)
    every.legend(fontsize="small")
    return figure


if __name__ == "__main__":
    rows = (row(name, run) for name, (runs, _) in GROUPS.items() for run in runs)
    print(text_table(("runs", "seed", *COLUMNS), rows))
    for epoch in (0, 1, 2, 5, EARLY):
        print(telling(GROUPS["γ = 0.8, fresh"][0], epoch))
    others = [*elsewhere()]
    for name, _, few, many in others:
        print(f"{name}: on the key {few.round(2)}, others {many.round(2)}")
    print("γ ≥ 0.5:", fewer([each for each in others if each[1] >= 0.5]))
    print("γ = 0.3:", fewer([each for each in others if each[1] < 0.5]))
    if len(sys.argv) > 1:
        draw().savefig(sys.argv[1], dpi=200)
