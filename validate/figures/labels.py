"""Fig. 4B: what the label distributions are before any training."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from theory import Task, label_distribution
from validate.figures.style import new_axes, sequential
from validate.predictors import Tokens

FloatArray = npt.NDArray[np.float64]


@dataclass
class LabelDistributions:
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
    ax_: Axes | None = field(default=None, repr=False)

    @classmethod
    def from_task(
        cls, task: Task, tokens: Tokens, title: str, *, held_out: bool = False
    ) -> LabelDistributions:
        """Compute P^s − u from a task."""
        laws = [label_distribution(task, s, held_out=held_out) - 1 / task.vocab_size for s in tokens]
        return cls(title, tokens, np.array(laws))

    def plot(self, ax: Axes | None = None) -> LabelDistributions:
        """Draw one line a token, dark to light in the tokens' order, and return itself with ``ax_``."""
        self.ax_ = ax = ax or new_axes()[1][0]
        ends = {self.tokens[0], self.tokens[-1]}
        for token, row, colour in zip(self.tokens, self.excess, sequential(len(self.tokens)), strict=True):
            ax.plot(row, color=colour, linewidth=1, label=f"s = {token}" if token in ends else None)
        ax.axhline(0, color="black", linewidth=0.5)
        ax.set(title=self.title, xlabel="label i", ylabel="P$^s_i$ − 1/d")
        ax.legend(fontsize=7, frameon=False)
        return self
