"""Loss and accuracy over epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from theory import InputError, Task, label_distribution
from theory.arrays import FloatArray
from validate.figures.panels.curves import Curve, Curves
from validate.figures.seeds import seeds_text
from validate.figures.style import PARTS, Look
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, SIZE

_HIDING = 5
"""A start this many times the largest later loss leaves the curves no height."""


def accuracy_curves(
    setting: Setting,
    measure: Literal["accuracy", "loss"] = "accuracy",
    *,
    parts: Mapping[str, tuple[str, Look]] = PARTS,
    levels: Mapping[str, float | tuple[float, Look]] | None = None,
    title: str = "",
    log: bool = False,
    each: bool = False,
    xscale: str = "linear",
) -> Curves:
    """Return a setting's accuracy, or loss in nats, on each data set over epochs.

    Parameters
    ----------
    setting : Setting
    measure : {"accuracy", "loss"}, optional
    parts : mapping, optional
        The data sets to show, with the name and the look of each.
    levels : mapping, optional
        Horizontal lines of the theory.
    title : str, optional
        By default the setting's label.
    log : bool, optional
        Whether a loss is drawn on a logarithmic axis.
    each : bool, optional
        Draw each seed, as where few are, in place of an interval that would hide seeds that disagree.
    xscale : str, optional
        As in ``Curves``.

    Raises
    ------
    InputError
        If no run was evaluated on any of ``parts``, or if they end at different epochs.
    """
    metrics = [run.metrics for run in setting.runs]
    have = [part for part in parts if part in metrics[0][0][measure]]
    if not have:
        raise InputError("runs", setting.label, f"no {measure} of {', '.join(parts)}", "give other runs")
    within = SHARE if measure == "accuracy" else SIZE
    # A loss that overflowed is written as null.
    values = {
        part: np.array([[math.nan if line[measure][part] is None else line[measure][part] for line in lines]
                        for lines in metrics])
        for part in have
    }  # fmt: skip
    epochs = _shared_epochs(setting)
    means = np.array([own.mean(axis=0) for own in values.values()])
    corner = ""
    ylim: tuple[float, float | None] = (-0.03, 1.03)
    if measure == "loss":
        corner, ylim = _loss_axis(means, log)
    title = title or setting.label
    ends = [f"{parts[part][0]} {seeds_text(own[:, -1], within)}" for part, own in values.items()]
    return Curves(
        title,
        {parts[p][0]: Curve(epochs, own, parts[p][1], within) for p, own in values.items()},
        "epoch",
        "accuracy" if measure == "accuracy" else "cross entropy (nats)",
        xscale,
        "log" if log and measure == "loss" else "linear",
        ylim,
        levels or {},
        each=each,
        corner=corner,
        numbers=f"{title}, {measure} at epoch {epochs[-1]:g}: {', '.join(ends)}",
    )


def _loss_axis(means: FloatArray, log: bool) -> tuple[str, tuple[float, float | None]]:
    """Return a word on the start and the ends of the axis: it ends above all later losses.

    A first loss that would hide them is cut off and told.
    """
    if log:
        return "", (float(np.nanmin(means[means > 0])) / 2, 2 * float(np.nanmax(means)))
    if means.shape[1] > 1:
        start, later = float(np.nanmax(means[:, 0])), float(np.nanmax(means[:, 1:]))
        if start > _HIDING * later:
            return f"start: {start:.2g}", (0, 1.5 * later)
    return "", (0, None)


def _shared_epochs(setting: Setting) -> FloatArray:
    """Return the epochs at which all runs were evaluated; refuse runs that end at different ones."""
    each = [[line["epoch"] for line in run.metrics] for run in setting.runs]
    if any(own != each[0] for own in each):
        ends = ", ".join(f"seed {s} at {own[-1]:g}" for s, own in zip(setting.seeds, each, strict=True))
        problem = f"end at different epochs ({ends}), as training.patience allows"
        raise InputError("runs", setting.label, problem, "give runs of one length, or one seed")
    return np.array(each[0], dtype=np.float64)


def unlearned_levels(task: Task) -> dict[str, float]:
    """Return the memory loss, in nats, of a model that knows each anchor's P^s and nothing else.

    It is the entropy of P^s, mean over a mapping's anchors and over mappings: ln N_Z in the paper (eq. 7).
    """
    entropies = [
        np.mean([_entropy(label_distribution(task, s, held_out=True)) for s in m.anchors])
        for m in task.mappings
        if m.is_table
    ]
    return {"memory: only the label distribution known": float(np.mean(entropies))} if entropies else {}


def _entropy(distribution: FloatArray) -> float:
    positive = distribution[distribution > 0]
    return float(-(positive * np.log(positive)).sum())


def level_text(settings: list[Setting]) -> str:
    """Return a sentence on the level of ``unlearned_levels``, where any task has one."""
    return (
        "Dotted: the memory loss of a model that knows the label distribution of memory anchors and "
        "nothing of keys."
        if any(unlearned_levels(s.task) for s in settings)
        else ""
    )
