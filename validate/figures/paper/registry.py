"""The registered figures: the sources of their runs, and the functions that build them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from theory import InputError
from theory.edge.checked import checked
from validate.figures.sheet import Sheet
from validate.judge.settings import LARGE, NORMED, SMALL
from validate.observe import NoRunsError, Observations, kept

Read = Callable[[str], list[Observations]]
"""From a study's name to its kept runs; refuses a study of which none is kept."""
Build = Callable[[Sequence[Observations]], Sheet]


@dataclass(frozen=True)
class Source:
    """Alternative studies for a figure: it shows the first whose kept runs have every γ that it needs.

    Attributes
    ----------
    studies : tuple of str
        In an order fixed by the origin of their settings, never by their results. Studies joined by "+" are
        shown together, their runs cut to the shortest: at a constant learning rate a short run is the
        beginning of a long one. Those that go on are given whole as well (``runs.later``).
    init_rates : tuple of float
        The γ without which the figure says nothing; a study that lacks one is passed over.
    """

    studies: tuple[str, ...]
    init_rates: tuple[float, ...] = ()

    def find(self, read: Read) -> list[Observations]:
        """Return the kept runs; without any, refuse the first study that is shown by itself."""
        refused: list[tuple[bool, NoRunsError]] = []
        for studies in self.studies:
            joined = "+" in studies
            found: list[Observations] = []
            for study in studies.split("+"):
                try:
                    found += read(study)
                except NoRunsError as error:
                    refused.append((joined, error))
            lacking = sorted(set(self.init_rates) - {run.config.init_rate for run in found})
            if found and not lacking:
                return _cut(found) if joined else found
            if found:
                rates = ", ".join(f"{rate:g}" for rate in lacking)
                remedy = f"make them: anchorflow study {studies.replace('+', ' ')} --run --keep"
                refused.append((False, NoRunsError("study", studies, f"no kept run at γ = {rates}", remedy)))
        raise min(refused, key=lambda pair: pair[0])[1]


LIKELIEST_EMB_MLP = Source(("printed-emb-mlp", "printed-emb-mlp-matched", "emb-mlp"), (LARGE, SMALL))
"""The paper's Emb-MLP as printed, then at another rate with the printed sum of rates, then shorter."""
LIKELIEST_GPT2 = Source(("printed-gpt2", "language"), (LARGE, SMALL))
"""The paper's GPT-2 at a size for two cores: at the printed rate, then at a larger one."""


def likeliest(*init_rates: float) -> Source:
    """Return the settings of the paper's Transformer with layer norm: as printed, then by likelihood.

    As printed there are one long seed and several short ones.
    """
    return Source(("printed+printed-seeds", *(setup.study for setup in NORMED[1:])), init_rates)


def _cut(runs: list[Observations]) -> list[Observations]:
    """Return runs at one constant rate cut to the length of the shortest, and then longer ones whole."""
    if len({run.config.training.learning_rate for run in runs}) > 1:
        return runs
    shortest = min((run.config.training for run in runs), key=lambda training: training.epochs)
    cut = [
        replace(run.until(shortest.epochs), config=run.config.model_copy(update={"training": shortest}))
        for run in runs
    ]
    return cut + [run for run in runs if run.epochs[-1] > shortest.epochs]


@dataclass(frozen=True, repr=False)
class PaperFigure:
    """A figure of the paper, or one of your own.

    Attributes
    ----------
    number : int
        The paper's number; any other for a figure of your own.
    title : str
    sources : tuple of Source
        The sources of the runs that it shows by default; none if it needs only a task.
    build : callable
        From observations to a sheet; refuses runs that cannot make it.
    compares : str
        The axis along which it compares runs, "γ" or "learning rate": runs of one value do not fill it.
    """

    number: int
    title: str
    sources: tuple[Source, ...]
    build: Build
    compares: Literal["", "γ", "learning rate"] = ""

    def __repr__(self) -> str:
        return f"PaperFigure({self.number}: {self.title})"

    def draw(self, observations: Sequence[Observations]) -> Sheet:
        """Build the figure from runs and draw it; refuse runs that cannot make it, or none."""
        if self.sources and not observations:
            problem = f"none for Fig. {self.number}"
            raise InputError("observations", [], problem, "give some, or leave them out for the kept runs")
        return self.sheet(observations).plot()

    def sheet(self, observations: Sequence[Observations]) -> Sheet:
        """Build the figure, not drawn yet, under the paper's number and title."""
        return replace(self.build(observations), title=f"Fig. {self.number}: {self.title}")


FIGURES: dict[int, PaperFigure] = {}
"""Every registered figure, sorted."""


def paper_figure(
    number: int, title: str, *sources: str | Source, compares: Literal["", "γ", "learning rate"] = ""
) -> Callable[[Build], Build]:
    """Register the function below as a figure's builder; commands, reports and gallery then know it.

    ``sources`` are studies whose kept runs it shows by default, or choices between studies; for the
    other parameters see ``PaperFigure``.
    """

    def register(build: Build) -> Build:
        if number in FIGURES:
            raise InputError("figure", number, f"already names {FIGURES[number].title!r}", "choose another")
        chosen = tuple(Source((source,)) if isinstance(source, str) else source for source in sources)
        figures = FIGURES | {number: PaperFigure(number, title, chosen, build, compares)}
        FIGURES.clear()
        FIGURES.update(sorted(figures.items()))
        return build

    return register


def find_figure(number: int) -> PaperFigure:
    """Return a figure by its number; the refusal of an unknown number lists the known ones."""
    if number not in FIGURES:
        known = ", ".join(str(n) for n in FIGURES)
        raise InputError("figure", number, "not among the figures drawn here", f"choose one of {known}")
    return FIGURES[number]


@checked
def draw_figure(number: int, observations: Sequence[Observations] | None = None) -> Sheet:
    """Draw a figure of the paper by its number, from given runs or by default from the kept runs.

    Raises
    ------
    InputError
        If there are no such runs, with the command that makes them, or if they cannot make the figure.
    """
    figure = find_figure(number)
    return figure.draw(kept_of(figure)[0] if observations is None else observations)


def kept_of(figure: PaperFigure, read: Read | None = None) -> tuple[list[Observations], list[NoRunsError]]:
    """Return what is kept for a figure's sources, and the refusals of those that are missing."""
    found, missing = list[Observations](), list[NoRunsError]()
    for source in figure.sources:
        try:
            found += source.find(read or kept)
        except NoRunsError as error:
            missing.append(error)
    if missing and not found:
        raise missing[0]
    return found, missing


def runs_behind(number: int) -> str:
    """Describe the kept runs that a figure shows, the command that trains them again, and their cost."""
    # A run that is given cut and whole is one run.
    runs = list({run.path: run for run in kept_of(find_figure(number))[0]}.values())
    if not runs:
        return "no runs: drawn from the task alone"
    studies = " ".join(dict.fromkeys(run.path.parent.name for run in runs if run.path))
    hours = sum(run.seconds for run in runs) / 3600
    memory = max(float(run.provenance["peak_memory_mib"]) for run in runs)
    return (
        f"study {studies}: {len(runs)} run{'s' * (len(runs) > 1)}, {hours:.2f} hours of training in all, at "
        f"most {memory:.0f} MiB per process; trained again by anchorflow study {studies} --run --keep"
    )
