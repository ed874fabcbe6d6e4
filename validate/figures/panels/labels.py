"""Fig. 4B: what the label distributions are before any training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory import Task, label_distribution
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import sequential
from validate.predict.predictors import Tokens


@dataclass
class LabelDistributions(BasePanel):
    """P^s − u of some tokens (eq. 7, 8).

    Attributes
    ----------
    title : str
    tokens : tuple of int
    excess : ndarray, shape (n, d)
        P^s − u.
    """

    title: str
    tokens: Tokens
    excess: FloatArray

    @classmethod
    def from_task(
        cls, task: Task, tokens: Tokens, title: str, *, held_out: bool = False
    ) -> LabelDistributions:
        """Compute P^s − u from a task."""
        distributions = [label_distribution(task, s, held_out=held_out) - 1 / task.vocab_size for s in tokens]
        return cls(title, tokens, np.array(distributions))

    def draw(self, ax: Axes) -> None:
        """Draw one line per token, dark to light in the tokens' order."""
        ends = {self.tokens[0], self.tokens[-1]}
        for token, row, colour in zip(self.tokens, self.excess, sequential(len(self.tokens)), strict=True):
            ax.plot(row, color=colour, linewidth=1, label=f"s = {token}" if token in ends else None)
        ax.axhline(0, color="black", linewidth=0.5)
        ax.set(title=self.title, xlabel="label i", ylabel="P$^s_i$ − 1/d")
        ax.legend(fontsize=7, frameon=False)
