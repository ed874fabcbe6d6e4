"""One look for every figure: colours that survive colour blindness and print."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import get_registered_canvas_class
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from sim.runs.outputs import OutputFile
from validate.figures.marks import EACH_SEED, OVER_SEEDS, OVER_SEQUENCES, explain

# Okabe and Ito's palette, in an order that keeps neighbours apart in grey too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
PARTS = {
    "mem": ("memory (train)", PALETTE[0], "-"),
    "rsn_train": ("reasoning, train", PALETTE[1], "-"),
    "rsn_test": ("reasoning, test", PALETTE[2], "--"),
}
"""Name, colour and line of each data set."""
_TITLE = "drawn by anchorflow"
"""What is in the metadata of a picture that ``save`` writes, so that it knows it again."""
MEMORY, REASONING, KEYS = PALETTE[0], PALETTE[1], PALETTE[7]
"""The colours of tokens by kind."""
OBSERVED = PALETTE[6]
"""What training did is black; what the theory says is coloured and has a marker."""
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"
PAGE_WIDTH = 6.75
"""The widest figure, in inches: the text of a page, so that a paper shows it at its own size."""
TITLE, TEXT, SMALL_TEXT = 7.0, 6.5, 6.0
"""Sizes of text in points, none smaller."""
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
    figure = _Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


class _Figure(Figure):
    """A figure that shows text as it is where a name of the user's, such as ``$x^$``, is not mathematics."""

    def draw(self, renderer: Any) -> None:
        """Draw everything."""
        _read_texts(self)
        super().draw(renderer)


def _read_texts(figure: Figure) -> None:
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(_is_math(text.get_text()))


@cache
def _is_math(text: str) -> bool:
    """Return whether matplotlib may read a text as mathematics; one without "$" it never does."""
    if "$" not in text:  # Most of a figure's texts; parsing them takes a fifth of the time of a layout.
        return True
    try:
        for line in text.splitlines():  # As matplotlib does: to the parser a line break is a missing glyph.
            MathTextParser("path").parse(line)
    except ValueError:
        return False
    return True


def sequential(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours for an ordered series, dark to light; the lightest still shows on white."""
    return [tuple(colour) for colour in colormaps[SEQUENTIAL](np.linspace(0, 0.88, count))]


def shade(ax: Axes, x: npt.ArrayLike, values: npt.NDArray[np.float64], colour: Any) -> None:
    """Shade the interval over seeds of a band of shape (3, n); a single seed has none."""
    if np.isfinite(values[1:]).any():
        band = ax.fill_between(np.asarray(x), values[1], values[2], color=colour, alpha=0.2, linewidth=0)
        explain(band, "shades", OVER_SEEDS)


def seed_bars(ax: Axes, x: npt.ArrayLike, values: npt.NDArray[np.float64], **look: Any) -> Line2D:
    """Draw means with capped bars, the interval over seeds, and return the line; one seed has none."""
    known = bool(np.isfinite(values[1:]).any())
    bars = np.stack([values[0] - values[1], values[2] - values[0]])
    drawn = ax.errorbar(np.asarray(x), values[0], bars if known else None, capsize=2, **look)
    if known:
        explain(drawn.lines[2][0], "capped bars", OVER_SEEDS)
    line: Line2D = drawn.lines[0]
    return line


def spread_bars(
    ax: Axes, x: npt.ArrayLike, centre: npt.NDArray[np.float64], spread: npt.NDArray[np.float64], colour: Any
) -> None:
    """Draw thin bars without caps: a standard deviation over sequences either side."""
    drawn = ax.errorbar(np.asarray(x), centre, spread, fmt="none", ecolor=colour, elinewidth=0.6)
    explain(drawn.lines[2][0], "thin vertical lines", OVER_SEQUENCES)


def each_seed(ax: Axes, x: npt.ArrayLike, values: npt.NDArray[np.float64], colour: Any) -> None:
    """Draw every seed's own line, values of shape (n_seeds, n), thin."""
    if len(values) > 1:
        for line in ax.plot(np.asarray(x), values.T, color=colour, linewidth=0.4, alpha=0.6):
            explain(line, "thin curves", EACH_SEED)


def whole_ticks(*axes: Axis, most: int = 10) -> None:
    """Put the ticks of some axes at whole numbers alone, with about ``most`` intervals."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(most, integer=True))


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
            ncols=min(len(found), max(2, int(width / 1.3))),
            fontsize=TEXT,
            handlelength=1.6,
            frameon=False,
        )


def fix_layout(figure: Figure) -> None:
    """Solve a figure's layout, once for all formats: it takes longer than drawing the figure."""
    engine = figure.get_layout_engine()
    if engine is not None:
        _read_texts(figure)
        engine.execute(figure)
        figure.set_layout_engine("none")


def rendered(figure: Figure, suffix: str, dpi: float = 200.0, title: str | None = None) -> bytes:
    """Return a figure as a file of some format, "png", "svg" or "pdf"; ``title`` is not shown in it."""
    # No time stamp and no random names inside, so that an unchanged figure is an unchanged file.
    fix_layout(figure)
    stamp = {"svg": "Date", "pdf": "CreationDate"}.get(suffix)
    metadata = ({stamp: None} if stamp else {}) | ({"Title": title} if title else {})
    buffer, before = io.BytesIO(), figure.dpi
    # ``savefig`` draws everything twice, the first time to find out what a canvas of its own would measure.
    canvas = get_registered_canvas_class(suffix)(figure)
    figure.set_dpi(dpi)
    try:
        with rc_context({"svg.hashsalt": "anchorflow"}):
            getattr(canvas, f"print_{suffix}")(buffer, metadata=metadata or None)
    finally:
        figure.set_dpi(before)
        FigureCanvasAgg(figure)
    return buffer.getvalue()


def save(figure: Figure, path: Path, *, overwrite: bool = False) -> Path:
    """Write a figure; the suffix chooses the format.

    Raises
    ------
    InputError
        If there is another file and ``overwrite`` is not asked for, or it cannot be written.
    """
    output = OutputFile(path, overwrite=overwrite)
    output.check()
    output.write(rendered(figure, path.suffix.removeprefix("."), title=_TITLE))
    return path
