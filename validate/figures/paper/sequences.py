"""Fig. 2: sequences of each mapping with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch

from theory import Task, draw_tables, labels_of
from theory.arrays import IntArray
from theory.task.population import assemble
from validate.figures.panels.panel import BasePanel
from validate.figures.paper.registry import paper_figure
from validate.figures.sheet import PanelRow, Sheet, letter
from validate.figures.style import KEYS, MEMORY, PALETTE, REASONING
from validate.observe import Observations

SEED, COUNT = 0, 4
KEY, NOISE = ("key", PALETTE[4]), ("noise", KEYS.colour)


@paper_figure(2, "Sequences of the task")
def examples(observations: Sequence[Observations]) -> Sheet:
    """Draw sequences of each mapping with their labels, from the paper's task or that of the first run."""
    task = observations[0].task if observations else Task.paper()
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
    whose = "of the runs" if observations else "of the paper"
    caption = "Sequences of each mapping with their labels; tokens coloured by kind."
    about = f"Drawn from the task {whose} with seed {SEED}; no model, γ or epoch: nothing is trained"
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
