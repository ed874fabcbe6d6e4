"""How far each predictor is from what training does, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from validate.figures.panels.panel import BasePanel
from validate.figures.predicted import LOOKS
from validate.figures.style import PALETTE, shade
from validate.judge.compare import Row, group_title
from validate.judge.rungs import STEPS
from validate.judge.stats import Estimate
from validate.predict.predictors import FITTED_WIDTH

COLOURS = {
    **{name: look.colour for name, look in LOOKS.items()},
    "frozen flow": PALETTE[5],
    FITTED_WIDTH: PALETTE[7],
    **{f"{lower} → {upper}": colour for (lower, upper, _), colour in zip(STEPS, PALETTE, strict=False)},
}
"""Of each predictor and each step of the ladder, in every panel, whichever of them it draws."""


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
        for i, (name, points) in enumerate(self.curves.items()):
            colour = COLOURS.get(name, PALETTE[i % len(PALETTE)])
            epochs = [epoch for epoch, _ in points]
            means = [e.mean for _, e in points]
            (self.lines_[name],) = ax.plot(epochs, means, "o-", markersize=2.5, color=colour, label=name)
            none = float("nan")
            bounds = [[none if x is None else x for x in (e.low, e.high)] for _, e in points]
            shade(ax, epochs, np.array([means, *zip(*bounds, strict=True)], dtype=np.float64), colour)
        ax.set(title=self.title, xlabel="epoch", ylabel="RMSE of the cosine", ylim=(0, None))
