"""Fig. 5B, 11: principal components of a trained embedding, keys in numerical order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from theory import Task
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import MEMORY, REASONING, SEQUENTIAL
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, Estimate, over_seeds
from validate.predict.predictors import Tokens


@dataclass
class EmbeddingMap(BasePanel):
    """Anchors and keys on the first two principal components of one run's embedding.

    Attributes
    ----------
    title : str
    task : Task
    tokens : tuple of int
        Anchors, then keys.
    coordinates : ndarray, shape (n_tokens, 2)
        Of one run: the components of different seeds have no common axes.
    explained : ndarray, shape (2,)
        Share of the variance.
    order : Estimate
        Over seeds, the largest absolute rank correlation of one of both components with the keys' numbers.
    """

    title: str
    task: Task
    tokens: Tokens
    coordinates: FloatArray
    explained: FloatArray
    order: Estimate

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int, title: str) -> EmbeddingMap:
        """Take the first seed's coordinates, and every seed's numerical order."""
        coordinates = setting.array("pca", epoch)[..., :2]
        tokens = setting.runs[0].tokens
        keys = [tokens.index(z) for z in setting.task.keys]
        orders = [_numerical_order(c[keys]) for c in coordinates]
        explained = setting.array("pca_variance", epoch)[0, :2]
        return cls(title, setting.task, tokens, coordinates[0], explained, over_seeds(orders, SHARE))

    def summary(self) -> str:
        """Return how far a component orders the keys."""
        return f"{self.title}: order of the keys along a component, |ρ| = {self.order}"

    def draw(self, ax: Axes) -> None:
        """Draw keys dark to light and anchors by kind."""
        keys = self._of(self.task.keys)
        ax.plot(keys[:, 0], keys[:, 1], color="0.8", linewidth=0.5, zorder=1)
        self.lines_["keys"] = ax.scatter(
            keys[:, 0],
            keys[:, 1],
            c=self.task.keys,
            cmap=SEQUENTIAL,
            s=9,
            zorder=2,
            label="keys (dark to light)",
        )
        for name, tokens, colour, marker in (
            ("memory", self.task.memory_anchors, MEMORY, "s"),
            ("reasoning", self.task.reasoning_anchors, REASONING, "^"),
        ):
            if tokens:
                points = self._of(tokens)
                self.lines_[name] = ax.scatter(
                    points[:, 0],
                    points[:, 1],
                    color=colour,
                    marker=marker,
                    s=16,
                    zorder=3,
                    label=f"{name} anchors",
                )
        for key in (self.task.keys[0], self.task.keys[-1]):
            ax.annotate(
                str(key),
                self._of((key,))[0],
                (3, 3),
                textcoords="offset points",
                fontsize=7,
                zorder=4,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],  # Readable over points.
            )
        ax.margins(0.1)  # The labels of outermost points stay within the frame.
        first, second = 100 * self.explained
        ax.set_title(f"{self.title}\norder of keys |ρ|:\n{self.order}")
        ax.set(xlabel=f"component 1 ({first:.0f} %)", ylabel=f"component 2 ({second:.0f} %)")

    def _of(self, tokens: Tokens) -> FloatArray:
        return self.coordinates[[self.tokens.index(s) for s in tokens]]


def _numerical_order(coordinates: FloatArray) -> float:
    """Return the larger |Spearman's ρ| of a column with 0, 1, 2, ..."""
    numbers = np.arange(len(coordinates))
    from scipy.stats import spearmanr  # A second of loading, and most figures have no map.

    return max(abs(float(spearmanr(numbers, column).statistic)) for column in coordinates.T)
