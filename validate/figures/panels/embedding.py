"""Fig. 5C, 5D, 9 from the theory alone: rows of cosines, and principal components of w̃."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes

from theory import (
    PrincipalComponents,
    Task,
    cosine_matrix,
    eq14_embedding,
    gaussian_embedding,
    label_distribution,
    principal_components,
)
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.predicted import LOOKS, Look, predictions
from validate.figures.style import MARKERS, OBSERVED, PALETTE, sequential, shade, whole_ticks
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SIZE, Estimate, band, over_seeds
from validate.predict.predictors import Tokens


@dataclass
class CosineRows(BasePanel):
    """cos(s, ·) of one token with its group, one line per prediction or observation (Fig. 5C, 9).

    Attributes
    ----------
    token : int
        s.
    tokens : tuple of int
        The group.
    lines : dict of ndarray, each of shape (n,)
    observed : ndarray, shape (3, n), optional
        What training did: mean, low and high over seeds.
    title : str
        By default which row it is.
    errors : dict of Estimate
        For each line its RMSE against training, the token itself left out, over seeds.
    """

    token: int
    tokens: Tokens
    lines: dict[str, FloatArray]
    observed: FloatArray | None = None
    title: str = ""
    errors: dict[str, Estimate] = field(default_factory=dict)

    @classmethod
    def from_task(cls, task: Task, tokens: Tokens) -> list[CosineRows]:
        """Predict every row of a group of reasoning anchors, by eq. 8, Theorem 1 and eq. 14.

        Eq. 8 is that of the training data, held-out combinations left out; the other two know of none.
        """
        distributions = [label_distribution(task, s, held_out=True) - 1 / task.vocab_size for s in tokens]
        normal = gaussian_embedding(task, tokens)
        matrices = {
            "P^s - u (eq. 8)": cosine_matrix(distributions),
            "normal, computed width (eq. 12)": cosine_matrix(normal),
            "normal, width 12 (eq. 14)": cosine_matrix(eq14_embedding(task, tokens)),
        }
        return [
            cls(s, tokens, {name: matrix[i] for name, matrix in matrices.items()})
            for i, s in enumerate(tokens)
        ]

    @classmethod
    def from_runs(
        cls, setting: Setting, tokens: Tokens, epoch: int, names: Sequence[str]
    ) -> list[CosineRows]:
        """Take every row of what training did by an epoch, beside some predictions' means over seeds."""
        observed = setting.cosines(tokens, epoch)
        found = predictions(setting, tokens)
        predicted = {LOOKS[name].label: found[name] for name in names if name in found}
        return [cls._row(tokens, i, observed, predicted) for i in range(len(tokens))]

    @classmethod
    def _row(
        cls, tokens: Tokens, i: int, observed: FloatArray, predicted: dict[str, FloatArray]
    ) -> CosineRows:
        """Take row i of matrices of shape (n_seeds, n, n), or (1, n, n) where all seeds have the same."""
        others = np.arange(len(tokens)) != i
        squares = {n: ((m - observed)[:, i, others] ** 2).mean(axis=1) for n, m in predicted.items()}
        return cls(
            tokens[i],
            tokens,
            {name: matrices[:, i].mean(axis=0) for name, matrices in predicted.items()},
            band(observed[:, i], COSINE),
            errors={name: over_seeds(np.sqrt(s).tolist(), SIZE) for name, s in squares.items()},
        )

    def summary(self) -> str:
        """Return each prediction's error against training."""
        if not self.errors:
            return ""
        errors = [f"{name} {error}" for name, error in self.errors.items()]
        return f"{self.title or f'cos({self.token}, ·)'}: RMSE against training, {', '.join(errors)}"

    def draw(self, ax: Axes) -> None:
        """Draw on some axes."""
        looks = {look.label: look for look in LOOKS.values()}
        for (name, values), colour, marker in zip(self.lines.items(), PALETTE, MARKERS, strict=False):
            look = looks.get(name, Look(name, colour, marker))
            (self.lines_[name],) = ax.plot(
                self.tokens, values, look.marker, linestyle="-", markersize=3, color=look.colour, label=name
            )
        if self.observed is not None:
            (self.lines_["observed"],) = ax.plot(
                self.tokens, self.observed[0], color=OBSERVED, linewidth=2, label="training"
            )
            shade(ax, self.tokens, self.observed, OBSERVED)
        ax.set(title=self.title or f"cos({self.token}, ·)", xlabel="token", ylabel="cosine similarity")
        ax.set_ylim(self._lowest() - 0.05, 1.05)
        whole_ticks(ax.xaxis, most=5)

    def _lowest(self) -> float:
        shown = [*self.lines.values(), *([] if self.observed is None else [self.observed])]
        return float(np.nanmin(np.concatenate([np.ravel(values) for values in shown])))


@dataclass
class EmbeddingPCA(BasePanel):
    """Principal components of w̃ for some tokens (Fig. 5D).

    Attributes
    ----------
    title : str
    tokens : tuple of int
    components : PrincipalComponents
    """

    title: str
    tokens: Tokens
    components: PrincipalComponents

    @classmethod
    def from_task(cls, task: Task, tokens: Tokens, title: str) -> EmbeddingPCA:
        """Take w̃ of eq. 14, without its noise."""
        return cls(title, tokens, principal_components(eq14_embedding(task, tokens)))

    def draw(self, ax: Axes) -> None:
        """Draw the tokens in their numerical order, dark to light."""
        x, y = self.components.coordinates.T
        ax.plot(x, y, color="0.8", linewidth=0.8, zorder=1)
        ax.scatter(x, y, c=sequential(len(self.tokens)), s=14, zorder=2)
        for index in (0, len(self.tokens) // 2, -1):
            ax.annotate(
                str(self.tokens[index]), (x[index], y[index]), (3, 3), textcoords="offset points", fontsize=8
            )
        ax.margins(0.08, 0.15)
        first, second = 100 * self.components.explained
        ax.set(
            title=self.title, xlabel=f"component 1 ({first:.0f} %)", ylabel=f"component 2 ({second:.0f} %)"
        )
