"""One look for every figure: colours, sizes, files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context, rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.backend_bases import get_registered_canvas_class
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from sim.runs.outputs import OutputFile

_STYLE = rc_params_from_file(Path(__file__).with_name("anchorflow.mplstyle"), use_default_template=False)
styled = rc_context(_STYLE)
"""Decorates functions that draw with the style sheet of this folder."""
TITLE, TEXT, SMALL_TEXT = (float(_STYLE[key]) for key in ("axes.titlesize", "font.size", "xtick.labelsize"))
"""Sizes of text in points, none smaller."""
PALETTE: tuple[str, ...] = tuple(f"#{c.lstrip('#')}" for c in _STYLE["axes.prop_cycle"].by_key()["color"])
"""Okabe and Ito's colours, in an order that keeps neighbours apart in grey too."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
"""The colours of cosines and of differences are diverging, those of all else sequential."""
PAGE_WIDTH = 6.75
"""The widest figure, in inches: the text of a page, so that a paper shows it at its own size."""


@dataclass(frozen=True)
class Look:
    """How a line or its points are drawn."""

    colour: Any
    marker: str = ""
    line: str = "-"
    width: float | None = None
    hollow: bool = False


MEMORY, REASONING, KEYS = Look(PALETTE[0], "s"), Look(PALETTE[1], "^"), Look(PALETTE[7], "o")
"""Tokens by kind."""
OBSERVED = Look(PALETTE[6], width=2)
"""Training is black; theory is coloured and has a marker."""
LEVEL = Look("0.5", line=":", width=1)
"""A horizontal line that the theory draws."""
PARTS = {
    "mem": ("memory (train)", Look(PALETTE[0])),
    "rsn_train": ("reasoning, train", Look(PALETTE[1])),
    "rsn_test": ("reasoning, test", Look(PALETTE[2], line="--")),
}
"""Name and look of each data set."""


def sequential(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, dark to light; the lightest still shows on white."""
    return [tuple(colour) for colour in colormaps[SEQUENTIAL](np.linspace(0, 0.88, count))]


class _Figure(Figure):
    """A figure that shows a user's name such as ``$x^$``, which is no mathematics, as it is."""

    def draw(self, renderer: Any) -> None:
        _read_texts(self)
        super().draw(renderer)


def _read_texts(figure: Figure) -> None:
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(_is_math(text.get_text()))


@cache
def _is_math(text: str) -> bool:
    """Return whether matplotlib may read a text as mathematics; one without "$" it never does."""
    try:
        for line in text.splitlines() if "$" in text else ():
            MathTextParser("path").parse(line)
    except ValueError:
        return False
    return True


@styled
def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, drawn without a window."""
    figure = _Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@styled
def new_axes(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (3.4, 2.8)
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row; ``size`` is one panel's, in inches."""
    figure = new_figure(size[0] * columns, size[1] * rows)
    axes: Any = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def fix_layout(figure: Figure) -> None:
    """Solve a figure's layout, once for all formats: it takes longer than drawing the figure."""
    engine = figure.get_layout_engine()
    if engine is not None:
        _read_texts(figure)
        engine.execute(figure)
        figure.set_layout_engine("none")


@styled
def rendered(figure: Figure, suffix: str, dpi: float = 200.0, title: str | None = None) -> bytes:
    """Return a figure as a file of some format, "png", "svg" or "pdf"; ``title`` is not shown in it."""
    fix_layout(figure)
    # No time stamp, so that an unchanged figure is an unchanged file.
    stamp = {"svg": "Date", "pdf": "CreationDate"}.get(suffix)
    metadata = ({stamp: None} if stamp else {}) | ({"Title": title} if title else {})
    buffer, before = io.BytesIO(), figure.dpi
    # ``savefig`` draws everything twice, the first time to find out what a canvas of its own would measure.
    canvas = get_registered_canvas_class(suffix)(figure)
    figure.set_dpi(dpi)
    try:
        getattr(canvas, f"print_{suffix}")(buffer, metadata=metadata or None)
    finally:
        figure.set_dpi(before)
        FigureCanvasAgg(figure)
    return buffer.getvalue()


def save(figure: Figure, path: Path, *, overwrite: bool = False) -> Path:
    """Write a figure; the suffix chooses the format."""
    output = OutputFile(path, overwrite=overwrite)
    output.check()
    # By this title ``OutputFile`` knows the picture again and may replace it.
    output.write(rendered(figure, path.suffix.removeprefix("."), title="drawn by anchorflow"))
    return path
