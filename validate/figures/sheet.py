"""A figure of the paper: rows of panels under letters, one legend and one colour bar a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from validate.figures.style import legend_below, new_axes, new_figure, save


class Panel(Protocol):
    """An object that holds arrays and draws itself on given axes."""

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw, and return itself."""


@runtime_checkable
class Summary(Protocol):
    """A panel that says its main number in words."""

    def summary(self) -> str:
        """Return one line, or nothing."""


@dataclass
class PanelRow:
    """Panels side by side.

    Attributes
    ----------
    title : str
        Above the row, with the panel's letter first.
    panels : sequence of Panel
    bar : str
        What the colour bar of the row's images says; empty for none.
    height : float
        In inches.
    legend : bool
        Whether a legend of all panels stands below; not where panels have their own.
    share_y : bool
        Whether all panels have the largest range of any.
    """

    title: str
    panels: Sequence[Panel]
    bar: str = ""
    height: float = 2.9
    legend: bool = True
    share_y: bool = False


@dataclass
class NoRuns:
    """An empty place in a grid of panels.

    Attributes
    ----------
    title : str
    """

    title: str
    ax_: Axes | None = field(default=None, repr=False)

    def plot(self, ax: Axes | None = None) -> NoRuns:
        """Say that there is nothing, and return itself with ``ax_``."""
        self.ax_ = ax = ax or new_axes()[1][0]
        ax.set_title(self.title)
        ax.set_axis_off()
        ax.annotate("no finished run", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=8)
        return self


@dataclass
class Sheet:
    """Rows of panels, with a caption and a note on seeds and runs.

    Attributes
    ----------
    name : str
        The name of its files.
    caption : str
        What it shows, in a sentence or two.
    note : str
        In small print below: runs, seeds, epochs.
    rows : list of PanelRow
    width : float
        Of one panel in the longest row, in inches.
    """

    name: str
    caption: str
    note: str
    rows: list[PanelRow]
    width: float = 2.9
    figure_: Figure | None = field(default=None, repr=False)
    axes_: list[list[Axes]] = field(default_factory=list, repr=False)

    def plot(self) -> Sheet:
        """Draw everything on a new figure, and return itself with ``figure_`` and ``axes_``."""
        columns = max(len(row.panels) for row in self.rows)
        heights = [row.height for row in self.rows]
        width = self.width * max(columns, 1.4)
        self.figure_ = new_figure(width, sum(heights) + 0.2)
        parts: Any = self.figure_.subfigures(len(self.rows), 1, squeeze=False, height_ratios=heights)
        self.axes_ = [_draw_row(part, row, width) for part, row in zip(parts[:, 0], self.rows, strict=True)]
        self.figure_.supxlabel(self.note, fontsize=6.5, color="0.35")
        # The layout is solved once and kept: solving it again for every format costs most of the time.
        self.figure_.draw_without_rendering()
        self.figure_.set_layout_engine("none")
        return self

    def summary(self) -> list[str]:
        """Return the numbers behind the panels, one line each under its row's title, from their arrays."""
        found, title = [], ""
        for row in self.rows:
            title = row.title or title
            lines = [panel.summary() for panel in row.panels if isinstance(panel, Summary)]
            found += [plain(f"{' '.join(title.split())} | {line}") for line in lines if line]
        return found

    def write(self, folder: Path, formats: Sequence[str] = ("png",)) -> list[Path]:
        """Write the drawn figure in some formats and return the files."""
        figure = (self if self.figure_ is not None else self.plot()).figure_
        assert figure is not None
        return [save(figure, folder / f"{self.name}.{suffix}") for suffix in formats]


def plain(text: str) -> str:
    """Return a title without its mathematical typesetting, for a terminal."""
    for command, accent in ((r"\bar", "\u0304"), (r"\hat", "\u0302"), (r"\tilde", "\u0303")):
        text = re.sub(rf"\{command} (\w)", rf"\1{accent}", text)
    return re.sub(r"\\mathrm\{(\w+)\}", r"\1", text).replace("$", "").replace("{", "").replace("}", "")


def _draw_row(part: SubFigure, row: PanelRow, width: float) -> list[Axes]:
    axes: Any = part.subplots(1, len(row.panels), squeeze=False)
    drawn = list(axes.flat)
    images = []
    for ax, panel in zip(drawn, row.panels, strict=True):
        image = getattr(panel.plot(ax), "image_", None)
        if image is not None:
            images.append((ax, image))
    if row.share_y:
        limits = [ax.get_ylim() for ax in drawn]
        for ax in drawn:
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    part.suptitle(row.title, x=0.005, ha="left", fontsize=9.5, fontweight="bold")
    if row.bar and images:
        bar = part.colorbar(images[-1][1], ax=[ax for ax, _ in images], shrink=0.85, aspect=15)
        bar.set_label(row.bar, fontsize=7)
        bar.ax.tick_params(labelsize=6)
    for ax in drawn:
        ax.tick_params(labelsize=7, which="both")
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
            text.set_fontsize(8)
    if row.legend:
        legend_below(part, drawn, width)
    return drawn
