"""When each thing is learned, predicted against observed: the tables and figures of learning_times.md.

python docs/theory/learning_times.py              print the tables from what is kept, and draw the figures
python docs/theory/learning_times.py --predict    predict first, with scatter: 85 min of processor time
python docs/theory/learning_times.py --long       print the runs of 1000 epochs; with --predict, predict first
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from learning_times_figures import draw_curves, draw_times
from learning_times_runs import MEAN, SCATTERED, STUDIES, courses, settings, times_by_seed, title
from printing import CommandLine

from sim.config.run import MemberConfig
from theory import LearningCurves
from theory.arrays import FloatArray
from theory.integrate.first_passage import first_passage
from validate.judge.groups import Setting
from validate.judge.learning_times import (
    GUESSES,
    PARTS,
    PREDICTIONS,
    Kept,
    Time,
    best_guess,
    bias_of,
    explained,
    load_predictions,
    matched_error,
    one_sided,
    predict_for,
    prediction_for,
    r_squared,
    times_of,
)
from validate.judge.measures.learning import matched_test_accuracy
from validate.judge.stats import SHARE, SIZE, SKILL, estimate_text, over_seeds

LONG = "emb-mlp"
"""1000 epochs, long enough for AdamW 1e-4 to learn the table."""
LONG_PREDICTIONS = Path(__file__).with_name("learning_times_long.json")
SEEDS = (1000,)
TRAIN, TEST = PARTS["rsn_train"], PARTS["rsn_test"]
KEY = ("optimizer", "rate", "init_rate", "scatter")
"""What a kept prediction is told by; those without "scatter" are of the mean course alone."""


def predict(wanted: Sequence[Setting], file: Path) -> None:
    """Predict settings, and keep the predictions one after another."""
    done = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    for setting in wanted:
        curves = predict_for(setting.config, SEEDS)
        new = entry(setting.config, curves)
        done = [old for old in done if any(old.get(key) != new[key] for key in KEY)] + [new]
        file.write_text("[\n" + ",\n".join(map(json.dumps, done)) + "\n]\n")
        print(setting.label, {name: curves.half_time(name) for name in curves.loss}, flush=True)


def entry(config: MemberConfig, curves: LearningCurves) -> dict[str, Any]:
    """Return a prediction as it is kept."""
    training = config.training
    return {
        "optimizer": training.optimizer,
        "rate": training.learning_rate,
        "init_rate": config.init_rate,
        "scatter": True,
        "seeds": list(SEEDS),
        "steps_per_epoch": curves.steps_per_epoch,
        "steps": curves.steps.tolist(),
        "accuracy": {name: rows.round(5).tolist() for name, rows in curves.accuracy.items()},
        "loss": {name: rows.round(4).tolist() for name, rows in curves.loss.items()},
    }


def print_times(predictions: list[Kept], studies: Sequence[str] = STUDIES) -> None:
    """Print predicted and observed steps, and log2 of their ratio, mean over seeds."""
    heads = ["setting", "data set", MEAN, SCATTERED, "observed steps, seed by seed"]
    print_row([*heads, "log2 ratio, mean course", "with scatter"])
    print_row(["---"] * 7)
    for setting in (s for study in studies for s in settings(study)):
        both = [
            list(zip(*(times_of(run, own) for run in setting.runs), strict=True))
            for own in courses(predictions).values()
        ]
        for pair in zip_longest(*both):
            known = next(times for times in pair if times)
            seen = ", ".join(steps(t.observed) for t in known)
            cells = [steps(times[0].predicted) if times else "" for times in pair]
            print_row([title(setting), PARTS[known[0].part], *cells, seen, *map(ratio, pair)])


def print_row(cells: Iterable[str]) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(cells)} |")


def ratio(times: Sequence[Time] | None) -> str:
    """Return log2 of predicted over observed, mean over the runs that both have; "–" where none has."""
    off = [t.predicted - t.observed for t in times or () if math.isfinite(t.predicted + t.observed)]
    return f"{np.mean(off):+.2f}" if off else "–"


def steps(log: float) -> str:
    return "–" if math.isinf(log) else f"{2**log:.0f}"


def print_scores(predictions: list[Kept]) -> None:
    """Print R² of the predictions and of the guesses, and how often run and prediction disagree."""
    print()
    print_row(["study", "prediction", "R²", "one-sided", "best guess", *(g.name for g in GUESSES)])
    print_row(["---"] * (5 + len(GUESSES)))
    for study in STUDIES:
        for name, own in courses(predictions).items():
            seeds = [seed for seed in times_by_seed(study, own) if seed]
            if not seeds:
                continue
            measures = [explained, one_sided, best_guess, *(g.explained for g in GUESSES)]
            ranges = [SHARE if measure is one_sided else SKILL for measure in measures]
            cells = [
                str(over_seeds([measure(times) for times in seeds], within))
                for measure, within in zip(measures, ranges, strict=True)
            ]
            print_row([f"`{study}`", name, *cells])


def print_matched(predictions: list[Kept]) -> None:
    """Print the test accuracy at a training accuracy of one half."""
    print()
    print_row(["setting", MEAN, SCATTERED, "observed", "mean absolute difference, mean course", SCATTERED])
    print_row(["---"] * 6)
    for setting in sorted((s for study in STUDIES for s in settings(study)), key=lambda s: s.init_rate):
        observed = [matched_test_accuracy(run) for run in setting.runs]
        values, off = [], []
        for own in courses(predictions).values():
            mine = prediction_for(setting.config, own)
            values.append(estimate_text(mine.curves.matched(TEST, at=TRAIN)[0], None, None) if mine else "")
            errors = [
                matched_error(run, own, value) for run, value in zip(setting.runs, observed, strict=True)
            ]
            off.append(str(over_seeds(errors, SIZE)) if mine else "")
        print_row([title(setting), *values, str(over_seeds(observed, SHARE)), *off])


def print_bias(predictions: list[Kept]) -> None:
    """Print log2 of memory's time over that of the training sums; a bound where memory has none."""
    print()
    print_row(
        ["setting", "predicted log2 of memory's steps over the training sums'", "observed, seed by seed"]
    )
    print_row(["---"] * 3)
    off: list[float] = []
    for setting in (s for study in STUDIES for s in settings(study)):
        runs = [times_of(run, predictions) for run in setting.runs]
        if not all(runs):
            continue
        predicted, *_ = (bias_of(run, "predicted") for run in runs)
        observed = [bias_of(run, "observed") for run in runs]
        print_row([title(setting), str(predicted), ", ".join(map(str, observed))])
        known = [predicted.value - own.value for own in observed if not (predicted.least or own.least)]
        off += [value for value in known if math.isfinite(value)]
    print(f"\nmean absolute difference where both are known, {len(off)} runs: {np.mean(np.abs(off)):.2f}")


def loss_time(steps: FloatArray, loss: FloatArray) -> float:
    """Return log2 of the steps after which a loss is half of ln N_Z, what knowing only the labels costs."""
    return float(np.log2(first_passage(steps, -loss, -math.log(100) / 2)))


def print_losses(predictions: list[Kept]) -> None:
    """Print the same for the loss: chosen after the comparison, to see where the difference comes from."""
    print()
    heads = ["setting", "data set", f"{MEAN}, steps to half of ln N_Z", SCATTERED, "observed"]
    print_row([*heads, "log2 ratio, mean course", SCATTERED])
    print_row(["---"] * 7)
    pairs: dict[str, list[tuple[float, float]]] = {MEAN: [], SCATTERED: []}
    for setting in (s for study in STUDIES for s in settings(study)):
        for part, name in PARTS.items():
            observed = observed_losses(setting, part)
            if observed is None:
                continue
            predicted, off = [], []
            for course, own in courses(predictions).items():
                log = predicted_loss(setting, own, name)
                pairs[course] += [(o, log) for o in observed if math.isfinite(log)]
                predicted.append("" if math.isnan(log) else steps(log))
                off.append(f"{log - np.mean(observed):+.2f}" if math.isfinite(log) else "–")
            print_row([title(setting), name, *predicted, ", ".join(map(steps, observed)), *off])
    for course, found in pairs.items():
        print(f"\nR² of all these, {course}: {r_squared(*zip(*found, strict=True)):.3f} ({len(found)})")


def observed_losses(setting: Setting, part: str) -> list[float] | None:
    """Return each run's log2 steps to half of ln N_Z; None if one of them does not get there."""
    at = np.array([line["step"] for line in setting.runs[0].metrics], np.float64)
    logs = [loss_time(at, np.array([line["loss"][part] for line in run.metrics])) for run in setting.runs]
    return logs if np.isfinite(logs).all() else None


def predicted_loss(setting: Setting, predictions: list[Kept], name: str) -> float:
    """Return the predicted log2 steps, ∞ if beyond the end of the runs, NaN without a prediction."""
    kept_one = prediction_for(setting.config, predictions)
    if kept_one is None:
        return math.nan
    found = loss_time(kept_one.curves.steps.astype(np.float64), kept_one.curves.loss[name][0])
    return found if 2**found <= setting.runs[0].metrics[-1]["step"] else math.inf


if __name__ == "__main__":
    line = CommandLine(__doc__)
    line.add_argument("--long", action="store_true", help="of the runs of 1000 epochs")
    line.add_argument("--predict", action="store_true", help="predict first")
    options = line.parse_args()
    studies, file = ((LONG,), LONG_PREDICTIONS) if options.long else (STUDIES[::-1], PREDICTIONS)
    if options.predict:
        predict([s for study in studies for s in settings(study)], file)
    if file is LONG_PREDICTIONS:
        print_times(load_predictions(file), studies)
        sys.exit()
    found = load_predictions()
    print_times(found)
    print_scores(found)
    print_matched(found)
    print_bias(found)
    print_losses(found)
    draw_curves(found)
    draw_times(found)
