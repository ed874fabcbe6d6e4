"""The figures of a report: those of the paper that some runs fill, and why the others are not drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from matplotlib.figure import Figure

from sim.runs.outputs import OutputFolder, file_name
from theory import InputError
from validate.figures.paper import FIGURES, PaperFigure
from validate.figures.sheet import Sheet
from validate.figures.style import rendered
from validate.observe import Observations
from validate.progress import track

PIXELS_PER_INCH = 147
"""How large a page shows a figure: one of the widest sheets fills the column."""
PRINTED_PER_INCH = 165.0
"""Pixels per inch of the picture itself."""
MOST_SETTINGS = 12
"""A figure of more settings would have panels too small to read."""


@dataclass
class ReportFigure:
    """A drawn figure and what it shows, under the name of its files.

    ``title`` is the paper's number and title; ``note`` says which seeds and intervals; ``numbers`` are the
    panels' main numbers, a line each.
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
        return rendered(self.figure, "png", PRINTED_PER_INCH)

    def write(self, folder: OutputFolder) -> None:
        """Write it as PNG and SVG into ``figures`` of a folder."""
        name = f"figures/{file_name(self.name)}"
        folder.write(f"{name}.svg", rendered(self.figure, "svg"))
        folder.write(f"{name}.png", self.png)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {name: getattr(self, name) for name in ("name", "title", "caption", "note", "numbers")}


@dataclass(frozen=True)
class NotDrawn:
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"number": self.number, "title": self.title, "reason": self.reason}


def draw_paper_figures(observations: Sequence[Observations]) -> tuple[list[ReportFigure], list[NotDrawn]]:
    """Draw every figure of the paper that some runs can fill; name the others with the reason."""
    drawn: list[ReportFigure] = []
    missing: list[NotDrawn] = []
    for number, paper in track(FIGURES.items(), "drawing figures of the paper"):
        reason = _unfit(paper, observations)
        if not reason:
            try:
                drawn.append(ReportFigure.of(paper.build(observations), f"Fig. {number}: {paper.title}"))
                continue
            except InputError as error:
                reason = f"{error.problem}; {error.remedy}"
        missing.append(NotDrawn(number, paper.title, reason))
    return drawn, missing


def _unfit(figure: PaperFigure, observations: Sequence[Observations]) -> str:
    """Return why a figure would say nothing of these runs, though it could be drawn."""
    n = len({run.config.model_dump_json(exclude={"seed"}) for run in observations})
    if n > MOST_SETTINGS:
        return f"{n} settings, and more than {MOST_SETTINGS} are too small to read; name fewer runs"
    if figure.compares == "γ" and len({run.config.init_rate for run in observations}) == 1:
        return "compares several γ; give runs at another γ too"
    rates = {run.config.training.peak_learning_rate for run in observations}
    if figure.compares == "learning rate" and len(rates) == 1:
        return "compares several learning rates; give runs at another one too"
    return ""
