"""The error budget of the theory: how long each rung of the ladder can be trusted, over γ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from theory import Horizon
from validate.figures.panels.panel import BasePanel
from validate.figures.style import PALETTE


@dataclass
class ErrorBudget(BasePanel):
    """Validity horizons over γ, in units of each initialisation's own clock.

    Attributes
    ----------
    bound : float
        The cosine error that ends a rung's validity.
    horizons : dict of list
        For each rung (γ, time over clock, whether the time is only the end of what was looked at).
    """

    bound: float
    horizons: dict[str, list[tuple[float, float, bool]]]

    @classmethod
    def from_horizons(cls, rows: Sequence[Horizon], bound: float) -> ErrorBudget:
        """Take the rows of ``theory.validity_horizon`` for one bound."""
        found: dict[str, list[tuple[float, float, bool]]] = {}
        for row in rows:
            if row.bound == bound:
                censored = not np.isfinite(row.time)
                time = row.span if censored else row.time
                found.setdefault(row.rung, []).append((row.init_rate, time / row.clock, censored))
        return cls(bound, {rung: sorted(points) for rung, points in found.items()})

    def draw(self, ax: Axes) -> None:
        """Draw one line per rung, hollow where the end was not reached."""
        for (rung, points), colour in zip(self.horizons.items(), PALETTE, strict=False):
            gammas, times, censored = zip(*points, strict=True)
            (self.lines_[rung],) = ax.plot(gammas, times, "-", color=colour, label=rung)
            faces = ["white" if c else colour for c in censored]
            ax.scatter(gammas, times, s=22, facecolors=faces, edgecolors=colour, zorder=3)
        ax.set(
            title=f"cosine error ≤ {self.bound:g}",
            xlabel="initialisation rate γ",
            ylabel="time until the error, in clocks",
            ylim=(0, None),
        )
