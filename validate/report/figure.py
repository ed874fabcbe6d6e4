"""A figure of a report, and one that could not be drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder, file_name
from validate.figures.sheet import Sheet
from validate.figures.style import rendered

MOST_PIXELS = 1300
"""The widest picture, in pixels: wide sheets are drawn at fewer pixels per inch."""
PIXELS_PER_INCH = 96
"""How large a page shows a figure: as CSS has it, at its size in inches."""
_MOST_LETTERS = 80


@dataclass
class ReportFigure:
    """A drawn figure and what it shows.

    Attributes
    ----------
    name : str
        The name of its files.
    caption : str
    figure : Figure
    title : str
        The paper's number and title, for a figure of the paper.
    note : str
        Seeds and intervals.
    numbers : list of str
        What its panels say in numbers, a line each.
    """

    name: str
    caption: str
    figure: Figure
    title: str = ""
    note: str = ""
    numbers: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, sheet: Sheet, title: str = "") -> ReportFigure:
        """Draw a sheet without its footnote, which the page has as text."""
        figure = sheet.plot(footnote=False).figure_
        assert figure is not None
        return cls(sheet.name, sheet.caption, figure, title, sheet.note, sheet.summary())

    @property
    def alt(self) -> str:
        """What stands for the picture where it is not seen."""
        return ". ".join(text.rstrip(".") for text in (self.title, self.caption, self.note) if text) + "."

    @property
    def pixels(self) -> int:
        """The width at which a page shows it, in pixels."""
        return round(PIXELS_PER_INCH * self.figure.get_figwidth())

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG, rendered once for the page and the file."""
        return rendered(self.figure, "png", min(130.0, MOST_PIXELS / self.figure.get_figwidth()))

    def write(self, folder: OutputFolder) -> None:
        """Write it as PNG and SVG into ``figures`` of a folder."""
        name = f"figures/{file_name(self.name)}"
        folder.write(f"{name}.svg", rendered(self.figure, "svg"))
        folder.write(f"{name}.png", self.png)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "note": self.note,
            "numbers": self.numbers,
        }


@dataclass(frozen=True)
class NotDrawn:
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"number": self.number, "title": self.title, "reason": self.reason}


def slug(text: str) -> str:
    """Return a label or a group as part of a file's name."""
    plain = "".join(c if c.isalnum() or c in "._-" else " " for c in text.replace("γ = ", "gamma"))
    return "_".join(plain.split())[:_MOST_LETTERS]
