"""When each thing is learned, predicted against observed: the tables of learning_times.md.

python docs/theory/learning_times.py              print the tables from what is kept
python docs/theory/learning_times.py --predict    predict first, with scatter: hours of processor time
python docs/theory/learning_times.py --long       print the runs of 1000 epochs; with --predict, predict first
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from printing import CommandLine, print_markdown

from sim.training.launch import train_members
from theory import LearningCurves
from validate.judge.measures.learning import matched_test_accuracy
from validate.judge.measures.learning_times import (
    PARTS,
    PREDICTIONS,
    Kept,
    Time,
    best_guess,
    explained,
    load_predictions,
    matched_off,
    one_sided,
    prediction_for,
    times_by_other_seed,
    times_of,
)
from validate.judge.stats import SHARE, SIZE, SKILL, over_seeds
from validate.observe import Observations, kept
from validate.observe.groups import Setting, group_runs
from validate.predict.learning import predict_for

STUDIES, LONG = ("learning-times", "optimisers"), ("emb-mlp",)
LONG_PREDICTIONS = Path(__file__).with_name("learning_times_long.json")
SEEDS = (1000,)
MOST_GRADIENTS = 100_000
"""SGD at γ = 0.6 and 0.8 takes more gradients than ``predict_learning`` allows by itself."""
TRAIN, TEST = PARTS["rsn_train"], PARTS["rsn_test"]
KEY = ("optimizer", "rate", "init_rate", "scatter")
"""What a kept prediction is told by; those without "scatter" are of the mean course alone."""


def predict(wanted: Sequence[Setting], file: Path) -> None:
    """Predict settings, and keep the predictions one after another."""
    done = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    for setting in wanted:
        start = time.process_time()
        curves = predict_for(setting.config, SEEDS, route="flow", max_gradients=MOST_GRADIENTS)
        cost = time.process_time() - start
        new = entry(setting, curves)
        done = [old for old in done if any(old.get(key) != new[key] for key in KEY)] + [new]
        file.write_text("[\n" + ",\n".join(map(json.dumps, done)) + "\n]\n")
        times = {name: curves.half_time(name) for name in curves.loss}
        print(title(setting), times, f"{cost:.0f} s; a run takes {seconds_of_run(setting):.0f} s", flush=True)


def entry(setting: Setting, curves: LearningCurves) -> dict[str, Any]:
    """Return a prediction as it is kept."""
    training = setting.config.training
    return {
        "optimizer": training.optimizer,
        "rate": training.learning_rate,
        "init_rate": setting.init_rate,
        "scatter": True,
        "seeds": list(SEEDS),
        "steps_per_epoch": curves.steps_per_epoch,
        "steps": curves.steps.tolist(),
        "accuracy": {name: rows.round(5).tolist() for name, rows in curves.accuracy.items()},
        "loss": {name: rows.round(4).tolist() for name, rows in curves.loss.items()},
    }


def title(setting: Setting) -> str:
    training = setting.config.training
    return f"{training.optimizer} {training.learning_rate:g}, γ = {setting.init_rate:g}"


def times_rows(settings: Sequence[Setting], courses: Sequence[list[Kept]]) -> Iterable[list[str]]:
    """Yield predicted and observed steps of each data set."""
    for setting in settings:
        predicted = [[times_of(run, own) for run in setting.runs] for own in courses]
        for number, part in enumerate(PARTS.values()):
            both = [[run[number] for run in runs if run] for runs in predicted]
            seen = next((times for times in both if times), [])
            found = [steps(times[0].predicted) if times else "" for times in both]
            yield [title(setting), part, *found, ", ".join(steps(t.observed) for t in seen)]


def steps(log: float) -> str:
    return "–" if math.isinf(log) else f"{2**log:.0f}"


def score_rows(courses: dict[str, list[Kept]]) -> Iterable[list[str]]:
    """Yield R² of the predictions and of the best guess, and how often run and prediction disagree."""
    for study in STUDIES:
        for name, own in courses.items():
            runs: dict[int, list[Observations]] = {}
            for run in kept(study):
                runs.setdefault(run.config.seed, []).append(run)
            each = ([t for run in of for t in times_of(run, own)] for of in runs.values())
            seeds = [times for times in each if times]
            measures = {explained: SKILL, one_sided: SHARE, best_guess: SKILL}
            cells = [
                str(over_seeds([measure(times) for times in seeds], within))
                for measure, within in measures.items()
            ]
            cells.insert(1, str(over_seeds(times_by_other_seed(list(runs.values())), SKILL)))
            yield [f"`{study}`", name, *cells]


def matched_rows(settings: Sequence[Setting], courses: Sequence[list[Kept]]) -> Iterable[list[str]]:
    """Yield the held-out accuracy at a training accuracy of one half, and how far predictions are from it."""
    for setting in sorted(settings, key=lambda s: s.init_rate):
        observed = [matched_test_accuracy(run) for run in setting.runs]
        cells = [str(over_seeds(observed, SHARE))]
        for own in courses:
            found = prediction_for(setting.config, own)
            errors = [matched_off(run, own) for run in setting.runs]
            value = f"{found.curves.matched(TEST, at=TRAIN)[0]:.3f}" if found else ""
            cells += [value, str(over_seeds(errors, SIZE)) if found else ""]
        yield [title(setting), *cells]


def bias(times: Sequence[Time], which: Literal["observed", "predicted"]) -> str:
    """Return log2 of memory's time over the training sums', which is "> " if memory has none by the end."""
    memory, sums = (next(t for t in times if t.part == part) for part in ("mem", "rsn_train"))
    late, early = getattr(memory, which), getattr(sums, which)
    return "–" if math.isinf(early) else f"{'> ' * math.isinf(late)}{min(late, memory.end) - early:.2f}"


def bias_rows(settings: Sequence[Setting], own: list[Kept]) -> Iterable[list[str]]:
    """Yield log2 of the table's time over that of the training sums; a bound where the table has none."""
    for setting in settings:
        runs = [times for run in setting.runs if (times := times_of(run, own))]
        if runs:
            observed = ", ".join(bias(run, "observed") for run in runs)
            yield [title(setting), bias(runs[0], "predicted"), observed]


def seconds_of_run(setting: Setting) -> float:
    """Return the processor time of one run of a setting, from ten of its epochs."""
    n_epochs = setting.config.training.epochs
    short = setting.config.training.model_copy(update={"epochs": 10, "snapshot_epochs": ()})
    member = setting.config.model_copy(update={"training": short})
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        train_members([member], [Path(folder) / "run"], kernels="torch")
        return (time.process_time() - start) / 10 * n_epochs


if __name__ == "__main__":
    line = CommandLine(__doc__)
    line.add_argument("--long", action="store_true", help="of the runs of 1000 epochs")
    line.add_argument("--predict", action="store_true", help="predict first")
    options = line.parse_args()
    file = LONG_PREDICTIONS if options.long else PREDICTIONS
    everything = [s for study in (LONG if options.long else STUDIES) for s in group_runs(kept(study))]
    if options.predict:
        predict(everything, file)
    predictions = load_predictions(file)
    courses = {"mean course": [p for p in predictions if not p.scatter]}
    courses["with scatter"] = [p for p in predictions if p.scatter]
    both = list(courses.values())
    print_markdown(["setting", "data set", *courses, "observed steps"], times_rows(everything, both))
    if not options.long:
        heads = ("study", "prediction", "R²", "another seed's run", "one-sided", "best guess")
        print_markdown(heads, score_rows(courses))
        head = [cell for name in courses for cell in (name, "off by")]
        print_markdown(["setting", "observed", *head], matched_rows(everything, both))
        print_markdown(["setting", "predicted bias", "observed"], bias_rows(everything, both[1]))
