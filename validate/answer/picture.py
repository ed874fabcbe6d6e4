"""The answer as a picture: predicted cosines, those of small and of large initial weights, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theory import off_diagonal
from validate.answer.conditions import PREDICT, PREDICTION
from validate.answer.verdict import Answer, early_epochs
from validate.figures.cosines import draw_matrix
from validate.figures.style import PALETTE, new_axes
from validate.settings import Setting
from validate.times import early_epoch

FloatArray = npt.NDArray[np.float64]
_SIZE = (3.4, 3.2)


@dataclass
class PredictedBesideObserved:
    """Cosine matrices of all anchors, predicted and observed, and every pair as a point.

    Attributes
    ----------
    tokens : tuple of int
    predicted : ndarray, shape (n, n)
    observed : dict of ndarray
        Title → mean over seeds at each run's early epoch, shape (n, n).
    """

    tokens: tuple[int, ...]
    predicted: FloatArray
    observed: dict[str, FloatArray]
    figure_: Figure | None = field(default=None, repr=False)
    axes_: list[Axes] = field(default_factory=list, repr=False)
    points_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, answer: Answer) -> PredictedBesideObserved:
        """Take the runs that the verdict is about, or those that there are."""
        shown = [s for s in (answer.small, answer.control) if s is not None] or list(answer.settings[-1:])
        run = shown[0].members.runs[0]
        tokens = run.task.anchors
        return cls(tokens, PREDICT(run, tokens, 0), {_title(s): _observed(s) for s in shown})

    def plot(self) -> PredictedBesideObserved:
        """Draw on a new figure, and return itself with ``figure_``, ``axes_`` and ``points_``."""
        panels = {f"predicted: {PREDICTION}": self.predicted} | self.observed
        columns = 2
        self.figure_, self.axes_ = new_axes(-(-(len(panels) + 1) // columns), columns, size=_SIZE)
        for ax, (title, matrix) in zip(self.axes_, panels.items(), strict=False):
            image = draw_matrix(ax, matrix, self.tokens)
            ax.set_title(title, fontsize=9)
        *maps, scatter = self.axes_[: len(panels) + 1]
        for spare in self.axes_[len(panels) + 1 :]:
            spare.set_axis_off()
        self.figure_.colorbar(image, ax=maps, shrink=0.7, label="cosine similarity of the anchors")
        self._plot_pairs(scatter)
        return self

    def _plot_pairs(self, ax: Axes) -> None:
        for (title, matrix), colour in zip(self.observed.items(), PALETTE, strict=False):
            label = title.split(":")[0].removeprefix("observed, ")
            self.points_ += ax.plot(
                off_diagonal(self.predicted),
                off_diagonal(matrix),
                "o",
                color=colour,
                ms=2.5,
                alpha=0.6,
                label=label,
            )
        ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        ax.set(xlabel="predicted cosine", ylabel="observed cosine", title="every pair of anchors")
        ax.title.set_fontsize(9)
        ax.legend(fontsize=7, frameon=False, loc="upper left")


def caption(answer: Answer) -> str:
    """Return what the picture shows."""
    seeds = {len(s.runs) for s in (answer.small, answer.control) if s is not None} or {1}
    of = "one run" if seeds == {1} else "mean over seeds"
    return (
        f"Cosine similarity of all anchors, predicted from the label distributions alone ({PREDICTION}) and "
        f"observed early in training ({of}); the line is a perfect prediction."
    )


def _title(setting: Setting) -> str:
    epochs = sorted(set(early_epochs(setting)))
    when = f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"
    return f"observed, γ = {setting.init_rate:g}: {when}"


def _observed(setting: Setting) -> FloatArray:
    runs, tokens = setting.members.runs, setting.task.anchors
    return np.asarray(np.mean([run.cosines(tokens, early_epoch(run)) for run in runs], axis=0))
