"""Lines over one axis, each for one seed or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter

from theory.edge.arrays import FloatArray
from validate.figures.panel import EACH_SEED, FEW, OVER_SEEDS, OVER_SEQUENCES, BasePanel, seeds_text
from validate.figures.style import LEVEL, Look
from validate.judge.stats import ANY, band


@dataclass(frozen=True)
class Curve:
    """A line of a panel.

    Attributes
    ----------
    x : array_like, shape (n,)
    seeds : ndarray, shape (n_seeds, n)
        One row per seed, NaN where undefined; a single row for a prediction that is the same for all.
    within : tuple of float
        The values that the measure can take; the interval is cut to them.
    spread : ndarray, shape (n,), optional
        A standard deviation over sequences.
    interval : ndarray, shape (2, n), optional
        Both ends of an interval around ``seeds``, used if that is a single row.
    """

    x: npt.ArrayLike
    seeds: FloatArray
    look: Look
    within: tuple[float, float] = ANY
    spread: FloatArray | None = None
    interval: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """The mean over the seeds that have a value, shape (n,)."""
        return np.asarray(band(self.seeds)[0])


@dataclass
class Curves(BasePanel):
    """Lines with intervals over seeds, or with a thin line for each seed where a point has few.

    Attributes
    ----------
    curves : dict of Curve
        By the name in the legend; one that begins with "_" stays out of it.
    xscale, yscale : str
        "linear", "log", or "symlog", which is linear below the smallest positive x.
    ylim : tuple, optional
        The lower and the upper end; None leaves either to matplotlib.
    levels : mapping
        Horizontal lines: a number, or a number and its look.
    xticks : (places, texts), optional
    divide : float, optional
        Where a thin vertical line divides the panel.
    span : (float, float), optional
        A grey range of x.
    inset : bool
        Whether the means are drawn again in the corner, on linear axes.
    bars : bool
        Whether intervals are capped bars and few seeds dots, in place of shades and thin lines.
    singly : bool
        Whether each seed is shown, however many there are.
    whole : bool
        Whether x is a count, with ticks at whole numbers only.
    corner : str
        A text in the corner.
    interval : str
        The meaning of intervals.
    """

    curves: dict[str, Curve]
    xlabel: str
    ylabel: str
    xscale: str = "linear"
    yscale: str = "linear"
    ylim: tuple[float | None, float | None] | None = None
    levels: Mapping[str, float | tuple[float, Look]] = field(default_factory=dict)
    xticks: tuple[Sequence[float], Sequence[str]] | None = None
    divide: float | None = None
    span: tuple[float, float] | None = None
    inset: bool = False
    bars: bool = False
    singly: bool = False
    whole: bool = False
    corner: str = ""
    interval: str = OVER_SEEDS

    def draw(self, ax: Axes) -> None:
        for name, curve in self.curves.items():
            self._draw_curve(ax, name, curve)
        for name, level in self.levels.items():
            value, look = level if isinstance(level, tuple) else (level, LEVEL)
            style = {"color": look.colour, "linestyle": look.line, "linewidth": look.width or 1}
            self.lines_[name] = ax.axhline(value, **style, label=name)
        if self.divide is not None:
            ax.axvline(self.divide, color="0.7", linewidth=0.8)
        if self.span is not None:
            ax.axvspan(*self.span, color="0.93", zorder=0)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, yscale=self.yscale)
        ax.text(0.98, 0.95, self.corner, transform=ax.transAxes, ha="right", va="top")
        if self.ylim is not None:
            ax.set_ylim(*self.ylim)
            # An open end leaves a twentieth of the whole axis, of which the data may fill a small part.
            low, high = (ax.dataLim.intervaly[i] if end is None else end for i, end in enumerate(self.ylim))
            if 0 < (margin := 0.05 * (high - low)) < math.inf:
                open_low, open_high = (end is None for end in self.ylim)
                ax.set_ylim(low - margin * open_low, high + margin * open_high)
        # A run that has only begun has x = 0 alone, which a logarithmic axis cannot show.
        if self.xscale == "symlog" and any(np.any(c.x) for c in self.curves.values()):
            every = np.concatenate([np.ravel(c.x) for c in self.curves.values()])
            least, most = float(every[every > 0].min()), float(every.max())
            ax.set_xscale("symlog", linthresh=least, linscale=0.4)
            decades = 10.0 ** np.arange(np.ceil(np.log10(least)), np.floor(np.log10(most)) + 1)
            ticks = [0.0, *(decades if decades.size else [most])]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.set_xlim(0, most)
        elif self.xscale == "log":
            ax.set_xscale("log")
            ax.xaxis.set_minor_formatter(NullFormatter())  # Within one decade minor labels would overlap.
        elif self.whole:
            ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        if self.xticks is not None:
            words = not all(text.isdigit() for text in self.xticks[1])
            ax.set_xticks(*self.xticks, rotation=90 if words else 0)

        if self.inset:
            corner = ax.inset_axes((0.56, 0.55, 0.42, 0.42))
            for curve in self.curves.values():
                corner.plot(
                    curve.x, curve.mean, color=curve.look.colour, linestyle=curve.look.line, linewidth=0.8
                )
            corner.set_ylim(0, None)
            corner.tick_params(labelsize="xx-small", length=2, pad=1)

    def _draw_curve(self, ax: Axes, name: str, curve: Curve) -> None:
        x, look, known = np.asarray(curve.x), curve.look, np.isfinite(curve.seeds).sum(axis=0)
        few = (known > 0) & ((known < FEW) | self.singly)
        mean, *ends = band(curve.seeds, curve.within)
        style = {"color": look.colour, "marker": look.marker or None, "linestyle": look.line}
        style |= {"markerfacecolor": "white" if look.hollow else look.colour, "linewidth": look.width}
        (self.lines_[name],) = ax.plot(x, mean, **style, label=name)
        thin: dict[str, Any] = {"fmt": "none", "ecolor": look.colour}
        if len(curve.seeds) == 1:
            ends = [] if curve.interval is None else list(curve.interval)
        elif few.any():
            seed: dict[str, Any] = {"linestyle": "none", "marker": "."} if self.bars else {"linewidth": 0.4}
            ax.plot(x, curve.seeds.T, color=look.colour, alpha=0.6, zorder=1.5, markersize=2, **seed)
            self.marks_.add(("dots" if self.bars else "thin curves", EACH_SEED))
            ends = [np.where(few, np.nan, end) for end in ends]
        if not np.isfinite(ends).any():
            ends = []
        if ends and self.bars:
            ax.errorbar(x, mean, [mean - ends[0], ends[1] - mean], **thin, elinewidth=1)
            self.marks_.add(("capped bars", self.interval))
        elif ends:
            ax.fill_between(x, *ends, color=look.colour, alpha=0.2, linewidth=0)
            self.marks_.add(("shades", self.interval))
        if curve.spread is not None:
            ax.errorbar(x, curve.mean, curve.spread, **thin, elinewidth=0.5, capsize=0)
            self.marks_.add(("thin vertical lines", OVER_SEQUENCES))


def numbers_at(curves: Mapping[str, Curve], x: str) -> str:
    """Return the values of some curves in words: "ΔL at γ = 0.3: 0.1 [0.0, 0.2]; ..."."""
    return "; ".join(
        f"{name} at {x} {at:g}: {seeds_text(seeds, curve.within)}"
        for name, curve in curves.items()
        for at, seeds in zip(np.asarray(curve.x), curve.seeds.T, strict=True)
    )
