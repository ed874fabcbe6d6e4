"""Figs. 2 and 8: sequences of each mapping with their labels; the effect of the label distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch

from theory import InputError, Lookup, Mapping, Task, Window, draw_tables, label_distribution, labels_of
from theory.edge.arrays import IntArray
from theory.task.population import assemble
from validate.figures import Curve, Curves, Look, PanelRow, Sheet, accuracy_curves, group_runs
from validate.figures.footnote import about, model_name, span
from validate.figures.panel import BasePanel, seeds_text
from validate.figures.paper.registry import paper_figure
from validate.figures.sheet import letter
from validate.figures.style import KEYS, MEMORY, PALETTE, REASONING
from validate.judge.stats import SHARE, number
from validate.observe import Observations
from validate.observe.groups import Setting

SEED, COUNT = 0, 4
KEY, NOISE = ("key", PALETTE[4]), ("noise", KEYS.colour)
EARLY_ACCURACY = 0.3
"""B shows the last snapshot before any seed's memory accuracy passes this."""


@paper_figure(2, "Sequences of the task")
def examples(observations: Sequence[Observations]) -> Sheet:
    """Draw sequences of each mapping with their labels, from the first run's task or the paper's."""
    known = [o for o in observations if isinstance(o.config.task, Task)] or observations
    task = known[0].task if known else Task.paper()
    rng = np.random.default_rng(SEED)
    tables = draw_tables(task, rng)
    rows = []
    for index, mapping in enumerate(task.mappings):
        positions = rng.integers(task.length - task.n_anchors, size=COUNT)
        population = assemble(
            task,
            np.full(COUNT, index),
            rng.integers(task.n_combinations(mapping), size=COUNT),
            rng.integers(len(task.keys), size=COUNT),
            positions,
            rng.integers(len(task.keys), size=(COUNT, task.n_noise)),
        )
        labels = labels_of(task, population, tables)
        kind = task.n_anchors, mapping.is_table
        panel = ExampleSequences("", population.sequences, positions, labels, *kind)
        title = f"{letter(index)}  {mapping.name}: {mapping.rule.description}"
        rows.append(PanelRow(title, [panel], height=2.1))
    whose = "first task of the runs" if observations else "task of the paper"
    caption = "Sequences of each mapping with their labels; tokens coloured by kind."
    about = f"Drawn from the {whose} with seed {SEED}; no model, γ or epoch: nothing is trained"
    return Sheet("fig02_sequences", caption, about, rows)


@dataclass
class ExampleSequences(BasePanel):
    """Sequences of one mapping, shape (n, L), and their labels, shape (n,), tokens coloured by kind.

    ``positions`` are the places of the keys, counted from 0.
    """

    sequences: IntArray
    positions: IntArray
    labels: IntArray
    n_anchors: int
    is_table: bool

    def draw(self, ax: Axes) -> None:
        """Draw one line of boxes per sequence."""
        count, length = self.sequences.shape
        anchor = ("memory anchor", MEMORY.colour) if self.is_table else ("reasoning anchor", REASONING.colour)
        for row in range(count):
            for place in range(length):
                after = place - int(self.positions[row])
                _, colour = KEY if after == 0 else anchor if 0 < after <= self.n_anchors else NOISE
                _box(ax, place, row, self.sequences[row, place], colour)
            ax.annotate("→", (length + 0.1, row), ha="center", va="center")
            _box(ax, length + 1, row, self.labels[row], "white")
        for name, colour in (*[NOISE] * (length > self.n_anchors + 1), KEY, anchor):
            self.lines_[name] = ax.scatter([], [], marker="s", color=colour, alpha=0.75, label=name)
        ax.set(xlim=(-0.7, length + 1.7), ylim=(count - 0.4, -0.6), xlabel="position", aspect="equal")
        ax.set_xticks([*range(length), length + 1], [*map(str, range(1, length + 1)), "label"])
        ax.set_yticks([])
        for side in ax.spines.values():
            side.set_visible(False)


def _box(ax: Axes, x: float, y: float, token: int, colour: str) -> None:
    look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.75), "edgecolor": "0.4", "linewidth": 0.6}
    ax.add_patch(FancyBboxPatch((x - 0.36, y - 0.3), 0.72, 0.6, boxstyle="round,pad=0.06", **look))
    ax.annotate(str(token), (x, y), ha="center", va="center")


@paper_figure(8, "The effect of the label distribution", "fig8-memory", "fig8-memory-long", "fig8-ranges")
def label_distributions(observations: Sequence[Observations]) -> Sheet:
    """Draw two memory mappings whose label distributions differ (A), and outputs in four label ranges (B).

    A shows the longest runs of each network. Above each panel of B stands the mass inside its range.
    """
    # A language model's task has no mappings.
    known = [o for o in observations if isinstance(o.config.task, Task)]
    tables = [o for o in known if sum(m.is_table for m in o.task.mappings) > 1]
    windows = [o for o in tables if any(m.rule.kind == "window" for m in o.task.mappings)]
    lookups = [o for o in tables if all(m.rule.kind == "lookup" for m in o.task.mappings)]
    compared = _longest(group_runs(windows)) if windows else []
    ranges = group_runs(lookups) if lookups else []
    rows = [_mapping_curves(setting) for setting in compared]
    for setting in ranges:
        epoch, name = _early(setting), model_name(setting, rate=True)
        title = f"B  {name}: outputs at epoch {epoch}, memory accuracy up to {_accuracy(setting, epoch):.3f}"
        last = setting is ranges[-1]
        rows.append(PanelRow(title, _outputs(setting, epoch), share_y=title, legend=last, height=1.75))
    if not rows:
        problem = "none has several memory mappings, with one that is a window or without a rule beside them"
        raise InputError("runs", len(observations), problem, "give runs of Fig. 8's tasks")
    first = "A: loss and accuracy of memory mappings whose label distributions differ. " * bool(compared)
    second = (
        "B: the mean output for each memory mapping beside its label distribution, at the last snapshot "
        f"before memory accuracy passes {EARLY_ACCURACY:g}, or at the first if it has passed by then."
    )
    caption = first + second * bool(ranges)
    return Sheet("fig08_label_distributions", caption, about([*compared, *ranges]), rows)


def _longest(settings: Sequence[Setting]) -> list[Setting]:
    """Return the setting with the longest runs of each network, γ and task: others fit the tables less."""
    by_length = sorted(settings, key=lambda setting: setting.runs[0].config.training.epochs)
    last = {(model_name(setting, rate=True), setting.task): setting for setting in by_length}
    return [setting for setting in settings if any(setting is longest for longest in last.values())]


def _mapping_curves(setting: Setting) -> PanelRow:
    looks = zip(cycle(PALETTE), cycle(("-", "--", "-.", ":")), strict=False)
    parts = {
        m.name: (f"{m.name}: {label_words(setting.task, m)}", Look(colour, line=line))
        for m, (colour, line) in zip(sorted(setting.task.mappings, key=lambda m: m.name), looks, strict=False)
        if m.is_table
    }
    title = f"A  {model_name(setting, rate=True)}: memory mappings"
    loss = accuracy_curves(setting, "loss", parts=parts, title="loss")
    accuracy = accuracy_curves(setting, "accuracy", parts=parts, title="accuracy")
    accuracy.ylim = (None, None)  # Where little of a table fits, up to 1 all lines would be flat.
    return PanelRow(title, [loss, accuracy])


def _outputs(setting: Setting, epoch: int) -> list[Curves]:
    task, panels = setting.task, []
    labels = np.arange(task.vocab_size)
    for m in task.mappings:
        words, mass = label_words(task, m), setting.array(f"label_mass/{m.name}", epoch)
        distribution = np.mean([label_distribution(task, s, held_out=True) for s in m.anchors], axis=0)
        output = setting.array(f"outputs/{m.name}", epoch)
        curves = {
            "mean output": Curve(labels, output, Look(PALETTE[1], width=0.8), SHARE),
            "label distribution $P^s$": Curve(labels, distribution[None], Look(PALETTE[0], width=1.0)),
        }
        title = f"{words}\nmass inside: {number(float(mass.mean()))}"
        numbers = f"{words}: output mass on its own labels {seeds_text(mass, SHARE)}"
        panels.append(Curves(title, curves, "label i", "probability", ylim=(0, None), numbers=numbers))
    return panels


def _early(setting: Setting) -> int:
    """Return the last snapshot before any seed's memory accuracy passes 0.3, but after the start."""
    after = [e for e in setting.epochs() if e > 0] or setting.epochs()
    passed = next((i for i, e in enumerate(after) if _accuracy(setting, e) >= EARLY_ACCURACY), len(after))
    return after[max(passed - 1, 0)]


def _accuracy(setting: Setting, epoch: int) -> float:
    """Return the largest memory accuracy of any seed at the evaluation nearest to an epoch."""
    nearest = [min(run.metrics, key=lambda line: abs(line["epoch"] - epoch)) for run in setting.runs]
    return max(float(line["accuracy"]["mem"]) for line in nearest)


def label_words(task: Task, mapping: Mapping) -> str:
    """Return a memory mapping's labels in words: "labels 30 to 49", "labels within 40 of the key"."""
    rule, domain = mapping.rule, task.domain(mapping)
    if isinstance(rule, Window):
        return f"labels within {span(domain.totals(domain.anchors).tolist())} of the key"
    if isinstance(rule, Lookup) and rule.low is None:
        return f"labels uniform on all {len(task.keys)} keys"
    labels = task.label_range(mapping)
    return f"labels {labels[0]} to {labels[-1]}"
