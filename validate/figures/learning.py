"""Loss and accuracy over epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from scipy.special import entr

from sim.runs.table import shown_name
from theory import InputError, LearningCurves, Task, label_distribution, token_ratio
from validate.figures.curves import Curve, Curves
from validate.figures.panel import seeds_text
from validate.figures.style import PARTS, Look
from validate.judge.stats import SHARE, SIZE
from validate.observe.groups import Setting

_HIDING = 5
"""A first loss more than this many times the largest later one is cut off, or the curves would be flat."""


def accuracy_curves(
    setting: Setting,
    measure: Literal["accuracy", "loss"] = "accuracy",
    *,
    parts: Mapping[str, tuple[str, Look]] | None = None,
    levels: Mapping[str, float | tuple[float, Look]] | None = None,
    title: str = "",
    log: bool = False,
) -> Curves:
    """Return a setting's accuracy, or loss in nats, on each data set over epochs.

    ``parts`` are the data sets to show, with the name and the look of each, by default those of ``PARTS``;
    ``title`` is by default the setting's label; ``log`` draws a loss on a logarithmic axis; ``levels`` are
    those of ``Curves``.
    """
    if parts is None:
        parts = {part: (shown_name(setting.config, part), look) for part, look in PARTS.items()}
    metrics = [run.metrics for run in setting.runs]
    have = {part: own for part, own in parts.items() if part in metrics[0][0][measure]}
    if not have:
        raise InputError("runs", setting.label, f"no {measure} of {', '.join(parts)}", "give other runs")
    if len({tuple(line["epoch"] for line in lines) for lines in metrics}) > 1:
        each_end = ", ".join(f"{lines[-1]['epoch']:g}" for lines in metrics)
        problem = f"seeds end at different epochs ({each_end}), as training.patience allows"
        raise InputError("runs", setting.label, problem, "give runs of one length, or one seed")
    within = SHARE if measure == "accuracy" else SIZE
    epochs = np.array([line["epoch"] for line in metrics[0]], dtype=np.float64)
    curves = {}
    for part, (name, look) in have.items():
        # A loss that overflowed is written as null, which becomes NaN.
        values = np.array([[line[measure][part] for line in lines] for lines in metrics], dtype=np.float64)
        curves[name] = Curve(epochs, values, look, within)
    every = np.concatenate([curve.seeds for curve in curves.values()])  # Each seed's line may be drawn.
    corner, ylim = "", (-0.03, 1.03)
    if measure == "loss" and log:
        ylim = (float(np.nanmin(every[every > 0])) / 2, 2 * float(np.nanmax(every)))
    elif measure == "loss":
        start, later = float(np.nanmax(every[:, 0])), float(np.nanmax(every[:, 1:], initial=0.0))
        cut = 0 < _HIDING * later < start
        corner, top = (f"start: {start:.2g}", 1.5 * later) if cut else ("", None)
        ylim = (0, top)  # type: ignore[assignment]
    title = title or setting.label
    ends = ", ".join(f"{name} {seeds_text(own.seeds[:, -1], within)}" for name, own in curves.items())
    return Curves(
        title,
        curves,
        "epoch",
        "accuracy" if measure == "accuracy" else "cross entropy (nats)",
        yscale="log" if log and measure == "loss" else "linear",
        ylim=ylim,
        levels=levels or {},
        corner=corner,
        numbers=f"{title}, {measure} at epoch {epochs[-1]:g}: {ends}",
    )


def predicted_curves(setting: Setting, learning: LearningCurves) -> dict[str, Curve]:
    """Return predicted accuracies as dots, in the colours of the observed ones."""
    epochs, curves = np.asarray(learning.steps) / learning.steps_per_epoch, dict[str, Curve]()
    for part, look in PARTS.items():
        if (name := shown_name(setting.config, part)) in learning.accuracy:
            label = f"_predicted {part}" if curves else "predicted, same colours"
            mean = learning.accuracy[name].mean(axis=0)[None]
            curves[label] = Curve(epochs, mean, Look(look.colour, ".", ""))
    return curves


def unlearned_levels(task: Task) -> dict[str, float]:
    """Return the memory loss, in nats, of a model that knows each anchor's P^s and nothing else.

    It is the entropy of P^s, averaged over the anchors of all memory sequences: ln N_Z in the paper (eq. 7).
    """
    if not (anchors := task.memory_anchors):
        return {}
    entropies = [entr(label_distribution(task, s, held_out=True)).sum() for s in anchors]
    how_often = [token_ratio(task, s, held_out=True) for s in anchors]
    name = f"{task.name_of_kind(True)}: only the label distribution known"
    return {name: float(np.average(entropies, weights=how_often))}


def level_text(settings: list[Setting]) -> str:
    """Return a sentence on the level of ``unlearned_levels``, where any task has one."""
    if not any(m.is_table for s in settings for m in s.task.mappings):
        return ""
    return "Dotted: the loss of a model that knows only the label distributions of a table's anchors."
