"""Fig. 12: how near the first attention is to the average over γ, against Lemma 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.style import PALETTE, seed_bars
from validate.judge.groups import Setting
from validate.judge.stats import SHARE, band, band_text
from validate.predict.lemma1 import predicted_average_share


@dataclass
class AverageOverGamma(BasePanel):
    """How near the first attention is to the average, over γ (Lemma 1, Fig. 12).

    Attributes
    ----------
    what : str
        What is drawn, in words.
    gammas : ndarray, shape (n,)
    curves : dict of ndarray
        For each epoch shape (3, n): mean, low and high over seeds.
    predicted : ndarray, shape (n,), optional
        What Lemma 1 says of epoch 0.
    logarithmic : bool
    """

    what: str
    gammas: FloatArray
    curves: dict[int, FloatArray]
    predicted: FloatArray | None = None
    logarithmic: bool = False

    @classmethod
    def error(cls, settings: Sequence[Setting], epochs: Sequence[int]) -> AverageOverGamma:
        r"""Take max \|A_ij − 1/i\| of every setting at some epochs."""
        curves = {
            epoch: np.stack(
                [band(s.array("first_attention_error", s.nearest(epoch)), SHARE) for s in settings], axis=1
            )
            for epoch in epochs
        }
        gammas = np.array([s.init_rate for s in settings])
        return cls("max |$A_{ij}$ − 1/i|", gammas, curves, logarithmic=True)

    @classmethod
    def share(cls, settings: Sequence[Setting], epochs: Sequence[int], place: int = 0) -> AverageOverGamma:
        """Take the share of entries within ε of 1/i, and what Lemma 1 says of it at initialisation.

        ``place`` is that of ε in ``LEMMA1_EPSILONS``.
        """
        # Imported here because observing loads torch, which drawing can do without.
        from validate.observe.attention import LEMMA1_EPSILONS

        curves = {
            epoch: np.stack(
                [band(s.array("lemma1_share", s.nearest(epoch))[:, place], SHARE) for s in settings], axis=1
            )
            for epoch in epochs
        }
        tolerance = LEMMA1_EPSILONS[place]
        predicted = np.array([predicted_average_share(s.config, tolerance) for s in settings])
        gammas = np.array([s.init_rate for s in settings])
        return cls(f"share of |$A_{{ij}}$ − 1/i| ≤ {tolerance:g}", gammas, curves, predicted)

    def summary(self) -> str:
        """Return every point."""
        return "; ".join(
            f"{self.what.replace('$', '')} at γ = {gamma:g}, epoch {epoch}: {band_text(values[:, i])}"
            for epoch, values in self.curves.items()
            for i, gamma in enumerate(self.gammas)
        )

    def draw(self, ax: Axes) -> None:
        """Draw one line per epoch."""
        for (epoch, values), colour in zip(self.curves.items(), PALETTE, strict=False):
            self.lines_[epoch] = seed_bars(
                ax, self.gammas, values, color=colour, marker="o", markersize=4, label=f"epoch {epoch}"
            )
        if self.predicted is not None:
            (self.lines_["Lemma 1"],) = ax.plot(
                self.gammas, self.predicted, "k:", marker="x", label="Lemma 1, epoch 0"
            )
        ax.set(xlabel="initialisation rate γ", ylabel=self.what)
        ax.set_yscale("log" if self.logarithmic else "linear")
        if not self.logarithmic:
            ax.set_ylim(-0.03, 1.03)
