"""anchorflow corpus compare: whether the losses separate and the cosines are as the text predicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from validate.commands.options import CommandOptions, Positional

if TYPE_CHECKING:
    from validate.corpus.comparison import LanguageComparison


class Options(CommandOptions):
    """Say whether the losses of two corpora separate, and whether the text predicts its words' cosines.

    RUN is a run folder of a language model on two corpora, or a folder of these. Runs that differ only in
    the seed are taken together; the largest γ is the small initial scale, and the smallest the control.
    Predictions come from the sequences that each run trained on, and the control from the same sequences,
    shuffled. The exit code is 1 if a condition fails.

    example: anchorflow corpus compare runs/corpus --out runs/corpus-report
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    out: Path | None = None
    """Write comparison.html, comparison.json and the figures here."""


def run(options: Options) -> int:
    """Compare, print, and write the page if asked to."""
    from sim.runs.outputs import OutputFolder
    from validate.corpus.comparison import FILES, FOLDERS, LanguageComparison
    from validate.judge.groups import group_runs

    if options.out is not None:
        OutputFolder(options.out).check(FILES, FOLDERS)
        OutputFolder(options.out).check_holds_no_runs()
    comparison = LanguageComparison.of(group_runs(options.runs))
    return tell_and_write(comparison, options.out, as_json=options.as_json)


def tell_and_write(comparison: LanguageComparison, out: Path | None, *, as_json: bool) -> int:
    """Print a comparison, write it if there is a folder for it, and return the exit code."""
    from validate.corpus.comparison import NOT_LEARNED
    from validate.terminal.tables import print_json, print_table, tell

    if out is not None:
        comparison.write(out)
    if as_json:
        print_json(comparison.to_json())
        return int(comparison.fails)
    for table in comparison.tables():
        print_table(*table)
    if not comparison.learned:
        tell(NOT_LEARNED)
    if command := comparison.missing_command():
        print(f"what is missing: {command}")
    if out is not None:
        print(f"page: {out / 'comparison.html'}")
    return int(comparison.fails)
