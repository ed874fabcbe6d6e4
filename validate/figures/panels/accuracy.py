"""Fig. 3, 8, 16, 17: loss and accuracy over epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theory import InputError, Task, label_distribution
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import PARTS, each_seed, shade
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, SIZE, band, band_text

Look = tuple[str, str, str]


_HIDING = 5
"""A start this many times the largest later loss leaves the curves no height."""


@dataclass
class AccuracyCurves(BasePanel):
    """Accuracy (or loss) on D_mem, D_rsn,train and D_rsn,test over epochs, mean and interval over seeds.

    Attributes
    ----------
    title : str
    measure : str
        "accuracy" or "loss" (nats).
    epochs : ndarray, shape (n_epochs,)
    curves : dict of ndarray
        For each data set shape (3, n_epochs): mean, low, high; low and high NaN for a single seed.
    parts : dict
        Name, colour and line of each data set.
    levels : dict of float
        Horizontal lines that the theory draws.
    level_looks : dict
        Legend, colour and line of levels that are not grey and dotted; "_" in front hides a legend.
    log : bool
        Whether a loss is drawn on a logarithmic axis.
    seeds : dict of ndarray
        For a data set shape (n_seeds, n_epochs): drawn in place of the interval, which hides seeds that
        disagree, and reaches to 0 on a logarithmic axis.
    """

    title: str
    measure: str
    epochs: FloatArray
    curves: dict[str, FloatArray]
    parts: Mapping[str, Look] = field(default_factory=lambda: PARTS)
    levels: dict[str, float] = field(default_factory=dict)
    level_looks: Mapping[str, Look] = field(default_factory=dict)
    log: bool = False
    seeds: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def from_runs(
        cls,
        setting: Setting,
        measure: str = "accuracy",
        *,
        parts: Mapping[str, Look] = PARTS,
        levels: Mapping[str, float] | None = None,
        level_looks: Mapping[str, Look] | None = None,
        title: str = "",
        log: bool = False,
        each_seed: bool = False,
    ) -> AccuracyCurves:
        """Take the curves from the metrics of a setting's runs; the title is its label by default.

        Raises
        ------
        InputError
            If no run was evaluated on any of ``parts``, or if they end at different epochs.
        """
        lines = [run.metrics for run in setting.runs]
        have = [part for part in parts if part in lines[0][0][measure]]
        if not have:
            raise InputError("runs", setting.label, f"no {measure} of {', '.join(parts)}", "give other runs")
        epochs = _shared_epochs(setting)
        within = SHARE if measure == "accuracy" else SIZE
        seeds = {part: np.array([_curve(run, measure, part) for run in lines]) for part in have}
        curves = {part: band(values, within) for part, values in seeds.items()}
        return cls(
            title or setting.label,
            measure,
            epochs,
            curves,
            parts,
            dict(levels or {}),
            dict(level_looks or {}),
            log,
            seeds if each_seed else {},
        )

    def summary(self) -> str:
        """Return each data set's last value."""
        ends = [f"{self.parts[p][0]} {band_text(v[:, -1])}" for p, v in self.curves.items()]
        return f"{self.title}, {self.measure} at epoch {self.epochs[-1]:g}: {', '.join(ends)}"

    def draw(self, ax: Axes) -> None:
        """Draw on some axes."""
        for part, values in self.curves.items():
            name, colour, style = self.parts[part]
            (self.lines_[part],) = ax.plot(self.epochs, values[0], style, color=colour, label=name)
            if part in self.seeds:
                each_seed(ax, self.epochs, self.seeds[part], colour)
            else:
                shade(ax, self.epochs, values, colour)
        for name, level in self.levels.items():
            label, colour, style = self.level_looks.get(name, (name, "0.5", ":"))
            self.lines_[name] = ax.axhline(level, color=colour, linestyle=style, linewidth=1, label=label)
        ax.set(title=self.title, xlabel="epoch")
        if self.measure == "accuracy":
            ax.set(ylabel="accuracy", ylim=(-0.03, 1.03))
        elif self.log:
            means = np.stack([values[0] for values in self.curves.values()])
            ax.set(ylabel="cross entropy (nats)", yscale="log")
            ax.set_ylim(np.nanmin(means[means > 0]) / 2, 2 * np.nanmax(means))  # An interval may reach to 0.
        else:
            ax.set(ylabel="cross entropy (nats)", ylim=(0, None))
            self._cut_start(ax)

    def _cut_start(self, ax: Axes) -> None:
        """End the axis above all later losses where the first would hide them, and say what it was."""
        means = np.array([values[0] for values in self.curves.values()])
        if means.shape[1] < 2:
            return
        start, later = float(np.nanmax(means[:, 0])), float(np.nanmax(means[:, 1:]))
        if start > _HIDING * later:
            ax.set_ylim(0, 1.5 * later)
            ax.text(
                0.98, 0.95, f"start: {start:.2g}", transform=ax.transAxes, ha="right", va="top", fontsize=8
            )


def _shared_epochs(setting: Setting) -> FloatArray:
    """Return the epochs at which all runs were evaluated; refuse runs that end at different ones."""
    each = [[line["epoch"] for line in run.metrics] for run in setting.runs]
    if any(own != each[0] for own in each):
        ends = ", ".join(f"seed {s} at {own[-1]:g}" for s, own in zip(setting.seeds, each, strict=True))
        problem = f"end at different epochs ({ends}), as training.patience allows"
        raise InputError("runs", setting.label, problem, "give runs of one length, or one seed")
    return np.array(each[0], dtype=np.float64)


def _curve(metrics: Sequence[dict[str, Any]], measure: str, part: str) -> list[float]:
    """Return one seed's values; one that overflowed is written as null."""
    return [math.nan if line[measure][part] is None else line[measure][part] for line in metrics]


def unlearned_levels(task: Task) -> dict[str, float]:
    """Return the memory loss, in nats, of a model that knows each anchor's P^s and nothing else.

    It is the entropy of P^s, mean over a mapping's anchors and over mappings: ln N_Z in the paper (eq. 7).
    """
    tables = [m for m in task.mappings if m.is_table]
    if not tables:
        return {}
    return {
        "memory: only the label distribution known": float(
            np.mean([np.mean([_entropy(task, s) for s in m.anchors]) for m in tables])
        )
    }


def _entropy(task: Task, anchor: int) -> float:
    distribution = label_distribution(task, anchor, held_out=True)
    positive = distribution[distribution > 0]
    return float(-(positive * np.log(positive)).sum())
