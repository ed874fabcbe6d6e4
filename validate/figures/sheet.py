"""A figure: rows of panels under letters, with one legend and one colour bar in each row."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from sim.runs.outputs import OutputFolder, file_name
from theory.edge.reading import PathLike, as_path
from validate.figures.heat_map import HeatMap
from validate.figures.panel import BasePanel, marks_text
from validate.figures.style import PAGE_WIDTH, AnyTextFigure, rendered, styled

_PIXELS_PER_INCH = 165.0
"""The resolution of pictures in a folder; a report's page shows them somewhat smaller."""
_LETTERS_PER_INCH = 20
"""How many letters of the footnote's size fit into an inch, with some to spare."""


@dataclass
class PanelRow:
    """Panels side by side.

    Attributes
    ----------
    title : str
        The text above the row, with its letter first.
    bar : str
        The text of the colour bar of the row's images; empty for none.
    height : float
        In inches; by default 0.8 of a square panel's width, or 1.35, plus room for titles and legend.
    legend : bool
        Whether one legend for all panels stands below.
    share_y : str
        Rows with the same name here share one vertical axis across all their panels except images.
    says : str
        The finding, in a sentence under the title.
    """

    title: str
    panels: Sequence[BasePanel]
    bar: str = ""
    height: float = 0.0
    legend: bool = True
    share_y: str = ""
    says: str = ""

    @property
    def inches(self) -> float:
        """The height of the row."""
        square = [isinstance(panel, HeatMap) and panel.matrix for panel in self.panels]
        own = 0.8 * PAGE_WIDTH / max(len(self.panels), 3) if any(square) else 1.35
        legend = 0.2 * (self.legend and not all(square))
        return self.height or own + 0.55 + 0.15 * bool(self.title) + 0.15 * bool(self.says) + legend


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
        The runs that it shows: model, γ, seeds, epochs, and deviations from the printed settings.
    rows : list of PanelRow
    title : str
        The paper's number and title, for a page.
    note : str
        The footnote: ``about``, and the meaning of bars, shades and thin lines, collected while drawing.
    """

    name: str
    caption: str
    about: str
    rows: list[PanelRow]
    title: str = ""
    note: str = ""
    figure_: Figure | None = field(default=None, repr=False)
    axes_: list[list[Axes]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.caption = " ".join(self.caption.split())

    @styled
    def plot(self, *, footnote: bool = True) -> Sheet:
        """Draw everything on a new figure, and return the sheet with ``note``, ``figure_`` and ``axes_`` set.

        ``footnote=False`` leaves the footnote to the caller.
        """
        heights = [row.inches for row in self.rows]
        self.figure_ = figure = AnyTextFigure(figsize=(PAGE_WIDTH, sum(heights) + 0.3 * footnote))
        parts: Any = figure.subfigures(len(self.rows), 1, squeeze=False, height_ratios=heights)
        self.axes_ = [_draw_row(part, row) for part, row in zip(parts[:, 0], self.rows, strict=True)]
        _share_axes(self.rows, self.axes_)
        marks = marks_text(panel for row in self.rows for panel in row.panels)
        self.note = " ".join(f"{text}." for text in (self.about, marks) if text)
        if footnote:
            lines = textwrap.wrap(self.note, int(PAGE_WIDTH * _LETTERS_PER_INCH), break_on_hyphens=False)
            figure.supxlabel("\n".join(lines), x=0.01, ha="left", color="0.3")
        return self

    def __repr__(self) -> str:
        drawn = "drawn" if self.figure_ is not None else "not drawn yet"
        return f"Sheet({self.name!r}, {sum(len(row.panels) for row in self.rows)} panels, {drawn})"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.rendered("png", 100)).decode()
        picture = f'<img alt="{escape(self.caption)}" src="data:image/png;base64,{data}">'
        return f"<figure>{picture}<figcaption>{escape(self.caption)}</figcaption></figure>"

    @property
    def alt(self) -> str:
        """The text that stands in for the picture where it cannot be seen."""
        return ". ".join(text.rstrip(".") for text in (self.title, self.caption, self.note) if text) + "."

    def summary(self) -> list[str]:
        """Return the numbers behind the panels, one line each, after the title of the panel's row."""
        found, title = [], ""
        for row in self.rows:
            title = row.title or title
            # A title may be broken into lines.
            lines = [f"{title} | {p.numbers}" if title else p.numbers for p in row.panels if p.numbers]
            found += [" ".join(line.split()) for line in lines]
        return [plain(line) for line in found]

    def as_dict(self) -> dict[str, Any]:
        """Return all texts and numbers, for JSON."""
        texts = {name: getattr(self, name) for name in ("name", "title", "caption", "note")}
        return texts | {"numbers": self.summary()}

    def rendered(self, suffix: str, dpi: float = 200.0) -> bytes:
        """Return the figure's bytes in a format, drawing it first if it is not drawn yet."""
        figure = (self if self.figure_ is not None else self.plot()).figure_
        assert figure is not None
        return rendered(figure, suffix, dpi)

    def write(
        self, folder: PathLike, formats: Sequence[str] = ("png",), *, captions: bool = False
    ) -> list[Path]:
        """Write the figure in the given formats, and its caption beside it as text; return the files."""
        out, name = OutputFolder(as_path("folder", folder)), file_name(self.name)
        files = [out.write(f"{name}.{suffix}", self.rendered(suffix)) for suffix in formats]
        if captions:
            text = "\n\n".join(part for part in (self.title, self.caption, self.note) if part)
            files.append(out.write(f"{name}.txt", f"{text}\n"))
        return files


def write_figures(sheets: Iterable[Sheet], folder: OutputFolder, place: str) -> dict[str, bytes]:
    """Write figures as PNG and SVG under ``place`` in a folder, and return the PNG of each by its name.

    Each kind of report has a place of its own; earlier figures there that are not among these are deleted.
    """
    pictures, stale = {}, {name for name in folder.listed() if name.startswith(f"{place}/")}
    for sheet in sheets:
        pictures[sheet.name] = sheet.rendered("png", _PIXELS_PER_INCH)
        for suffix, content in (("svg", sheet.rendered("svg")), ("png", pictures[sheet.name])):
            name = f"{place}/{file_name(sheet.name)}.{suffix}"
            folder.write(name, content)
            stale.discard(name)
    for name in stale:
        folder.remove(name)
    return pictures


def letter(number: int) -> str:
    """Return the letter of a sheet's row, counted from 0: A, B, ..."""
    return chr(ord("A") + number)


def in_rows(panels: Sequence[BasePanel], columns: int, title: str = "", **options: Any) -> list[PanelRow]:
    """Return rows with the title above the first and the legend below the last; they share an axis."""
    starts = range(0, len(panels), columns)
    rows = [PanelRow("", panels[i : i + columns], legend=False, share_y=title, **options) for i in starts]
    rows[0].title, rows[-1].legend = title, True
    return rows


def plain(text: str) -> str:
    """Return a title without its mathematical typesetting, for a terminal."""
    for command, accent in ((r"\bar", "\u0304"), (r"\hat", "\u0302"), (r"\tilde", "\u0303")):
        text = re.sub(rf"\{command} (\w)", rf"\1{accent}", text)
    return re.sub(r"\\mathrm\{(\w+)\}", r"\1", text).replace("$", "").replace("{", "").replace("}", "")


def _draw_row(part: SubFigure, row: PanelRow) -> list[Axes]:
    axes: Any = part.subplots(1, len(row.panels), squeeze=False)
    drawn: list[Axes] = list(axes.flat)
    for ax, panel in zip(drawn, row.panels, strict=True):
        panel.plot(ax)
    part.suptitle(row.title + "\n" * bool(row.says), x=0.005, ha="left")
    if row.says:  # In place of the title's second line: a title is bold throughout.
        part.text(0.005, 0.98 - 0.16 / row.inches, row.says, va="top")
    images = [panel.image_ for panel in row.panels if panel.image_]
    if row.bar and images:
        part.colorbar(images[-1], ax=[ax for ax in drawn if ax.images], shrink=0.85, aspect=15, label=row.bar)
    found: dict[str, Any] = {}
    for ax in drawn:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if row.legend and found:
        letters = sum(len(plain(label)) + 6 for label in found)
        columns = len(found) if letters < 16 * PAGE_WIDTH else 4
        part.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)
    return drawn


def _share_axes(rows: Sequence[PanelRow], axes: Sequence[Sequence[Axes]]) -> None:
    """Give rows that share an axis one range, and keep its labels only on each row's first panel."""
    groups: dict[str, list[Axes]] = {}
    for row, drawn in zip(rows, axes, strict=True):
        lines = [ax for ax in drawn if ax.axison and not ax.images]
        if row.share_y:
            groups.setdefault(row.share_y, []).extend(lines)
            for ax in lines[1:]:
                ax.set_ylabel("")
                ax.tick_params(labelleft=False, which="both")
    for drawn in groups.values():
        limits = [ax.get_ylim() for ax in drawn]
        for ax in drawn:
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
            if ax.get_yscale() == "linear":  # By default the ticks also depend on the height of the row.
                ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
