"""The error budget of the theory: how long each rung of the ladder can be trusted, over γ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theory import Horizon
from validate.figures.style import PALETTE, new_axes


@dataclass
class ErrorBudget:
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
    ax_: Axes | None = field(default=None, repr=False)
    lines_: dict[str, Any] = field(default_factory=dict, repr=False)

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

    def plot(self, ax: Axes | None = None) -> ErrorBudget:
        """Draw one line a rung, hollow where the end was not reached, and return itself with ``ax_``."""
        self.ax_ = ax = ax or new_axes()[1][0]
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
        return self
