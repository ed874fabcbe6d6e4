"""Lines over one axis, each of one seed or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter

from theory.arrays import FloatArray
from validate.figures.panels.panel import EACH_SEED, FEW, OVER_SEEDS, OVER_SEQUENCES, BasePanel, explain
from validate.figures.style import LEVEL, Look
from validate.judge.stats import ANY, band


@dataclass(frozen=True)
class Curve:
    """A line of a panel.

    Attributes
    ----------
    x : array_like, shape (n,)
    seeds : ndarray, shape (n_seeds, n)
        One row a seed, NaN where undefined; a single row for a prediction that is the same for all.
    look : Look
    within : tuple of float
        The values that the measure can take; the interval is cut to them.
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

    def draw(self, ax: Axes, label: str, *, bars: bool = False, each: bool = False) -> Line2D:
        """Draw the mean over seeds, and how far they are apart; return the line of the mean.

        ``bars`` shows the interval as capped bars, and each of few seeds as dots; ``each`` shows each seed
        however many there are.
        """
        x, look = np.asarray(self.x), self.look
        mean, *ends = band(self.seeds, self.within)
        face = "white" if look.hollow else look.colour
        style = {"color": look.colour, "marker": look.marker or None, "linestyle": look.line}
        (line,) = ax.plot(x, mean, **style, markerfacecolor=face, linewidth=look.width, label=label)
        thin: dict[str, Any] = {"fmt": "none", "ecolor": look.colour}
        if len(self.seeds) == 1:
            ends = [] if self.interval is None else list(self.interval)
        elif len(self.seeds) < FEW or each:
            seed: dict[str, Any] = {"linestyle": "none", "marker": "."} if bars else {"linewidth": 0.4}
            ax.plot(x, self.seeds.T, color=look.colour, alpha=0.6, zorder=1.5, markersize=2, **seed)
            explain(ax, "dots" if bars else "thin curves", EACH_SEED)
            ends = []
        if ends and bars:
            ax.errorbar(x, mean, [mean - ends[0], ends[1] - mean], **thin, elinewidth=1)
            explain(ax, "capped bars", OVER_SEEDS)
        elif ends:
            ax.fill_between(x, *ends, color=look.colour, alpha=0.2, linewidth=0)
            explain(ax, "shades", OVER_SEEDS)
        if self.spread is not None:
            ax.errorbar(x, self.mean, self.spread, **thin, elinewidth=0.5, capsize=0)
            explain(ax, "thin vertical lines", OVER_SEQUENCES)
        return line


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
        As in ``Curve.draw``.
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
            self.lines_[name] = curve.draw(ax, name, bars=self.bars, each=self.each)
        for name, level in self.levels.items():
            value, look = level if isinstance(level, tuple) else (level, LEVEL)
            style = {"color": look.colour, "linestyle": look.line, "linewidth": look.width or 1}
            self.lines_[name] = ax.axhline(value, **style, label=name)
        for x in self.verticals:
            ax.axvline(x, color="0.7", linewidth=0.8)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, yscale=self.yscale)
        ax.text(0.98, 0.95, self.corner, transform=ax.transAxes, ha="right", va="top")
        if self.ylim is not None:
            ax.set_ylim(*self.ylim)
        if self.xscale == "symlog":
            every = np.concatenate([np.ravel(c.x) for c in self.curves.values()])
            least, most = float(every[every > 0].min()), float(every.max())
            ax.set_xscale("symlog", linthresh=least, linscale=0.4)
            decades = 10.0 ** np.arange(np.ceil(np.log10(least)), np.floor(np.log10(most)) + 1)
            ax.set_xticks([0.0, *decades], [f"{tick:g}" for tick in (0, *decades)])
            ax.set_xlim(0, most)
        elif self.xscale == "log":
            ax.set_xscale("log")
            ax.xaxis.set_minor_formatter(NullFormatter())  # Within one decade its labels would overlap.
        elif self.whole:
            ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        if self.xticks is not None:
            ax.set_xticks(*self.xticks)
