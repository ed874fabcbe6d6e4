"""Fig. 3B: accuracy over epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from validate.figures.style import PARTS, new_axes
from validate.settings import Setting
from validate.stats import SHARE, SIZE, over_seeds

FloatArray = npt.NDArray[np.float64]


@dataclass
class AccuracyCurves:
    """Accuracy (or loss) on D_mem, D_rsn,train and D_rsn,test over epochs, mean and interval over seeds.

    Attributes
    ----------
    title : str
    measure : str
        "accuracy" or "loss" (nats).
    epochs : ndarray, shape (n_epochs,)
    curves : dict of ndarray
        For each data set shape (3, n_epochs): mean, low, high; low and high NaN for a single seed.
    """

    title: str
    measure: str
    epochs: FloatArray
    curves: dict[str, FloatArray]
    ax_: Axes | None = field(default=None, repr=False)
    lines_: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_runs(cls, setting: Setting, measure: str = "accuracy") -> AccuracyCurves:
        """Take the curves from the metrics of a setting's runs."""
        lines = [run.metrics for run in setting.runs]
        epochs = np.array([entry["epoch"] for entry in lines[0]], dtype=np.float64)
        within = SHARE if measure == "accuracy" else SIZE
        curves = {
            part: np.array(
                [_triple([run[i][measure][part] for run in lines], within) for i in range(len(epochs))]
            ).T
            for part in lines[0][0][measure]
            if part in PARTS
        }
        return cls(setting.label, measure, epochs, curves)

    def plot(self, ax: Axes | None = None) -> AccuracyCurves:
        """Draw on ``ax``, or on new axes, and return itself with ``ax_`` and ``lines_``."""
        self.ax_ = ax = ax or new_axes()[1][0]
        for part, (mean, low, high) in self.curves.items():
            name, colour, style = PARTS[part]
            (self.lines_[part],) = ax.plot(self.epochs, mean, style, color=colour, label=name)
            ax.fill_between(self.epochs, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set(title=self.title, xlabel="epoch")
        if self.measure == "accuracy":
            ax.set(ylabel="accuracy", ylim=(-0.03, 1.03))
        else:
            ax.set(ylabel="cross entropy (nats)", ylim=(0, None))
        return self


def _triple(values: list[float], within: tuple[float, float]) -> tuple[float, float, float]:
    estimate = over_seeds(values, within)
    low = np.nan if estimate.low is None else estimate.low
    high = np.nan if estimate.high is None else estimate.high
    return estimate.mean, low, high
