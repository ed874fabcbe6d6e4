"""A figure of the paper: rows of panels under letters, with one legend and one colour bar in each row."""

from __future__ import annotations

import base64
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from sim.runs.outputs import OutputFolder
from theory.paths import PathLike, as_path
from validate.figures.marks import legend_of, marks_of
from validate.figures.panels.panel import BasePanel
from validate.figures.style import (
    PAGE_WIDTH,
    SEQUENTIAL,
    SMALL_TEXT,
    TEXT,
    TITLE,
    legend_below,
    new_figure,
    rendered,
)

LEAST_WIDTH = 4.5
"""The narrowest sheet, in inches."""
_INCHES_A_LETTER = 0.075
"""Room for a letter of a row's title."""
_LETTERS_PER_INCH = 20
"""How many letters of the footnote's size fit into an inch, with some to spare."""
_STEP = 0.05
"""A fitted colour scale ends at a multiple of this."""


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
    share_y : str
        Rows with the same name here, and all panels in them, have one vertical axis; empty for none.
    scale : str
        Images of rows with the same name here share a colour scale that ends at their own lowest value,
        where none is negative, so that small differences show; empty for the images' own scales.
    """

    title: str
    panels: Sequence[Panel]
    bar: str = ""
    height: float = 2.0
    legend: bool = True
    share_y: str = ""
    scale: str = ""


@dataclass
class NoRuns(BasePanel):
    """An empty place in a grid of panels.

    Attributes
    ----------
    title : str
    """

    title: str

    def draw(self, ax: Axes) -> None:
        """Say that there is nothing."""
        ax.set_title(self.title)
        ax.set_axis_off()
        ax.annotate("no finished run", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=8)


@dataclass(repr=False)
class Sheet:
    """Rows of panels, with a caption and a footnote.

    Attributes
    ----------
    name : str
        The name of its files.
    caption : str
        What it shows, in a sentence or two.
    about : str
        Of which runs: model, γ, seeds, epochs and what they stand for.
    rows : list of PanelRow
    width : float
        The least width of one panel in the longest row, in inches, as long as the page is wide enough.
    note : str
        The footnote: ``about``, and what bars, bands and brackets mean, read from what was drawn.
    """

    name: str
    caption: str
    about: str
    rows: list[PanelRow]
    width: float = 2.3
    note: str = ""
    figure_: Figure | None = field(default=None, repr=False)
    axes_: list[list[Axes]] = field(default_factory=list, repr=False)

    def plot(self, *, footnote: bool = True) -> Sheet:
        """Draw everything on a new figure, and return itself with ``note``, ``figure_`` and ``axes_``.

        ``footnote=False`` leaves the footnote to whoever shows the figure.
        """
        columns = max(len(row.panels) for row in self.rows)
        heights = [row.height for row in self.rows]
        titles = _INCHES_A_LETTER * max(len(plain(row.title)) for row in self.rows)
        width = min(PAGE_WIDTH, max(LEAST_WIDTH, self.width * columns, titles))
        self.figure_ = figure = new_figure(width, sum(heights) + 0.3)
        # Room between a colour bar's label and the next panel's.
        figure.get_layout_engine().set(wspace=0.09)  # type: ignore[union-attr, call-arg]
        parts: Any = figure.subfigures(len(self.rows), 1, squeeze=False, height_ratios=heights)
        self.axes_ = [_draw_row(part, row, width) for part, row in zip(parts[:, 0], self.rows, strict=True)]
        _share_axes(self.rows, self.axes_)
        _share_scales(self.rows, self.axes_)
        self.note = " ".join(f"{text}." for text in (self.about, legend_of(marks_of(figure))) if text)
        if footnote:
            lines = textwrap.wrap(self.note, int(width * _LETTERS_PER_INCH), break_on_hyphens=False)
            figure.supxlabel("\n".join(lines), fontsize=SMALL_TEXT, color="0.3")
        return self

    def __repr__(self) -> str:
        drawn = "drawn" if self.figure_ is not None else "not drawn yet"
        return f"Sheet({self.name!r}, {sum(len(row.panels) for row in self.rows)} panels, {drawn})"

    def _repr_html_(self) -> str:
        figure = (self if self.figure_ is not None else self.plot()).figure_
        assert figure is not None
        data = base64.b64encode(rendered(figure, "png", 100)).decode()
        picture = f'<img alt="{escape(self.caption)}" src="data:image/png;base64,{data}">'
        return f"<figure>{picture}<figcaption>{escape(self.caption)}</figcaption></figure>"

    def summary(self) -> list[str]:
        """Return the numbers behind the panels, one line each under its row's title, from their arrays."""
        found, title = [], ""
        for row in self.rows:
            title = row.title or title
            lines = [panel.summary() for panel in row.panels if isinstance(panel, Summary)]
            found += [plain(f"{' '.join(title.split())} | {line}") for line in lines if line]
        return found

    def write(self, folder: PathLike, formats: Sequence[str] = ("png",)) -> list[Path]:
        """Write the drawn figure in some formats and return the files.

        Raises
        ------
        InputError
            If the folder cannot be written, or holds a file of that name which was not written by this.
        """
        figure = (self if self.figure_ is not None else self.plot()).figure_
        assert figure is not None
        out = OutputFolder(as_path("folder", folder))
        return [out.write(f"{self.name}.{suffix}", rendered(figure, suffix)) for suffix in formats]


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
    part.suptitle(row.title, x=0.005, ha="left", fontsize=TITLE + 1, fontweight="bold")
    if row.bar and images:
        bar = part.colorbar(images[-1][1], ax=[ax for ax, _ in images], shrink=0.85, aspect=15)
        bar.set_label(row.bar, fontsize=TEXT)
        bar.ax.tick_params(labelsize=SMALL_TEXT)
    for ax in drawn:
        _set_sizes(ax)
    if row.legend:
        legend_below(part, drawn, width)
    return drawn


def _set_sizes(ax: Axes) -> None:
    ax.tick_params(labelsize=SMALL_TEXT, which="both")
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_fontsize(TITLE)
    own = ax.get_legend()
    for text in [*ax.texts, *(own.get_texts() if own else [])]:
        text.set_fontsize(SMALL_TEXT)


def _share_scales(rows: Sequence[PanelRow], axes: Sequence[Sequence[Axes]]) -> None:
    """Give images that share a scale one from their lowest value up; none that is negative."""
    groups: dict[str, list[Any]] = {}
    for row, drawn in zip(rows, axes, strict=True):
        if row.scale:
            groups.setdefault(row.scale, []).extend(image for ax in drawn for image in ax.images)
    for images in groups.values():
        low = min((float(np.nanmin(image.get_array())) for image in images), default=-1.0)
        if low >= 0:
            for image in images:
                image.set_cmap(SEQUENTIAL)
                image.set_clim(min(math.floor(low / _STEP) * _STEP, 1 - _STEP), 1)


def _share_axes(rows: Sequence[PanelRow], axes: Sequence[Sequence[Axes]]) -> None:
    """Give the panels of rows that share an axis one range, and the first of each row its labels."""
    groups: dict[str, list[Axes]] = {}
    for row, drawn in zip(rows, axes, strict=True):
        if row.share_y:
            groups.setdefault(row.share_y, []).extend(ax for ax in drawn if ax.axison)
            for ax in drawn[1:]:
                ax.set_ylabel("")
                ax.tick_params(labelleft=False, which="both")
    for drawn in groups.values():
        limits = [ax.get_ylim() for ax in drawn]
        for ax in drawn:
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
            if ax.get_yscale() == "linear":  # By default the ticks also depend on the height of the row.
                ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
