"""Fig. 2: what sequences of a task look like."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch

from theory import Population, Task, draw_tables, labels_of
from theory.arrays import IntArray
from theory.task.population import assemble
from validate.figures.panels.panel import BasePanel
from validate.figures.style import KEYS, MEMORY, PALETTE, REASONING

_KEY, _NOISE = PALETTE[4], KEYS.colour


@dataclass
class ExampleSequences(BasePanel):
    """Some sequences of one mapping and their labels, tokens coloured by kind.

    Attributes
    ----------
    title : str
    sequences : ndarray of int64, shape (n, L)
    positions : ndarray of int64, shape (n,)
        Where each key stands, counted from 0.
    labels : ndarray of int64, shape (n,)
    n_anchors : int
    is_table : bool
        Whether the mapping is a memory mapping.
    """

    sequences: IntArray
    positions: IntArray
    labels: IntArray
    n_anchors: int
    is_table: bool
    boxes_: list[tuple[str, int]] = field(default_factory=list, repr=False)

    @classmethod
    def from_task(cls, task: Task, seed: int = 0, count: int = 4) -> list[ExampleSequences]:
        """Draw a few sequences of every mapping, and the memory tables that label them."""
        rng = np.random.default_rng(seed)
        tables = draw_tables(task, rng)
        found = []
        for index, mapping in enumerate(task.mappings):
            population, positions = _draw(task, index, count, rng)
            labels = labels_of(task, population, tables)
            title = f"{mapping.name}: {mapping.rule.description}"
            sequences = population.sequences
            found.append(cls(title, sequences, positions, labels, task.n_anchors, mapping.is_table))
        return found

    def draw(self, ax: Axes) -> None:
        """Draw one line of boxes per sequence."""
        count, length = self.sequences.shape
        for row in range(count):
            for place in range(length):
                kind, colour = self._kind(row, place)
                self._box(place, row, str(self.sequences[row, place]), colour, kind)
            ax.annotate("→", (length + 0.1, row), ha="center", va="center")
            self._box(length + 1, row, str(self.labels[row]), "white", "label")
        noise = [("noise", _NOISE)] if length > self.n_anchors + 1 else []
        for name, colour in (*noise, ("key", _KEY), self._anchor):
            ax.scatter([], [], marker="s", color=colour, alpha=0.75, label=name)
        ax.set(xlim=(-0.7, length + 1.7), ylim=(count - 0.4, -0.6), xlabel="position", aspect="equal")
        ax.set_xticks([*range(length), length + 1], [*map(str, range(1, length + 1)), "label"])
        ax.set_yticks([])
        for side in ax.spines.values():
            side.set_visible(False)

    @property
    def _anchor(self) -> tuple[str, str]:
        return ("memory anchor", MEMORY.colour) if self.is_table else ("reasoning anchor", REASONING.colour)

    def _kind(self, row: int, place: int) -> tuple[str, str]:
        after = place - int(self.positions[row])
        if after == 0:
            return "key", _KEY
        return self._anchor if 0 < after <= self.n_anchors else ("noise", _NOISE)

    def _box(self, x: float, y: float, text: str, colour: str, kind: str) -> None:
        assert self.ax_ is not None
        box = FancyBboxPatch(
            (x - 0.36, y - 0.3),
            0.72,
            0.6,
            boxstyle="round,pad=0.06",
            facecolor=to_rgba(colour, 0.75),
            edgecolor="0.4",
            linewidth=0.6,
        )
        self.ax_.add_patch(box)
        self.ax_.annotate(text, (x, y), ha="center", va="center")
        self.boxes_.append((kind, int(text)))


def _draw(task: Task, index: int, count: int, rng: np.random.Generator) -> tuple[Population, IntArray]:
    n_combinations = task.n_combinations(task.mappings[index])
    positions = rng.integers(task.length - task.n_anchors, size=count)
    population = assemble(
        task,
        np.full(count, index),
        rng.integers(n_combinations, size=count),
        rng.integers(len(task.keys), size=count),
        positions,
        rng.integers(len(task.keys), size=(count, task.n_noise)),
    )
    return population, positions
