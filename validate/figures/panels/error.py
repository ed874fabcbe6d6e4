"""How far each predictor is from what training does, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from validate.compare import Row, group_title
from validate.figures.panels.panel import BasePanel
from validate.figures.style import PALETTE, shade
from validate.stats import Estimate


@dataclass
class PredictionError(BasePanel):
    """RMSE of predicted cosines over epochs, one line per predictor.

    Attributes
    ----------
    title : str
    curves : dict of list
        For each predictor (epoch, Estimate) pairs.
    """

    title: str
    curves: dict[str, list[tuple[int, Estimate]]]

    @classmethod
    def from_rows(cls, rows: Sequence[Row], setting: str, group: str) -> PredictionError:
        """Take the RMSE over all off-diagonal pairs from a comparison."""
        curves: dict[str, list[tuple[int, Estimate]]] = {}
        for row in rows:
            if (row.setting, row.group, row.anchor, row.measure) == (setting, group, None, "rmse"):
                curves.setdefault(row.predictor, []).append((row.epoch, row.estimate))
        return cls(f"{group_title(group)}, {setting}", curves)

    def draw(self, ax: Axes) -> None:
        """Draw mean and interval over seeds."""
        for (name, points), colour in zip(self.curves.items(), PALETTE, strict=False):
            epochs = [epoch for epoch, _ in points]
            means = [e.mean for _, e in points]
            (self.lines_[name],) = ax.plot(epochs, means, "o-", markersize=2.5, color=colour, label=name)
            none = float("nan")
            bounds = [[none if x is None else x for x in (e.low, e.high)] for _, e in points]
            shade(ax, epochs, np.array([means, *zip(*bounds, strict=True)], dtype=np.float64), colour)
        ax.set(title=self.title, xlabel="epoch", ylabel="RMSE of the cosine", ylim=(0, None))
