"""Fig. 4A, 4C, 10: cosine matrices, predicted and observed on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from validate.compare import observed_cosines, predicted_cosines
from validate.figures.style import new_axes
from validate.predictors import Tokens
from validate.settings import Setting

FloatArray = npt.NDArray[np.float64]


@dataclass
class CosineMatrices:
    """Cosine matrices of some tokens, side by side.

    Attributes
    ----------
    tokens : tuple of int
    panels : list of (str, ndarray)
        Title and matrix of shape (n, n), a mean over seeds where it is observed.
    """

    tokens: Tokens
    panels: list[tuple[str, FloatArray]]
    axes_: list[Axes] = field(default_factory=list, repr=False)
    images_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_runs(
        cls, setting: Setting, tokens: Tokens, epochs: Sequence[int], predictors: Sequence[str] = ("P^s - u",)
    ) -> CosineMatrices:
        """Take predictions (at the last epoch) and observations (at each) from a setting's runs."""
        predicted = predicted_cosines(setting.runs, epochs[-1], tokens) if predictors else {}
        panels = [(f"predicted: {name}", np.mean(predicted[name], axis=0)) for name in predictors]
        for epoch in epochs:
            observed = [observed_cosines(run, epoch, tokens) for run in setting.runs]
            panels.append((f"observed, {setting.label}\nepoch {epoch}", np.mean(observed, axis=0)))
        return cls(tokens, panels)

    def plot(self, axes: list[Axes] | None = None) -> CosineMatrices:
        """Draw each panel, all on the colour scale [−1, 1], and return itself."""
        if axes is None:
            axes = new_axes(1, len(self.panels), size=(2.9, 2.9))[1]
        self.axes_ = axes
        for ax, (title, matrix) in zip(axes, self.panels, strict=True):
            self.images_.append(draw_matrix(ax, matrix, self.tokens))
            ax.set_title(title, fontsize=9)
        figure = axes[0].figure
        figure.colorbar(self.images_[-1], ax=axes, shrink=0.8, label="cosine similarity")
        return self


def draw_matrix(ax: Axes, matrix: FloatArray, tokens: Tokens) -> Any:
    """Draw a cosine matrix with token numbers along the sides."""
    image = ax.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu_r")
    places = list(range(0, len(tokens), max(1, len(tokens) // 10)))
    ax.set_xticks(places, [str(tokens[i]) for i in places], fontsize=7)
    ax.set_yticks(places, [str(tokens[i]) for i in places], fontsize=7)
    return image
