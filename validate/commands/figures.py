"""anchorflow figures: draw the paper's figures, from kept or given runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, say, tell


class Options(CommandOptions):
    """Draw the figures of the paper. Nothing is trained.

    N is a figure's number in the paper; without N, every figure is drawn whose runs are kept, and for the
    others the command that makes their runs is printed. With --runs the figures show those runs instead. If
    one of several N cannot be drawn, the others are, and the exit code is 2.

    example: anchorflow figures 3 4 --out figures --format png pdf
    """

    numbers: Annotated[tuple[int, ...], Positional("N")] = ()
    """Numbers of figures."""
    runs: tuple[Path, ...] = ()
    """Run folders or kept files, or folders that hold them, to show instead of the kept runs."""
    out: Path = Path("figures")
    """The folder that receives the figures."""
    format: tuple[Literal["png", "pdf", "svg"], ...] = ("png",)
    """File formats; each figure is written in all of them."""

    captions: bool = False
    """Also write each figure's caption beside it, as text."""


def run(options: Options) -> int:
    """Draw, write, and say what was written and what is missing."""
    from sim.runs.outputs import OutputFolder
    from validate.figures.paper import FIGURES, find_figure, kept_of
    from validate.observe import find_observations, kept
    from validate.terminal.progress import track

    OutputFolder(options.out).check()
    numbers = options.numbers or tuple(FIGURES)
    figures = [find_figure(number) for number in dict.fromkeys(numbers)]
    named, read = find_observations(options.runs, variants=True) if options.runs else [], cache(kept)
    drawn: list[dict[str, Any]] = []
    for figure in track(figures, "drawing figures"):
        try:
            observations, missing = (named, []) if options.runs else kept_of(figure, read)
            sheet = figure.draw(observations)
        except InputError as error:
            if len(options.numbers) == 1:
                raise
            say(f"Fig. {figure.number} not drawn: {error}")
            continue
        for refusal in missing:
            say(f"Fig. {figure.number} drawn in part: {refusal}")
        files = [str(file) for file in sheet.write(options.out, options.format, captions=options.captions)]
        about = {"caption": sheet.caption, "note": sheet.note, "files": files, "numbers": sheet.summary()}
        drawn.append({"figure": figure.number, "title": figure.title} | about)
        if not options.as_json:
            print(f"Fig. {figure.number}: {', '.join(files)}")
            tell(f"  {sheet.caption}", indent="  ")
    if not drawn:
        raise InputError("figures", list(numbers), "none can be drawn", "see why above")
    if options.as_json:
        print_json({"schema": "anchorflow/figures/1", "figures": drawn})
    return 2 if options.numbers and len(drawn) < len(figures) else 0
