"""Fig. 4A, 4C, 5A, 10, 11: cosine matrices, predicted and observed on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theory import off_diagonal
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.predicted import LOOKS, predictions
from validate.figures.style import DIVERGING, new_axes
from validate.judge.compare import predicted_cosines
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, Estimate, over_seeds
from validate.predict.predictors import Tokens


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
            observed = setting.cosines(tokens, epoch).mean(axis=0)
            panels.append((f"observed, {setting.label}\nepoch {epoch}", observed))
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


@dataclass
class CosineMatrix(BasePanel):
    """One cosine matrix and the mean of its pairs, over seeds.

    Attributes
    ----------
    title : str
    tokens : tuple of int
    matrix : ndarray, shape (n, n)
        Mean over seeds.
    pairs : Estimate
        The mean over all pairs of different tokens.
    """

    title: str
    tokens: Tokens
    matrix: FloatArray
    pairs: Estimate

    @classmethod
    def from_runs(cls, setting: Setting, tokens: Tokens, epoch: int, title: str) -> CosineMatrix:
        """Take what training did by an epoch."""
        return cls.of(title, tokens, setting.cosines(tokens, epoch))

    @classmethod
    def from_theory(cls, setting: Setting, tokens: Tokens, names: Sequence[str]) -> list[CosineMatrix]:
        """Take each of some predictions that says anything of these tokens."""
        found = predictions(setting, tokens)
        return [cls.of(_broken(LOOKS[name].label), tokens, found[name]) for name in names if name in found]

    @classmethod
    def of(cls, title: str, tokens: Tokens, matrices: FloatArray) -> CosineMatrix:
        """Take matrices of shape (n_seeds, n, n)."""
        means = [float(off_diagonal(m).mean()) for m in matrices]
        return cls(title, tokens, np.asarray(matrices.mean(axis=0)), over_seeds(means, COSINE))

    def summary(self) -> str:
        """Return the mean over pairs."""
        return f"{' '.join(self.title.split())}: mean cosine of pairs {self.pairs}"

    def draw(self, ax: Axes) -> None:
        """Draw on the colour scale [−1, 1]."""
        self.image_ = draw_matrix(ax, self.matrix, self.tokens)
        ax.set_title(f"{self.title}\nmean {_lines(self.pairs)}")
        ax.set(xlabel="token", ylabel="token")


def _broken(label: str) -> str:
    return label.replace(" of ", "\nof ").replace(" (", "\n(").replace(", width", ",\nwidth")


def _lines(pairs: Estimate) -> str:
    """Return an estimate with its interval on a line of its own: panels are narrow."""
    return str(pairs).replace(" [", "\n[")


def draw_matrix(ax: Axes, matrix: FloatArray, tokens: Tokens) -> Any:
    """Draw a cosine matrix with token numbers along the sides."""
    image = ax.imshow(matrix, vmin=-1, vmax=1, cmap=DIVERGING)
    # A tick for each token where these are few; the numbers stay apart at the width of a page.
    places = list(range(0, len(tokens), max(1, -(-len(tokens) // 3))))
    ax.set_xticks(places, [str(tokens[i]) for i in places], fontsize=7)
    ax.set_yticks(places, [str(tokens[i]) for i in places], fontsize=7)
    return image
