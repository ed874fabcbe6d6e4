"""Which figures there are, the studies whose runs they show, and how each is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theory import InputError
from validate.figures.paper.attention import (
    examples,
    first_attention,
    first_attention_large,
    second_attention,
    spectra,
)
from validate.figures.paper.embeddings import (
    emb_mlp_embedding,
    emb_mlp_large,
    every_row,
    transformer_embedding,
    transformer_large,
)
from validate.figures.paper.training import label_laws, learning, over_learning_rates, without_norm
from validate.figures.sheet import Sheet
from validate.observe import Observations, kept


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Attributes
    ----------
    number : int
        The paper's.
    title : str
    studies : tuple of str
        The studies whose runs it shows by default; none if a task is all it needs.
    build : callable
        From observations to a sheet; refuses runs that cannot make it.
    """

    number: int
    title: str
    studies: tuple[str, ...]
    build: Callable[[Sequence[Observations]], Sheet]

    def draw(self, observations: Sequence[Observations]) -> Sheet:
        """Build the figure from runs and draw it; refuse runs that cannot make it, or none."""
        if self.studies and not observations:
            raise InputError(
                "runs", [], f"none for Fig. {self.number}", "give runs, or none to show the kept"
            )
        return self.build(observations).plot()


FIGURES = {
    figure.number: figure
    for figure in (
        PaperFigure(2, "Sequences of the task", (), examples),
        PaperFigure(3, "Loss and accuracy over epochs", ("transformer", "emb-mlp"), learning),
        PaperFigure(4, "The Emb-MLP's embedding and its label laws", ("emb-mlp",), emb_mlp_embedding),
        PaperFigure(5, "The Transformer's embedding", ("transformer",), transformer_embedding),
        PaperFigure(6, "The first attention and W_V", ("transformer",), first_attention),
        PaperFigure(8, "The effect of the label law", ("fig8-memory", "fig8-ranges"), label_laws),
        PaperFigure(9, "Every row of cosines, theory against training", ("transformer",), every_row),
        PaperFigure(10, "The Emb-MLP's embedding at large weights", ("emb-mlp",), emb_mlp_large),
        PaperFigure(11, "The Transformer's embedding at large weights", ("transformer",), transformer_large),
        PaperFigure(12, "The first attention at large weights", ("transformer",), first_attention_large),
        PaperFigure(13, "Singular values over γ", ("scan", "transformer"), spectra),
        PaperFigure(15, "The second attention", ("transformer",), second_attention),
        PaperFigure(16, "Loss and accuracy without layer norm", ("no-norm",), without_norm),
        PaperFigure(17, "Loss over learning rates", ("learning-rates",), over_learning_rates),
    )
}
"""The figures that are drawn from runs of the synthetic task; 1, 7 and 14 are about natural language."""


def find_figure(number: int) -> PaperFigure:
    """Return a figure by its number, or refuse it with those that there are."""
    if number not in FIGURES:
        known = ", ".join(str(n) for n in FIGURES)
        raise InputError("figure", number, "not one that is drawn from these runs", f"choose one of {known}")
    return FIGURES[number]


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
    """Return how many runs a figure shows and what they cost, from their provenance.

    Parameters are those of ``draw_figure``.
    """
    runs = kept_of(find_figure(number))[0] if observations is None else observations
    if not runs:
        return "no runs: drawn from the task alone"
    hours = sum(float(run.provenance["wall_seconds"]) for run in runs) / 3600
    memory = max(float(run.provenance["peak_memory_mib"]) for run in runs)
    return f"{len(runs)} runs, {hours:.2f} hours of training in all, at most {memory:.0f} MiB a process"


def kept_of(
    figure: PaperFigure, read: Callable[[str], list[Observations]] = kept
) -> tuple[list[Observations], list[InputError]]:
    """Return what is kept of a figure's studies, and the refusals of those that are missing.

    Raises
    ------
    InputError
        If all are missing.
    """
    found: list[Observations] = []
    missing: list[InputError] = []
    for study in figure.studies:
        try:
            found += read(study)
        except InputError as error:
            if error.argument != "study":
                raise
            missing.append(error)
    if missing and not found:
        raise missing[0]
    return found, missing
