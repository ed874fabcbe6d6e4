"""How seeds are shown: each as a thin line where they are few, else the interval of their mean."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from validate.figures.style import Look
from validate.judge.stats import ANY, band, number, over_seeds

FEW = 3
"""With fewer seeds Student's interval says next to nothing: each seed is shown in its place."""
OVER_SEEDS = "95 % interval over seeds (Student t)"
_MEANINGS: WeakKeyDictionary[Axes, set[tuple[str, str]]] = WeakKeyDictionary()


def draw_seeds(
    ax: Axes,
    x: npt.ArrayLike,
    seeds: npt.ArrayLike,
    look: Look,
    *,
    label: str | None = None,
    within: tuple[float, float] = ANY,
    bars: bool = False,
    each: bool = False,
) -> Line2D:
    """Draw the mean over seeds, and how far they are apart; return the line of the mean.

    Parameters
    ----------
    x : array_like, shape (n,)
    seeds : array_like, shape (n_seeds, n)
        NaN where a value is undefined.
    within : tuple of float, optional
        The values that the measure can take; the interval is cut to them.
    bars : bool, optional
        Show the interval as capped bars, and each of few seeds as dots.
    each : bool, optional
        Show each seed however many there are.
    """
    places, values = np.asarray(x), np.asarray(seeds, np.float64)
    mean, low, high = band(values, within)
    face = "white" if look.hollow else look.colour
    style = {"color": look.colour, "marker": look.marker or None, "linestyle": look.line}
    (line,) = ax.plot(places, mean, **style, markerfacecolor=face, linewidth=look.width, label=label)
    if len(values) == 1:
        return line
    if len(values) < FEW or each:
        thin: dict[str, Any] = {"linestyle": "none", "marker": "."} if bars else {"linewidth": 0.4}
        ax.plot(places, values.T, color=look.colour, alpha=0.6, zorder=1.5, markersize=2, **thin)
        explain(ax, "dots" if bars else "thin curves", "one seed each")
    elif bars:
        ax.errorbar(places, mean, [mean - low, high - mean], fmt="none", ecolor=look.colour, elinewidth=1)
        explain(ax, "capped bars", OVER_SEEDS)
    else:
        ax.fill_between(places, low, high, color=look.colour, alpha=0.2, linewidth=0)
        explain(ax, "shades", OVER_SEEDS)
    return line


def seeds_text(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> str:
    """Return a mean over seeds with its interval, or with each of two: "0.3 [0.1, 0.5]", "0.3 (0.2, 0.4)"."""
    known = [float(x) for x in np.ravel(np.asarray(values, np.float64)) if np.isfinite(x)]
    if 1 < len(known) < FEW:
        return f"{number(float(np.mean(known)))} ({', '.join(map(number, known))})"
    return str(over_seeds(known, within))


def explain(ax: Axes, kind: str, meaning: str) -> None:
    """Note the meaning of a kind of mark on some axes, for the figure's footnote."""
    _MEANINGS.setdefault(ax, set()).add((kind, meaning))


def legend_text(figure: Figure) -> str:
    """Return the meaning of each kind of mark that a figure shows: "Shades: 95 % interval over seeds"."""
    kinds: dict[str, list[str]] = {}
    for kind, meaning in sorted(set().union(*(_MEANINGS.get(ax, set()) for ax in figure.axes))):
        kinds.setdefault(meaning, []).append(kind)
    text = "; ".join(f"{' and '.join(own)}: {meaning}" for meaning, own in sorted(kinds.items()))
    return text[:1].upper() + text[1:]
