"""anchorflow figures: the figures of the paper, from kept or given runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from theory import InputError
from validate.commands.options import ImportOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.figures.paper import PaperFigure
    from validate.figures.sheet import Sheet


class Options(ImportOptions):
    """Draw the figures of the paper. Nothing is trained.

    N is a figure's number in the paper; without one, every figure is drawn whose runs are kept, and for each
    of the others the command that makes its runs is named. With --runs the figures show those runs instead.
    Where one of several N cannot be drawn, the others are, and the exit code is 2.
    """

    numbers: Annotated[tuple[int, ...], Positional("N")] = ()
    """Numbers of figures."""
    runs: tuple[Path, ...] = ()
    """Run folders or kept files, or folders that hold them, to show instead of what is kept."""
    out: Path = Path("figures")
    """The folder that receives the figures."""
    format: tuple[Literal["png", "pdf", "svg"], ...] = ("png",)
    """The formats; each figure is written in all of them."""


COMMAND = Command("figures", Options, "anchorflow figures 3 4 --out figures --format png pdf")


def run(arguments: Sequence[str]) -> int:
    """Draw, write, and say what was written and what is missing."""
    options = COMMAND.parse(arguments)
    from sim.runs.outputs import OutputFolder
    from validate.figures.paper import FIGURES, find_figure
    from validate.progress import track
    from validate.terminal.tables import print_json, say

    _check_given(options)
    OutputFolder(options.out).check()
    numbers = options.numbers or tuple(FIGURES)
    figures = [find_figure(number) for number in dict.fromkeys(numbers)]
    observations = _observations_of(options.runs)
    drawn: list[dict[str, Any]] = []
    for figure in track(figures, "drawing figures"):
        try:
            sheet, missing = _draw(figure, observations)
        except InputError as error:
            if len(options.numbers) == 1:
                raise
            say(f"Fig. {figure.number} not drawn: {error}")
            continue
        for refusal in missing:
            say(f"Fig. {figure.number} drawn in part: {refusal}")
        drawn.append(_written(figure, sheet, options))
        if not options.as_json:
            print(f"Fig. {figure.number}: {', '.join(drawn[-1]['files'])}")
    if not drawn:
        raise InputError("figures", list(numbers), "none can be drawn", "see the commands above")
    if options.as_json:
        print_json({"schema": "anchorflow/figures/1", "figures": drawn})
    return 2 if options.numbers and len(drawn) < len(figures) else 0


def _check_given(options: Options) -> None:
    """Refuse options without values: an empty list of runs would stand for the kept ones."""
    if not options.format:
        raise InputError("format", [], "no format given", "give png, pdf or svg")
    if "runs" in options.model_fields_set and not options.runs:
        raise InputError("runs", [], "no run given", "name run folders, or leave --runs out")


def _observations_of(paths: Sequence[Path]) -> Callable[[PaperFigure], tuple[list[Any], list[InputError]]]:
    """Return where a figure's observations come from: the runs that are named, or what is kept."""
    from validate.figures.paper import kept_of
    from validate.observe import find_observations, kept

    if paths:
        named = find_observations(paths, variants=True)
        return lambda figure: (named, [])
    read = cache(kept)
    return lambda figure: kept_of(figure, read)


def _draw(
    figure: PaperFigure, observations: Callable[[PaperFigure], tuple[list[Any], list[InputError]]]
) -> tuple[Sheet, list[InputError]]:
    runs, missing = observations(figure)
    return figure.draw(runs), missing


def _written(figure: PaperFigure, sheet: Sheet, options: Options) -> dict[str, Any]:
    files = sheet.write(options.out, options.format)
    return {
        "figure": figure.number,
        "title": figure.title,
        "caption": sheet.caption,
        "note": sheet.note,
        "files": [str(file) for file in files],
        "numbers": sheet.summary(),
    }
