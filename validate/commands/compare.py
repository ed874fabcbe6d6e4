"""anchorflow compare: compare runs with the theory; a verdict and a report."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import validate
from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table, say, tell


class Options(CommandOptions):
    """Say whether the theory predicts the trained embeddings, and with what certainty.

    The verdict is about the anchors' cosines early in training. The prediction is compared with runs of
    large initial weights and with simple guesses, by fixed thresholds. With --out a report shows prediction
    beside observation, and the paper's claims, figures and error budget of these runs. The exit code is 1
    if the verdict is "fails".

    example: anchorflow compare runs/demo --out runs/demo-report
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    out: Path | None = None
    """Write report.html, report.json and the figures here."""
    epochs: tuple[int, ...] = ()
    """Also show the cosines at these epochs in the report; each needs a snapshot."""
    flow: bool = False
    """Also predict the size of the cosines, as predict --flow does, and compare it at equal training accuracy
    with P^s - u and another seed's run: up to a minute for each γ of an Emb-MLP at the paper's size, the time
    of 3 to 41 runs for a Transformer."""
    curves: bool = False
    """Also predict the learning curves, as predict --curves does, and draw them over the observed ones in the
    report; Emb-MLPs only, about the time of a run for each setting."""
    verbose: bool = False
    """Also print the comparison for each group of anchors, and the paper's claims."""


def run(options: Options) -> int:
    """Compare, print, and write the report if asked to."""
    from sim.runs.folder import import_option, is_run_folder, planned_runs
    from sim.runs.outputs import OutputFolder
    from validate.compare.flow import size_command
    from validate.report import FILES, FOLDERS

    if options.out is not None:
        OutputFolder(options.out).check(FILES, FOLDERS)
    settings = validate.group_runs(options.runs)
    everywhere = sorted(set.intersection(*(set(setting.epochs()) for setting in settings)))
    for epoch in set(options.epochs).difference(everywhere):
        problem = "no snapshot at this epoch in some of these runs"
        remedy = f"choose from {everywhere}" if everywhere else "compare settings with common snapshots"
        raise InputError("epochs", epoch, problem, remedy)
    shown = options.out is not None or options.as_json
    for name in ("epochs", "curves"):
        if (value := getattr(options, name)) and not shown:
            raise InputError(name, value, "are shown in the report alone", "give --out or --json")
    for folder in options.runs:
        if lacking := [path.name for path in planned_runs(folder) if not is_run_folder(path)]:
            first = import_option(options.import_first)
            again = f"train what is missing: anchorflow train --resume {quote(str(folder))}{first}"
            say(f"planned in {folder}, but not trained: {', '.join(lacking)}; {again}")
    title = "Predicted and observed embeddings"
    report = validate.Report.build(
        title, settings, epochs=options.epochs, draw=shown, flow=options.flow, curves=options.curves
    )
    files = report.write(options.out) if options.out is not None else ()
    if options.as_json:
        print_json(report.to_json())
    else:
        print_report(report, verbose=options.verbose)
        if not options.flow and (offer := size_command(settings, options.runs)):
            tell(offer)
        for name, file in zip(("report: ", "data:   "), files, strict=False):
            print(f"{name}{file}")
    return int(any(answer.verdict == "fails" for answer in report.answers))


def print_report(report: validate.Report, *, verbose: bool) -> None:
    """Print each answer with its conditions and predictors, and which of the paper's claims the runs answer.

    Verbose: also the early comparison over all pairs, one table per setting.
    """
    from validate.judge.presentation import states_text
    from validate.observe.groups import early_text
    from validate.report.page import why_none_is_tested

    for answer in report.answers:
        tell(str(answer))
        if rows := [row[:-1] for row in answer.rows()]:
            print_table("the verdict's conditions", answer.HEADER[:-1], rows)
        if (small := answer.small) is not None and answer.ranking:
            title = f"predictors at γ = {small.init_rate:g}, {early_text(small)}, all anchors, mean [95 %]"
            print_table(title, answer.ranking[0].HEADER, [r.cells() for r in answer.ranking])
    for label, aligned in report.aligned.items():
        title = f"at equal training accuracy, {label}, all anchors, mean [95 %]"
        print_table(title, aligned[0].HEADER, [row.cells() for row in aligned])
    for setting in report.settings if verbose else ():
        title = f"{setting.label}, {early_text(setting)}, {setting.seeds_text}, mean [95 %]"
        header = ["anchors", "predictor", "Pearson", "Spearman", "RMSE", "largest error"]
        print_table(title, header, report.early_table(setting.label))
    tested = [f for f in report.findings if f.is_measured]
    if tested and verbose:
        primary = ["measure", "threshold", "mean [95 %]", "n"]
        rows = [[str(f.number), f.name, f.verdict, states_text(f), *f.primary.cells(primary)] for f in tested]
        header = ["", "claim", "verdict", "endpoints", *primary]
        print_table("the paper's claims by these runs alone: primary endpoints", header, rows)
        tell(f"{len(report.findings) - len(rows)} of the paper's claims are not tested by these runs")
    elif verbose:
        tell(why_none_is_tested(report.nearest))
    elif tested:
        tell(f"these runs also test {len(tested)} of the paper's claims: --verbose or --out shows them")
