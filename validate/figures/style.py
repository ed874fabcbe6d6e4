"""One look for every figure: colours that survive colour blindness and print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure

# Okabe and Ito's palette, in an order that keeps neighbours apart in grey too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
PARTS = {
    "mem": ("memory (train)", PALETTE[0], "-"),
    "rsn_train": ("reasoning, train", PALETTE[1], "-"),
    "rsn_test": ("reasoning, test", PALETTE[2], "--"),
}
"""Name, colour and line of each data set."""
MEMORY, REASONING, KEYS = PALETTE[0], PALETTE[1], PALETTE[7]
"""The colours of tokens by kind."""
OBSERVED = PALETTE[6]
"""What training did is black; what the theory says is coloured and has a marker."""
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def new_axes(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (3.4, 2.8)
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row; ``size`` is one panel's, in inches."""
    figure = new_figure(size[0] * columns, size[1] * rows)
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, drawn without a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def sequential(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, dark to light; the lightest still shows on white."""
    return [tuple(colour) for colour in colormaps[SEQUENTIAL](np.linspace(0, 0.88, count))]


def shade(ax: Axes, x: npt.ArrayLike, values: npt.NDArray[np.float64], colour: Any) -> Any:
    """Shade between low and high of a band of shape (3, n); NaN, as for a single seed, shades nothing."""
    return ax.fill_between(np.asarray(x), values[1], values[2], color=colour, alpha=0.2, linewidth=0)


def whiskers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return error bars, shape (2, n), of a band of shape (3, n); none for a single seed."""
    return np.asarray(np.nan_to_num(np.stack([values[0] - values[1], values[2] - values[0]])))


def legend_below(part: Figure | SubFigure, axes: Sequence[Axes], width: float) -> None:
    """Put one legend below some axes, with every label once; ``width`` is theirs, in inches."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        part.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=min(len(found), max(2, int(width / 1.5))),
            fontsize=7,
            frameon=False,
        )


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; the suffix chooses the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # No time stamp and no random names inside, so that an unchanged figure is an unchanged file.
    stamp = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix)
    with rc_context({"svg.hashsalt": "anchorflow"}):
        figure.savefig(path, dpi=150, metadata={stamp: None} if stamp else None)
    return path
