"""Which figures there are, where their runs come from, and how each is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from theory import InputError
from theory.checked import checked
from validate.figures.paper.sources import Read, Source
from validate.figures.sheet import Sheet
from validate.observe import NoRunsError, Observations, kept

Build = Callable[[Sequence[Observations]], Sheet]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper, or one of your own beside them.

    Attributes
    ----------
    number : int
        The paper's; any other for one's own.
    title : str
    sources : tuple of Source
        Where the runs come from that it shows by default; none if a task is all it needs.
    build : callable
        From observations to a sheet; refuses runs that cannot make it.
    compares : str
        What it compares runs over, "γ" or "learning rate": runs of one value alone do not fill it.
    """

    number: int
    title: str
    sources: tuple[Source, ...]
    build: Build
    compares: Literal["", "γ", "learning rate"] = ""

    def draw(self, observations: Sequence[Observations], *, footnote: bool = True) -> Sheet:
        """Build the figure from runs and draw it; refuse runs that cannot make it, or none."""
        if self.sources and not observations:
            raise InputError(
                "runs", [], f"none for Fig. {self.number}", "give runs, or none to show the kept"
            )
        return self.build(observations).plot(footnote=footnote)


FIGURES: dict[int, PaperFigure] = {}
"""Every registered figure, sorted."""


def paper_figure(
    number: int, title: str, *sources: str | Source, compares: Literal["", "γ", "learning rate"] = ""
) -> Callable[[Build], Build]:
    """Register the function below as what builds a figure; commands, reports and gallery then know it.

    Parameters
    ----------
    number : int
    title : str
    *sources : str or Source
        Studies whose kept runs it shows by default, or choices between studies.
    compares : str, optional
        What it compares runs over, "γ" or "learning rate".

    Raises
    ------
    InputError
        If the number is taken.
    """

    def register(build: Build) -> Build:
        if number in FIGURES:
            raise InputError("figure", number, f"is {FIGURES[number].title!r} already", "take another number")
        chosen = tuple(Source((source,)) if isinstance(source, str) else source for source in sources)
        FIGURES[number] = PaperFigure(number, title, chosen, build, compares)
        ordered = sorted(FIGURES.items())
        FIGURES.clear()
        FIGURES.update(ordered)
        return build

    return register


def find_figure(number: int) -> PaperFigure:
    """Return a figure by its number, or refuse it with those that there are."""
    if number not in FIGURES:
        known = ", ".join(str(n) for n in FIGURES)
        raise InputError("figure", number, "not among the figures drawn here", f"choose one of {known}")
    return FIGURES[number]


@checked
def draw_figure(number: int, observations: Sequence[Observations] | None = None) -> Sheet:
    """Draw a figure of the paper.

    Parameters
    ----------
    number : int
        The paper's.
    observations : sequence of Observations, optional
        The runs to show; those that are kept of the figure's studies by default.

    Raises
    ------
    InputError
        If there are no such runs, with the command that makes them, or if they cannot make the figure.
    """
    figure = find_figure(number)
    return figure.draw(kept_of(figure)[0] if observations is None else observations)


def runs_behind(number: int, observations: Sequence[Observations] | None = None) -> str:
    """Return which runs a figure shows, how they are trained anew, and what they cost by their provenance.

    Parameters are those of ``draw_figure``.
    """
    if observations is not None:
        return _cost(observations)
    chosen, _ = _chosen(find_figure(number), kept)
    runs = [run for own in chosen.values() for run in own]
    if not runs:
        return "no runs: drawn from the task alone"
    studies = " ".join(chosen)
    return f"study {studies}: {_cost(runs)}; trained again by anchorflow study {studies} --run --keep"


def kept_of(figure: PaperFigure, read: Read = kept) -> tuple[list[Observations], list[InputError]]:
    """Return what is kept for a figure's sources, and the refusals of those that are missing.

    Raises
    ------
    InputError
        If all are missing.
    """
    chosen, missing = _chosen(figure, read)
    return [run for own in chosen.values() for run in own], missing


def _chosen(figure: PaperFigure, read: Read) -> tuple[dict[str, list[Observations]], list[InputError]]:
    found: dict[str, list[Observations]] = {}
    missing: list[InputError] = []
    for source in figure.sources:
        try:
            study, runs = source.find(read)
        except NoRunsError as error:
            missing.append(error)
        else:
            found[study] = runs
    if missing and not found:
        raise missing[0]
    return found, missing


def _cost(runs: Sequence[Observations]) -> str:
    hours = sum(run.seconds for run in runs) / 3600
    memory = max(float(run.provenance["peak_memory_mib"]) for run in runs)
    number = f"{len(runs)} run{'s' * (len(runs) > 1)}"
    return f"{number}, {hours:.2f} hours of training in all, at most {memory:.0f} MiB per process"
