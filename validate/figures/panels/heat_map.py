"""A number over two axes of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import DIVERGING, SEQUENTIAL, SMALL_TEXT

_MOST_NUMBERS = 100
"""Cells of a map that has its numbers written into them."""


@dataclass
class HeatMap(BasePanel):
    """A number for each pair of values of two axes.

    Attributes
    ----------
    title : str
    x, y : (str, sequence)
        Each axis: its name and its values.
    values : ndarray, shape (len of y, len of x)
        NaN where there is no number.
    texts : sequence of sequences of str, optional
        What is written into each cell; by default its number.
    hatched : ndarray of bool, shape (len of y, len of x), optional
        Cells that are hatched: something is there that has no number.
    limits : (float, float), optional
        The numbers at the ends of the colours; by default the least and the greatest.
    """

    title: str
    x: tuple[str, Sequence[Any]]
    y: tuple[str, Sequence[Any]]
    values: FloatArray
    texts: Sequence[Sequence[str]] | None = None
    hatched: npt.NDArray[np.bool_] | None = None
    limits: tuple[float, float] | None = None

    def draw(self, ax: Axes) -> None:
        """Draw the map, y upwards."""
        self.image_ = ax.imshow(self.values, origin="lower", aspect="auto", **self._scale())
        ax.set(title=self.title, xlabel=self.x[0], ylabel=self.y[0])
        ax.set_xticks(range(len(self.x[1])), [_text(value) for value in self.x[1]])
        ax.set_yticks(range(len(self.y[1])), [_text(value) for value in self.y[1]])
        if self.hatched is not None:
            self._hatch(ax, self.hatched)
        if self.values.size <= _MOST_NUMBERS:
            self._write_numbers(ax)

    def _scale(self) -> dict[str, Any]:
        """Return the colours and their ends: about zero where values or limits are negative."""
        largest = float(np.nanmax(np.abs(self.values), initial=0.0)) or 1.0
        signed = min(float(np.nanmin(self.values, initial=0.0)), *(self.limits or (0.0,))) < 0
        ends = self.limits or ((-largest, largest) if signed else (None, None))
        return {"cmap": DIVERGING if signed else SEQUENTIAL, "vmin": ends[0], "vmax": ends[1]}

    def _hatch(self, ax: Axes, hatched: npt.NDArray[np.bool_]) -> None:
        for row, column in np.argwhere(hatched).tolist():
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(
                Rectangle(corner, 1, 1, facecolor="none", edgecolor="0.6", hatch="////", linewidth=0)
            )

    def _write_numbers(self, ax: Axes) -> None:
        for (row, column), value in np.ndenumerate(self.values):
            if np.isfinite(value):
                light = float(np.mean(self.image_.cmap(self.image_.norm(value))[:3])) > 0.5
                colour = "black" if light else "white"
                text = f"{value:.2f}" if self.texts is None else self.texts[row][column]
                ax.text(column, row, text, ha="center", va="center", color=colour, size=SMALL_TEXT)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
