"""The figures of learning_times.md; learning_times.py draws them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from learning_times_runs import MEAN, SCATTERED, STUDIES, courses, settings, times_by_seed, title
from matplotlib.axes import Axes
from printing import redraw

from validate.figures import AccuracyCurves, new_axes
from validate.judge.learning_times import PARTS, Kept

CURVES = Path(__file__).with_name("learning_curves.png")
TIMES = Path(__file__).with_name("learning_times.png")


def draw_curves(predictions: list[Kept]) -> None:
    """Draw Fig. 3B without training, over the runs' curves: AdamW 1e-4."""
    shown = [s for s in settings("optimisers") if s.config.training.optimizer == "adamw"]
    figure, axes = new_axes(1, len(shown), size=(3.6, 3.0))
    styles: dict[str, dict[str, Any]] = {
        MEAN: {"linestyle": ":", "lw": 1.2},
        SCATTERED: {"linestyle": "", "marker": "o", "ms": 2.5},
    }
    for ax, setting in zip(axes, shown, strict=True):
        observed = AccuracyCurves.from_runs(setting, title=title(setting))
        observed.plot(ax)
        for course, own in courses(predictions).items():
            for curves in (p.curves for p in own if p.is_for(setting.config)):
                epochs = curves.steps / curves.steps_per_epoch
                for part, name in PARTS.items():
                    style = styles[course] | {"color": observed.parts[part][1], "label": f"{name}, {course}"}
                    ax.plot(epochs, curves.accuracy[name][0], **style)
        ax.set_xlim(0, setting.config.training.epochs)
    axes[-1].legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for suffix in (".png", ".svg"):
        redraw(figure, CURVES.with_suffix(suffix))


def draw_times(predictions: list[Kept]) -> None:
    """Draw predicted against observed steps, of the mean course and with scatter."""
    figure, axes = new_axes(1, 2, size=(3.6, 3.4))
    for ax, (course, own) in zip(axes, courses(predictions).items(), strict=True):
        for marker, study in zip("os", STUDIES, strict=True):
            plot_times(ax, study, own, marker)
        ax.set(xscale="log", yscale="log", title=course, xlabel="observed steps to half accuracy")
        ax.set_ylabel("predicted steps")
    ends = [limit for ax in axes for limit in (*ax.get_xlim(), *ax.get_ylim())]
    for ax in axes:
        ax.plot([min(ends), max(ends)], [min(ends), max(ends)], "-", color="0.7", lw=1, zorder=0)
        ax.set(xlim=(min(ends), max(ends)), ylim=(min(ends), max(ends)))
    axes[0].legend(fontsize=6, frameon=False, loc="upper left")
    for suffix in (".png", ".svg"):
        redraw(figure, TIMES.with_suffix(suffix))


def plot_times(ax: Axes, study: str, predictions: list[Kept], marker: str) -> None:
    """Plot the times of a study's runs that both run and prediction have."""
    times = [t for seed in times_by_seed(study, predictions) for t in seed]
    for number, part in enumerate(PARTS):
        both = [t for t in times if t.part == part and math.isfinite(t.predicted + t.observed)]
        if both:
            x, y = [2**t.observed for t in both], [2**t.predicted for t in both]
            ax.plot(x, y, marker, ms=4, color=f"C{number}", label=f"{PARTS[part]}, {study}")
