"""Numbers over two axes, as colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.patches import Rectangle

from theory import off_diagonal
from theory.edge.arrays import FloatArray
from validate.figures.panel import BasePanel, seeds_text
from validate.figures.style import DIVERGING, SEQUENTIAL
from validate.judge.stats import COSINE

_MOST_NUMBERS = 100
"""The most cells of a map whose numbers are written into its cells."""
_TICKS, _NAMES, _ALL_NAMES = 3, 8, 12
"""How many labels fit beside a matrix: numbers, a selection of words, or all words."""


@dataclass
class HeatMap(BasePanel):
    """A number for each pair of values of two axes.

    Attributes
    ----------
    x, y : (str, sequence)
        Each axis: its name and its values.
    values : ndarray, shape (len of y, len of x)
        NaN where there is no number.
    texts : sequence of sequences of str, optional
        The text in each cell; by default its number.
    hatched : ndarray of bool, shape (len of y, len of x), optional
        Cells to hatch: there is something, but it has no number.
    limits : (float, float), optional
        The numbers at the ends of the colours; by default the least and the greatest, or symmetric
        about zero if any number is negative.
    frames : sequence of (row, first column, last column)
        Cells of a row that are framed.
    power : float
        The power of the shares of the range that colours stand for: below 1 small numbers are spread.
    matrix : bool
        Whether it is a matrix: rows downwards, cells square, few ticks, and no number in a cell.
    """

    x: tuple[str, Sequence[Any]]
    y: tuple[str, Sequence[Any]]
    values: FloatArray
    texts: Sequence[Sequence[str]] | None = None
    hatched: npt.NDArray[np.bool_] | None = None
    limits: tuple[float, float] | None = None
    frames: Sequence[tuple[int, int, int]] = ()
    power: float = 1.0
    matrix: bool = False

    def draw(self, ax: Axes) -> None:
        ends = self.limits or (None, None)
        signed = min(float(np.nanmin(self.values, initial=0.0)), ends[0] or 0.0) < 0
        if signed and self.limits is None:
            largest = float(np.nanmax(np.abs(self.values), initial=0.0))
            ends = (-largest, largest)
        self.image_ = ax.imshow(
            self.values,
            origin="upper" if self.matrix else "lower",
            aspect="equal" if self.matrix else "auto",
            cmap=DIVERGING if signed else SEQUENTIAL,
            norm=PowerNorm(self.power, *ends),
        )
        for axis, (name, values) in ((ax.xaxis, self.x), (ax.yaxis, self.y)):
            words = self.matrix and isinstance(values[0], str)
            room = (_NAMES if words else _TICKS) if self.matrix else len(values)
            step = 1 if words and len(values) <= _ALL_NAMES else -(-len(values) // room)
            places = range(0, len(values), step)
            texts = [f"{v:g}" if isinstance(v := values[i], float) else str(v) for i in places]
            axis.set_ticks(places, texts, rotation=90 if words and axis is ax.xaxis else 0)
            axis.set_label_text(name)
        for row, column in np.argwhere(self.hatched).tolist() if self.hatched is not None else []:
            at = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(at, 1, 1, edgecolor="0.6", facecolor="none", linewidth=0, hatch="////"))
        for row, first, last in self.frames:
            ax.add_patch(Rectangle((first - 0.5, row - 0.5), last - first + 1, 1, fill=False, edgecolor="w"))
        written = not self.matrix and self.values.size <= _MOST_NUMBERS
        for row, column in np.argwhere(np.isfinite(self.values)).tolist() if written else []:
            value = self.values[row, column]
            light = float(np.mean(self.image_.cmap(self.image_.norm(value))[:3])) > 0.5
            text = f"{value:z.2f}" if self.texts is None else self.texts[row][column]
            ax.text(column, row, text, ha="center", va="center", color="black" if light else "white")


def cosine_map(
    title: str, tokens: Sequence[Any], matrices: FloatArray, kind: str = "token", *, angles: bool = False
) -> HeatMap:
    """Return the map of a cosine matrix, mean of ``matrices`` of shape (n_seeds, n, n).

    Above it stands the mean over all pairs of different tokens; ``tokens`` are the names along the sides,
    ``kind`` is the name of both axes. With ``angles`` the colours are angles of 0 to 90 degrees, which differ
    visibly where all cosines are near 1.
    """
    means = np.array([off_diagonal(matrix).mean() for matrix in matrices])
    axis, name, mean = (kind, tuple(tokens)), " ".join(title.split()), np.asarray(matrices.mean(axis=0))
    values = np.degrees(np.arccos(np.clip(mean, 0.0, 1.0))) if angles else mean
    return HeatMap(
        f"{title}\nmean {seeds_text(means.mean())}",
        axis,
        axis,
        values,
        limits=(0.0, 90.0) if angles else COSINE,
        power=0.5 if angles else 1.0,
        matrix=True,
        numbers=f"{name}: mean cosine of pairs {seeds_text(means, COSINE)}",
    )
