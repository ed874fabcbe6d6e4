"""Fig. 17: how far the loss jumps back up, over the learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import MARKERS, seed_bars, sequential
from validate.judge.bounds import ends
from validate.judge.groups import Setting
from validate.judge.stats import SIZE, band, band_text
from validate.judge.times import curve, largest_rise
from validate.observe import Observations


@dataclass
class LossSpikes(BasePanel):
    """The largest rise of a data set's loss above its lowest value before, over the learning rate.

    Attributes
    ----------
    title : str
    curves : dict
        For each γ the learning rates, shape (n,), and the rises in nats, shape (3, n): mean, low and high
        over seeds. A loss that overflowed counts with the rise that was seen.
    """

    title: str
    curves: dict[str, tuple[FloatArray, FloatArray]]

    @classmethod
    def from_runs(cls, settings: Sequence[Setting], part: str, title: str) -> LossSpikes:
        """Take the rises of one data set's loss from the metrics."""
        curves = {}
        for gamma in sorted({s.init_rate for s in settings}):
            own = sorted((s for s in settings if s.init_rate == gamma), key=learning_rate)
            rises = [band([_seen_rise(r, part) for r in s.runs], SIZE) for s in own]
            curves[f"γ = {gamma:g}"] = (np.array([learning_rate(s) for s in own]), np.stack(rises, axis=1))
        return cls(title, curves)

    def summary(self) -> str:
        """Return every point."""
        return f"{self.title}, largest rise: " + "; ".join(
            f"{name}, rate {rate:g}: {band_text(rises[:, i])}"
            for name, (rates, rises) in self.curves.items()
            for i, rate in enumerate(rates)
        )

    def draw(self, ax: Axes) -> None:
        """Draw one line per γ."""
        looks = zip(sequential(len(self.curves)), MARKERS, strict=False)
        for (name, (rates, rises)), (colour, marker) in zip(self.curves.items(), looks, strict=False):
            self.lines_[name] = seed_bars(
                ax, rates, rises, marker=marker, markersize=4, color=colour, label=name
            )
        ax.set(title=self.title, xlabel="peak learning rate", ylabel="largest rise (nats)", xscale="log")
        ax.xaxis.set_minor_formatter(NullFormatter())  # Within one decade its labels would overlap.
        ax.margins(y=0.08)


def learning_rate(setting: Setting) -> float:
    """Return the learning rate of a setting's runs, the highest that its schedule reaches."""
    return setting.config.training.peak_learning_rate


def _seen_rise(run: Observations, part: str) -> float:
    """Return the largest rise of a loss in nats, the lower end where it overflowed."""
    return ends(largest_rise(curve(run, "loss", part)[1]))[0]
