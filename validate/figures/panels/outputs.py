"""Fig. 8 right: what a model puts out for each mapping, against the mapping's labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory import Lookup, Mapping, Task, Window, label_distribution
from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import PALETTE, shade
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, Estimate, band, over_seeds


@dataclass
class OutputDistribution(BasePanel):
    """The mean output for one mapping's sequences, beside the label distribution of its anchors.

    Attributes
    ----------
    title : str
    output : ndarray, shape (3, d)
        Mean, low and high over seeds.
    distribution : ndarray, shape (d,)
        P^s of the mapping's anchors, mean over them.
    mass : Estimate
        The output's mass on the mapping's labels.
    """

    title: str
    output: FloatArray
    distribution: FloatArray
    mass: Estimate

    @classmethod
    def from_runs(cls, setting: Setting, epoch: int) -> list[OutputDistribution]:
        """Take every mapping's output at an epoch."""
        task = setting.task
        return [
            cls(
                label_words(task, m),
                band(setting.array(f"outputs/{m.name}", epoch), SHARE),
                np.mean([label_distribution(task, s, held_out=True) for s in m.anchors], axis=0),
                over_seeds(setting.array(f"label_mass/{m.name}", epoch).tolist(), SHARE),
            )
            for m in task.mappings
        ]

    def summary(self) -> str:
        """Return the mass on the labels."""
        return f"{self.title}: output mass on its own labels {self.mass}"

    def draw(self, ax: Axes) -> None:
        """Draw output and distribution over the labels."""
        labels = np.arange(len(self.distribution))
        (self.lines_["distribution"],) = ax.step(
            labels,
            self.distribution,
            where="mid",
            color=PALETTE[0],
            linewidth=1,
            label="label distribution $P^s$",
        )
        shade(ax, labels, self.output, PALETTE[1])
        (self.lines_["output"],) = ax.plot(
            labels, self.output[0], color=PALETTE[1], linewidth=1.2, label="mean output"
        )
        ax.set_title(f"{self.title}\nmass inside:\n{self.mass}")
        ax.set(xlabel="label i", ylabel="probability", ylim=(0, None))


def label_words(task: Task, mapping: Mapping) -> str:
    """Return a memory mapping's labels in words: "labels 30 to 49", "labels within 40 of the key"."""
    rule, domain = mapping.rule, task.domain(mapping)
    if isinstance(rule, Window):
        widths = domain.totals(domain.anchors)
        nearest, furthest = int(widths.min()), int(widths.max())
        within = f"{nearest} to {furthest}" if nearest < furthest else f"{furthest}"
        return f"labels within {within} of the key"
    if isinstance(rule, Lookup) and rule.low is None:
        return f"labels uniform on all {len(task.keys)} keys"
    labels = task.label_range(mapping)
    return f"labels {labels[0]} to {labels[-1]}"
