"""The figures of the paper that some runs fill."""

from __future__ import annotations

from collections.abc import Sequence

from theory import InputError
from validate.figures.paper import FIGURES, PaperFigure
from validate.observe import Observations
from validate.progress import track
from validate.report.figure import NotDrawn, ReportFigure

MOST_SETTINGS = 12
"""A figure of more settings would have panels too small to read."""


def draw_paper_figures(observations: Sequence[Observations]) -> tuple[list[ReportFigure], list[NotDrawn]]:
    """Draw every figure of the paper that some runs can fill; name the others with the reason."""
    drawn: list[ReportFigure] = []
    missing: list[NotDrawn] = []
    for number, paper in track(FIGURES.items(), "drawing figures of the paper"):
        reason = _unfit(paper, observations)
        if not reason:
            try:
                title = f"Fig. {paper.number}: {paper.title}"
                drawn.append(ReportFigure.of(paper.build(observations), title))
                continue
            except InputError as error:
                reason = f"{error.problem}; {error.remedy}"
        missing.append(NotDrawn(number, paper.title, reason))
    return drawn, missing


def _unfit(figure: PaperFigure, observations: Sequence[Observations]) -> str:
    """Return why a figure would say nothing of these runs, though it could be drawn."""
    settings = {run.config.model_dump_json(exclude={"seed"}) for run in observations}
    if len(settings) > MOST_SETTINGS:
        return (
            f"{len(settings)} settings, and more than {MOST_SETTINGS} are too small to read; name fewer runs"
        )
    if figure.compares == "γ" and len({run.config.init_rate for run in observations}) == 1:
        return "compares several γ; give runs at another γ too"
    rates = {run.config.training.peak_learning_rate for run in observations}
    if figure.compares == "learning rate" and len(rates) == 1:
        return "compares several learning rates; give runs at another one too"
    return ""
