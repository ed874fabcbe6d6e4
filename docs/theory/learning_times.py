"""When each thing is learned, predicted against observed: the tables and figures of learning_times.md.

python docs/theory/learning_times.py              print the tables from what is kept, and draw the figures
python docs/theory/learning_times.py --predict    predict first: some twenty minutes on a quiet core
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sim.config.run import MemberConfig
from theory import LearningCurves
from theory.arrays import FloatArray
from theory.integrate.first_passage import first_passage
from validate.claims.measures.learning import matched_test_accuracy
from validate.figures import AccuracyCurves, new_axes, save
from validate.groups import Setting, group_runs
from validate.learning_times import (
    GUESSES,
    PARTS,
    PREDICTIONS,
    Kept,
    best_guess,
    bias_of,
    explained,
    load_predictions,
    matched_error,
    one_sided,
    predict_for,
    r_squared,
    times_of,
)
from validate.observe import NoRunsError, Observations, kept
from validate.stats import over_seeds

STUDIES = ("optimisers", "learning-times")
SEEDS = (1000,)
KEY = ("optimizer", "rate", "init_rate", "scatter")
"""What a kept prediction is told by; those without "scatter" are of the mean course alone."""
FIGURE = Path(__file__).with_name("learning_curves.png")
SCATTER = Path(__file__).with_name("learning_times.png")


def settings(study: str) -> list[Setting]:
    """Return the settings of a study's kept runs."""
    try:
        return group_runs(kept(study))
    except NoRunsError:
        return []


def predict() -> None:
    """Predict every setting that has kept runs, and keep the predictions one after another."""
    done = json.loads(PREDICTIONS.read_text(encoding="utf-8"))
    for setting in (s for study in reversed(STUDIES) for s in settings(study)):
        curves = predict_for(setting.config, SEEDS)
        new = entry(setting.config, curves)
        done = [old for old in done if any(old.get(key) != new[key] for key in KEY)] + [new]
        PREDICTIONS.write_text("[\n" + ",\n".join(map(json.dumps, done)) + "\n]\n")
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


def title(setting: Setting) -> str:
    training = setting.config.training
    name = {"adamw": "AdamW", "sgd": "SGD"}[training.optimizer]
    return f"{name} {training.learning_rate:g}, γ = {setting.init_rate:g}"


def print_times(predictions: list[Kept]) -> None:
    """Print predicted and observed steps, mean log2 over seeds."""
    print(
        "| setting | data set | predicted steps | observed steps, seed by seed | log2 predicted / observed |"
    )
    print("| --- | --- | --- | --- | --- |")
    for setting in (s for study in STUDIES for s in settings(study)):
        for times in zip(*(times_of(run, predictions) for run in setting.runs), strict=True):
            seen = [t.observed for t in times]
            off = [t.predicted - t.observed for t in times if math.isfinite(t.predicted + t.observed)]
            ratio = f"{np.mean(off):+.2f}" if off else "–"
            cells = [title(setting), PARTS[times[0].part], steps(times[0].predicted)]
            print(f"| {' | '.join([*cells, ', '.join(map(steps, seen)), ratio])} |")


def steps(log: float) -> str:
    return "–" if math.isinf(log) else f"{2**log:.0f}"


def by_seed(runs: list[Observations]) -> list[list[Observations]]:
    seeds = sorted({run.config.seed for run in runs})
    return [[run for run in runs if run.config.seed == seed] for seed in seeds]


def print_scores(predictions: list[Kept]) -> None:
    """Print R² of the prediction and of the guesses, and how often run and prediction disagree."""
    print("\n| study | R² | best guess | " + " | ".join(g.name for g in GUESSES) + " | one-sided |")
    print("| --- " * (5 + len(GUESSES)) + "|")
    for study in STUDIES:
        runs = [run for setting in settings(study) for run in setting.runs]
        if not runs:
            continue
        seeds = [[t for run in own for t in times_of(run, predictions)] for own in by_seed(runs)]
        measures = [explained, best_guess, *(g.explained for g in GUESSES), one_sided]
        cells = [str(over_seeds([measure(times) for times in seeds])) for measure in measures]
        print(f"| `{study}` | {' | '.join(cells)} |")


def print_matched(predictions: list[Kept]) -> None:
    """Print the test accuracy at a training accuracy of one half."""
    print("\n| setting | predicted | observed | mean absolute difference |")
    print("| --- | --- | --- | --- |")
    for setting in sorted((s for study in STUDIES for s in settings(study)), key=lambda s: s.init_rate):
        own = [p for p in predictions if p.is_for(setting.config)]
        if not own:
            continue
        predicted = float(own[0].curves.matched(PARTS["rsn_test"], at=PARTS["rsn_train"])[0])
        observed = [matched_test_accuracy(run) for run in setting.runs]
        pairs = zip(setting.runs, observed, strict=True)
        off = over_seeds([matched_error(run, predictions, value) for run, value in pairs])
        print(f"| {title(setting)} | {predicted:.3f} | {over_seeds(observed, (0, 1))} | {off} |")


def print_bias(predictions: list[Kept]) -> None:
    """Print log2 of memory's time over that of the training sums; a bound where memory has none."""
    print("\n| setting | predicted log2 of memory's steps over the training sums' | observed, seed by seed |")
    print("| --- | --- | --- |")
    off: list[float] = []
    for setting in (s for study in STUDIES for s in settings(study)):
        runs = [times_of(run, predictions) for run in setting.runs]
        if not all(runs):
            continue
        predicted, *_ = (bias_of(run, "predicted") for run in runs)
        observed = [bias_of(run, "observed") for run in runs]
        print(f"| {title(setting)} | {predicted} | {', '.join(map(str, observed))} |")
        known = [predicted.value - own.value for own in observed if not (predicted.least or own.least)]
        off += [value for value in known if math.isfinite(value)]
    print(f"\nmean absolute difference where both are known, {len(off)} runs: {np.mean(np.abs(off)):.2f}")


def loss_time(steps: FloatArray, loss: FloatArray) -> float:
    """Return log2 of the steps after which a loss is half of ln N_Z, what knowing only the labels costs."""
    return float(np.log2(first_passage(steps, -loss, -math.log(100) / 2)))


def print_losses(predictions: list[Kept]) -> None:
    """Print the same for the loss: chosen after the comparison, to see where the difference comes from."""
    print("\n| setting | data set | predicted steps to half of ln N_Z | observed | log2 ratio |")
    print("| --- | --- | --- | --- | --- |")
    pairs = []
    for setting in (s for study in STUDIES for s in settings(study)):
        for kept_one in (p for p in predictions if p.is_for(setting.config)):
            for part, name in PARTS.items():
                found = [np.array([line["loss"][part] for line in run.metrics]) for run in setting.runs]
                at = np.array([line["step"] for line in setting.runs[0].metrics], np.float64)
                logs = [loss_time(at, loss) for loss in found]
                own = loss_time(kept_one.curves.steps.astype(np.float64), kept_one.curves.loss[name][0])
                if math.isinf(own) or own > math.log2(at[-1]) or not np.isfinite(logs).all():
                    continue
                pairs += [(log, own) for log in logs]
                cells = [title(setting), name, steps(own), ", ".join(map(steps, logs))]
                print(f"| {' | '.join(cells)} | {own - np.mean(logs):+.2f} |")
    print(f"\nR² of all these: {r_squared(*zip(*pairs, strict=True)):.3f}")


def draw_curves(predictions: list[Kept]) -> None:
    """Draw Fig. 3B without training, over the runs' curves: AdamW 1e-4."""
    shown = [s for s in settings("optimisers") if s.config.training.optimizer == "adamw"]
    figure, axes = new_axes(1, len(shown), size=(3.6, 3.0))
    for ax, setting in zip(axes, shown, strict=True):
        observed = AccuracyCurves.from_runs(setting, title=title(setting))
        observed.plot(ax)
        for prediction in (p for p in predictions if p.is_for(setting.config)):
            curves = prediction.curves
            for part, name in PARTS.items():
                colour = observed.parts[part][1]
                epochs = curves.steps / curves.steps_per_epoch
                ax.plot(
                    epochs, curves.accuracy[name][0], "o", ms=2.5, color=colour, label=f"{name}, predicted"
                )
        ax.set_xlim(0, setting.config.training.epochs)
    axes[-1].legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for suffix in (".png", ".svg"):
        save(figure, FIGURE.with_suffix(suffix))


def draw_times(predictions: list[Kept]) -> None:
    """Draw predicted against observed steps."""
    figure, axes = new_axes(1, 1, size=(3.8, 3.4))
    (ax,) = axes
    for marker, study in zip("os", STUDIES, strict=True):
        for number, part in enumerate(PARTS):
            runs = [run for setting in settings(study) for run in setting.runs]
            times = [t for run in runs for t in times_of(run, predictions) if t.part == part]
            both = [t for t in times if math.isfinite(t.predicted + t.observed)]
            points = [(2**t.observed, 2**t.predicted) for t in both]
            if points:
                ax.plot(
                    *zip(*points, strict=True),
                    marker,
                    ms=4,
                    color=f"C{number}",
                    label=f"{PARTS[part]}, {study}",
                )
    low, high = ax.get_xlim()
    ax.plot([low, high], [low, high], "-", color="0.7", lw=1)
    ax.set(xscale="log", yscale="log", xlabel="observed steps to half accuracy", ylabel="predicted steps")
    ax.legend(fontsize=6, frameon=False)
    for suffix in (".png", ".svg"):
        save(figure, SCATTER.with_suffix(suffix))


if __name__ == "__main__":
    if "--predict" in sys.argv:
        predict()
    found = load_predictions()
    print_times(found)
    print_scores(found)
    print_matched(found)
    print_bias(found)
    print_losses(found)
    draw_curves(found)
    draw_times(found)
