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
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from theory.edge.errors import unknown_name

_STYLE = rc_params_from_file(Path(__file__).with_name("anchorflow.mplstyle"), use_default_template=False)
styled = rc_context(_STYLE)
"""Decorator of functions that draw with the style sheet in this folder."""
PALETTE: tuple[str, ...] = tuple(f"#{c.lstrip('#')}" for c in _STYLE["axes.prop_cycle"].by_key()["color"])
"""Okabe and Ito's colours, in an order that keeps neighbours apart in grey too."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"
"""Cosines and differences have diverging colours, everything else sequential ones."""
PAGE_WIDTH = 6.75
"""The width of a figure in inches: a page's text width, so that a paper shows it unscaled."""


@dataclass(frozen=True)
class Look:
    """How a line or its points are drawn."""

    colour: Any
    marker: str = ""
    line: str = "-"
    width: float | None = None
    hollow: bool = False


MEMORY, REASONING, KEYS = Look(PALETTE[0], "s"), Look(PALETTE[1], "^"), Look(PALETTE[7], "o")
"""The looks of tokens, by kind."""
OBSERVED = Look(PALETTE[6], width=2)
"""Training is black; theory is coloured and has a marker."""
OTHERS, GOING_ON = Look("0.5", line="--", width=2), Look(PALETTE[6], line=":", width=0.8)
"""Training again: seeds that learn in another way, and seeds that go on after the others."""
LEVEL = Look("0.5", line=":", width=1)
"""A horizontal line given by the theory."""
ZERO = {"_zero": (0.0, Look("0.5", width=0.8))}
"""A thin line at zero, outside the legend."""
PARTS = {
    "mem": Look(PALETTE[0]),
    "rsn_train": Look(PALETTE[1]),
    "rsn_test": Look(PALETTE[2], line="--"),
}
"""The look of each data set."""


def palette(number: int) -> str:
    """Return a colour of the palette by its number; beyond its end it begins anew."""
    return PALETTE[number % len(PALETTE)]


def sequential(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, dark to light; the lightest still shows on white."""
    return [tuple(colour) for colour in colormaps[SEQUENTIAL](np.linspace(0, 0.88, count))]


class AnyTextFigure(Figure):
    """A figure that shows a user's name such as ``$x^$``, which is not valid mathematics, as plain text."""

    def draw(self, renderer: Any) -> None:
        """Draw, typesetting as mathematics only texts that are valid mathematics."""
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            text.set_parse_math(_is_math(text.get_text()))
        super().draw(renderer)


@cache
def _is_math(text: str) -> bool:
    try:
        for line in text.splitlines() if "$" in text else ():
            MathTextParser("path").parse(line)
    except ValueError:
        return False
    return True


@styled
def new_axes() -> tuple[Figure, Axes]:
    """Return a figure and its axes; no window is opened."""
    figure = AnyTextFigure(figsize=(3.4, 2.8))
    return figure, figure.add_subplot()


@styled
def rendered(figure: Figure, suffix: str, dpi: float = 200.0) -> bytes:
    """Return a figure's bytes in a format such as "png", "svg" or "pdf"; refuse an unknown format."""
    known = figure.canvas.get_supported_filetypes()
    if suffix not in known:
        raise unknown_name("format", suffix, known)
    if figure.get_constrained_layout():
        # Solved once for all formats: the layout takes longer than the drawing.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    # No time stamp, so that an unchanged figure gives an unchanged file.
    stamp = {"svg": "Date", "pdf": "CreationDate"}.get(suffix)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=dpi, metadata={stamp: None} if stamp else None)
    return buffer.getvalue()
