"""One look for every figure: colours that survive colour blindness and print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's palette, in an order that keeps neighbours apart in grey too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
PARTS = {
    "mem": ("memory (train)", PALETTE[0], "-"),
    "rsn_train": ("reasoning, train", PALETTE[1], "-"),
    "rsn_test": ("reasoning, test", PALETTE[2], "--"),
}
"""Name, colour and line of each data set."""
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"


def new_axes(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (3.4, 2.8)
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row; ``size`` is one panel's, in inches."""
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; the suffix chooses the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # No time stamp, so that an unchanged figure is an unchanged file.
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=150, metadata=metadata)
    return path
