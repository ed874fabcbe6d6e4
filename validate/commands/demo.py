"""anchorflow demo: train the Emb-MLP at two initial scales and judge the theory (two minutes)."""

from __future__ import annotations

from pathlib import Path

import sim
import validate
from validate.commands.options import TrainingOptions
from validate.terminal.output import print_json, print_table, print_text, say

EPOCHS = 100


class Options(TrainingOptions):
    """Train the Emb-MLP at γ = 0.8 and 0.3, three seeds each, and compare it with the theory.

    Prints one table with a verdict for every claim, and writes report.html and report.json. The exit code
    is 1 if a claim fails; an undecided claim is no failure.

    example: anchorflow demo --out runs/demo
    """

    out: Path = Path("runs/demo")
    """The folder for the runs and the report."""


def run(options: Options) -> int:
    """Train, compare, judge."""
    from sim.runs.outputs import OutputFolder
    from validate.report import FILES, FOLDERS
    from validate.report.figures import draw_overview
    from validate.terminal.progress import train_with_progress

    OutputFolder(options.out).check(FILES, FOLDERS)
    config = demo_config()
    planned = {options.out / member.name: member for member in config.members()}
    train_with_progress(planned, options.execution())
    say("comparing prediction and observation, drawing figures")
    settings = validate.group_runs(list(planned))
    verdicts = validate.judge_demo(settings)
    epochs = config.training.epochs
    title = f"Small initial weights learn the rule first: after {epochs} epochs, predicted and observed"
    report = validate.Report.build(title, settings, epochs=(epochs // 2, epochs), verdicts=verdicts)
    report.figures.insert(0, draw_overview(settings))
    page, data = report.write(options.out)
    if options.as_json:
        print_json(report.to_json())
    else:
        held = sum(finding.verdict == "holds" for finding in verdicts)
        title = (
            f"{held} of {len(verdicts)} statements hold for the Emb-MLP at epoch {EPOCHS}, 3 seeds for each γ"
        )
        rows = [[f.name, str(f.primary.estimate), f.primary.asked, f.verdict] for f in verdicts]
        print_table(title, ["statement", "mean [95 %]", "needs", "verdict"], rows)
        print_text([f"{f.name}: {f.primary.measure}, γ = {f.primary.init_rates}" for f in verdicts])
        print(f"report: {page}\ndata:   {data}")
    return int(any(finding.verdict == "fails" for finding in verdicts))


def demo_config() -> sim.RunConfig:
    """Return the configuration of the demo: the paper's Emb-MLP setting at both scales."""
    from validate.judge.settings import LARGE, SMALL

    training = sim.TrainingConfig(epochs=EPOCHS, evaluate_every=10)
    return sim.RunConfig(init_rates=(SMALL, LARGE), seeds=(0, 1, 2), training=training)
