"""Fig. 8 right: what a model puts out for each mapping, against the mapping's labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from theory import label_distribution
from validate.figures.members import Members, band
from validate.figures.style import PALETTE, new_axes, shade
from validate.stats import SHARE, Estimate, over_seeds

FloatArray = npt.NDArray[np.float64]


@dataclass
class OutputDistribution:
    """The mean output for one mapping's sequences, beside the label law of its anchors.

    Attributes
    ----------
    title : str
    output : ndarray, shape (3, d)
        Mean, low and high over seeds.
    law : ndarray, shape (d,)
        P^s of the mapping's anchors, mean over them.
    mass : Estimate
        The output's mass on the mapping's labels.
    """

    title: str
    output: FloatArray
    law: FloatArray
    mass: Estimate
    ax_: Axes | None = field(default=None, repr=False)
    lines_: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_runs(cls, setting: Members, epoch: int) -> list[OutputDistribution]:
        """Take every mapping's output at an epoch."""
        task = setting.task
        return [
            cls(
                m.name,
                band(setting.array(f"outputs/{m.name}", epoch), SHARE),
                np.mean([label_distribution(task, s, held_out=True) for s in m.anchors], axis=0),
                over_seeds(setting.array(f"label_mass/{m.name}", epoch).tolist(), SHARE),
            )
            for m in task.mappings
        ]

    def summary(self) -> str:
        """Return the mass on the labels."""
        return f"{self.title}: output mass on its own labels {self.mass}"

    def plot(self, ax: Axes | None = None) -> OutputDistribution:
        """Draw output and label law over the labels, and return itself with ``ax_`` and ``lines_``."""
        self.ax_ = ax = ax or new_axes()[1][0]
        labels = np.arange(len(self.law))
        (self.lines_["law"],) = ax.step(
            labels, self.law, where="mid", color=PALETTE[0], linewidth=1, label="label law $P^s$"
        )
        shade(ax, labels, self.output, PALETTE[1])
        (self.lines_["output"],) = ax.plot(
            labels, self.output[0], color=PALETTE[1], linewidth=1.2, label="mean output"
        )
        ax.set_title(f"{self.title}\nmass inside: {self.mass}")
        ax.set(xlabel="label i", ylabel="probability", ylim=(0, None))
        return self
