"""The answer as a picture: predicted cosines, those of small and of large initial weights, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory import off_diagonal
from validate.figures.embedding import LOOKS
from validate.figures.panels.heat_map import HeatMap, cosine_map
from validate.figures.panels.panel import BasePanel
from validate.figures.runs import about
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE
from validate.judge.answer import PREDICTION, Answer
from validate.judge.groups import Setting
from validate.judge.times import early_epoch, early_text
from validate.predict.predictors import from_uniform

_BAR = "cosine similarity"


@dataclass
class EveryPair(BasePanel):
    """Predicted against observed cosine, a point for every pair of anchors.

    Attributes
    ----------
    title : str
    predicted : HeatMap
    observed : dict of HeatMap
        Label → mean over seeds at each run's early epoch.
    """

    predicted: HeatMap
    observed: dict[str, HeatMap]

    def draw(self, ax: Axes) -> None:
        """Draw on some axes."""
        x = off_diagonal(self.predicted.values)
        for (label, observed), colour in zip(self.observed.items(), PALETTE, strict=False):
            (self.lines_[label],) = ax.plot(
                x, off_diagonal(observed.values), "o", color=colour, ms=2.5, alpha=0.6, label=label
            )
        ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        ax.set(xlabel="predicted cosine similarity", ylabel="observed cosine similarity")


def picture(answer: Answer, name: str = "answer") -> Sheet | None:
    """Return the picture of an answer, not drawn yet; a task with fewer than three anchors has none.

    It shows the runs that the verdict is about, or those that there are.
    """
    shown = answer.judged() or list(answer.settings[-1:])
    run = shown[0].runs[0]
    tokens = run.task.anchors
    if len(tokens) < 3:
        return None
    title = f"predicted:\n{LOOKS[PREDICTION][0]}"
    predicted = cosine_map(title, tokens, from_uniform(run, tokens)[None])
    observed = {f"γ = {s.init_rate:g}": _observed(s) for s in shown}
    rows = [
        PanelRow("A  All anchors: predicted, and observed early", [predicted, *observed.values()], _BAR, 2.6),
        PanelRow("B  Every pair of anchors", [EveryPair("", predicted, observed)], height=2.6),
    ]
    caption = (
        "Cosine similarity of all anchors, predicted from the label distributions alone and observed early "
        "in training. In B the line is a perfect prediction."
    )
    return Sheet(name, caption, about(shown), rows)


def _observed(setting: Setting) -> HeatMap:
    runs, tokens = setting.runs, setting.task.anchors
    title = f"observed, γ = {setting.init_rate:g}:\n{early_text(setting)}"
    return cosine_map(title, tokens, np.array([r.cosines(tokens, early_epoch(r)) for r in runs]))
