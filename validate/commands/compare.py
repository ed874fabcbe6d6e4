"""anchorflow compare: predicted against observed cosine similarity of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.report import Report
    from validate.settings import Setting


class Options(CommandOptions):
    """Compare what the label distributions predict with what training did, and judge the paper's claims.

    The report has the claims that these runs can answer, the figures of the paper that they can fill, and
    what each idealisation of the theory costs on them.

    RUN is a run folder or a folder of them. Runs that differ in nothing but the seed are taken together,
    and intervals are over seeds.
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, or folders that hold them."""
    out: Path | None = None
    """Write report.html, report.json and the figures here."""
    epochs: tuple[int, ...] = ()
    """The epochs that the cosine figures show, of those with a snapshot."""


COMMAND = Command("compare", Options, "anchorflow compare runs/demo --out runs/demo-report --epochs 50 100")


def run(arguments: Sequence[str]) -> int:
    """Compare, print, and write the report if asked to."""
    options = COMMAND.parse(arguments)
    from sim.runs.run import Run, find_runs
    from validate.console import print_json
    from validate.report import Report
    from validate.settings import group_runs

    settings = group_runs([Run.open(path) for path in find_runs(list(options.runs))])
    _check_epochs(options.epochs, settings)
    report = Report.build("Predicted and observed embeddings", settings, epochs=options.epochs)
    if options.out is not None:
        page, data = report.write(options.out)
    if options.as_json:
        print_json(report.to_json())
        return 0
    print_comparison(report)
    print_claims(report)
    if options.out is not None:
        print(f"report: {page}\ndata:   {data}")
    return 0


def _check_epochs(epochs: Sequence[int], settings: Sequence[Setting]) -> None:
    """Refuse, before the comparison, an epoch without a snapshot."""
    for setting in settings:
        for epoch in epochs:
            if epoch not in setting.epochs():
                raise InputError(
                    "epochs", epoch, f"no snapshot at {setting.label}", f"choose from {setting.epochs()}"
                )


def print_comparison(report: Report) -> None:
    """Print the comparison over all pairs at the last epoch, one table a setting."""
    from validate.console import print_table

    for setting in report.settings:
        title = f"{setting.label}, epoch {setting.epochs()[-1]}, {len(setting.runs)} seed(s), mean [95 %]"
        header = ["anchors", "predictor", "Pearson", "Spearman", "RMSE", "largest error"]
        print_table(title, header, report.final_table(setting.label))


def print_claims(report: Report) -> None:
    """Print the claims that these runs say anything of."""
    from validate.claims.presentation import headline, is_measured, measured, qualification, states_text
    from validate.console import print_table

    rows = [
        [str(c["number"]), c["name"], c["verdict"] + qualification(c), states_text(c), *measured(headline(c))]
        for c in report.claims()
        if is_measured(c)
    ]
    header = ["", "claim", "verdict", "conditions", "first measured", "threshold", "mean [95 %]", "n"]
    title = f"the paper's claims by these runs alone; {len(report.findings) - len(rows)} more are not tested"
    if rows:
        print_table(title, header, rows)
    else:
        print("these runs answer none of the paper's claims")
