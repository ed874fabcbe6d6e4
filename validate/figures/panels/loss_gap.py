"""Fig. 7A: how far two corpora's losses lie apart, over γ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory.arrays import FloatArray
from validate.claims.measures.language import KNOWN, loss_gap, relative_gap
from validate.figures.panels.panel import BasePanel
from validate.figures.style import MARKERS, PALETTE, seed_bars
from validate.judge.groups import Setting
from validate.judge.stats import band, band_text


@dataclass
class LossGaps(BasePanel):
    """The second corpus's loss less the first's at the end of training, over γ, mean and interval over seeds.

    Attributes
    ----------
    title, unit : str
    gammas : ndarray, shape (n,)
    curves : dict of ndarray
        For each line of the legend shape (3, n): mean, low, high.
    """

    title: str
    unit: str
    gammas: FloatArray
    curves: dict[str, FloatArray]

    @classmethod
    def relative(cls, settings: Sequence[Setting]) -> LossGaps:
        """Take ΔL of the paper, (L₂ − L₁)/L₁."""
        values = _bands([[relative_gap(run) for run in s.runs] for s in settings])
        gammas = np.array([s.init_rate for s in settings])
        return cls("relative, as in the paper", "ΔL = (L₂ − L₁)/L₁", gammas, {"ΔL": values})

    @classmethod
    def above_entropies(cls, settings: Sequence[Setting]) -> LossGaps:
        """Take the gap in nats, of the losses and of what they exceed the corpora's own entropies by."""
        gammas = np.array([s.init_rate for s in settings])
        curves = {
            f"less what {known} know" if known != "nothing" else "L₂ − L₁": _bands(
                [[loss_gap(run, known) for run in s.runs] for s in settings]
            )
            for known in KNOWN
        }
        return cls("above the corpora's entropies", "gap (nats)", gammas, curves)

    def summary(self) -> str:
        """Return every point."""
        return "; ".join(
            f"{name} at γ = {gamma:g}: {band_text(values[:, i])}"
            for name, values in self.curves.items()
            for i, gamma in enumerate(self.gammas)
        )

    def draw(self, ax: Axes) -> None:
        """Draw a line with bars for each."""
        for (name, values), colour, marker in zip(self.curves.items(), PALETTE, MARKERS, strict=False):
            self.lines_[name] = seed_bars(
                ax, self.gammas, values, color=colour, marker=marker, markersize=4, label=name
            )
        ax.axhline(0, color="0.5", linewidth=0.8)
        ax.set(title=self.title, xlabel="initialisation rate γ", ylabel=self.unit)


def _bands(values: Sequence[Sequence[float]]) -> FloatArray:
    """Return mean, low and high of each γ's seeds, shape (3, n)."""
    return np.stack([band(seeds) for seeds in values], axis=1)
