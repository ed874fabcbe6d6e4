"""Lines over one axis, each of one seed or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel
from validate.figures.seeds import OVER_SEEDS, draw_seeds, explain
from validate.figures.style import LEVEL, Look
from validate.judge.stats import ANY


@dataclass(frozen=True)
class Curve:
    """A line of a panel.

    Attributes
    ----------
    x : array_like, shape (n,)
    seeds : ndarray, shape (n_seeds, n)
        One row a seed; a single row for a prediction that is the same for all.
    look : Look
    within : tuple of float
        The values that the measure can take.
    spread : ndarray, shape (n,), optional
        A standard deviation over sequences.
    interval : ndarray, shape (2, n), optional
        Both ends of an interval over seeds, where ``seeds`` is its centre.
    """

    x: npt.ArrayLike
    seeds: FloatArray
    look: Look
    within: tuple[float, float] = ANY
    spread: FloatArray | None = None
    interval: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """The mean over seeds, shape (n,)."""
        return np.asarray(np.mean(self.seeds, axis=0))


@dataclass
class Curves(BasePanel):
    """Some lines with intervals over seeds, or each seed thin where these are few.

    Attributes
    ----------
    title : str
    curves : dict of Curve
        By the name in the legend; one that begins with "_" stays out of it.
    xlabel, ylabel : str
    xscale, yscale : str
        "linear", "log", or "symlog", which is linear below the smallest positive x.
    ylim : tuple, optional
        The lower and the upper end; None of either for matplotlib's choice.
    levels : mapping
        Horizontal lines: a number, or a number and its look.
    xticks : (places, texts), optional
    verticals : sequence of float
        Where thin vertical lines divide the panel.
    bars, each : bool
        As in ``draw_seeds``.
    whole : bool
        Whether x counts something and has ticks at whole numbers alone.
    corner : str
        A word in the corner.
    """

    curves: dict[str, Curve]
    xlabel: str
    ylabel: str
    xscale: str = "linear"
    yscale: str = "linear"
    ylim: tuple[float | None, float | None] | None = None
    levels: Mapping[str, float | tuple[float, Look]] = field(default_factory=dict)
    xticks: tuple[Sequence[float], Sequence[str]] | None = None
    verticals: Sequence[float] = ()
    bars: bool = False
    each: bool = False
    whole: bool = False
    corner: str = ""

    def draw(self, ax: Axes) -> None:
        """Draw the lines, then the levels."""
        for name, curve in self.curves.items():
            self.lines_[name] = draw_seeds(
                ax,
                curve.x,
                curve.seeds,
                curve.look,
                label=name,
                within=curve.within,
                bars=self.bars,
                each=self.each,
            )
            if curve.interval is not None:
                ends = {"color": curve.look.colour, "alpha": 0.2, "linewidth": 0}
                ax.fill_between(np.asarray(curve.x), *curve.interval, **ends)
                explain(ax, "shades", OVER_SEEDS)
            if curve.spread is not None:
                thin = {"fmt": "none", "ecolor": curve.look.colour, "elinewidth": 0.5, "capsize": 0}
                ax.errorbar(np.asarray(curve.x), curve.mean, curve.spread, **thin)
                meaning = "standard deviation over the probe's sequences, mean over seeds"
                explain(ax, "thin vertical lines", meaning)
        for name, level in self.levels.items():
            value, look = level if isinstance(level, tuple) else (level, LEVEL)
            style = {"color": look.colour, "linestyle": look.line, "linewidth": look.width or 1}
            self.lines_[name] = ax.axhline(value, **style, label=name)
        for x in self.verticals:
            ax.axvline(x, color="0.7", linewidth=0.8)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        self._set_axes(ax)
        ax.text(0.98, 0.95, self.corner, transform=ax.transAxes, ha="right", va="top")

    def _set_axes(self, ax: Axes) -> None:
        if self.xscale == "symlog":
            x = np.concatenate([np.ravel(c.x) for c in self.curves.values()])
            least, most = float(x[x > 0].min()), float(x.max())
            ax.set_xscale("symlog", linthresh=least, linscale=0.4)
            decades = 10.0 ** np.arange(np.ceil(np.log10(least)), np.floor(np.log10(most)) + 1)
            ax.set_xticks([0.0, *decades], [f"{tick:g}" for tick in (0, *decades)])
            ax.set_xlim(0, most)
        else:
            ax.set_xscale(self.xscale)
            if self.xscale == "log":
                ax.xaxis.set_minor_formatter(NullFormatter())  # Within one decade its labels would overlap.
        ax.set_yscale(self.yscale)
        if self.ylim is not None:
            ax.set_ylim(*self.ylim)
        if self.whole and self.xscale == "linear":
            ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True))
        if self.xticks is not None:
            ax.set_xticks(*self.xticks)
