"""The base of every panel, points in the plane, and the wording of marks and means."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from theory.edge.arrays import FloatArray
from validate.figures.style import new_axes, styled
from validate.judge.stats import ANY, number, over_seeds

FEW = 3
"""With fewer seeds Student's interval says next to nothing: each seed is shown instead."""
OVER_SEEDS, EACH_SEED = "95 % interval over seeds (Student t)", "one seed each"
OVER_SEQUENCES = "standard deviation over the probe's sequences, mean over seeds"


@dataclass
class BasePanel:
    """An object that holds arrays and draws itself; a subclass implements ``draw``.

    Attributes
    ----------
    numbers : str
        Its main numbers as a line of text, or nothing.
    ax_, lines_, image_ : Axes, dict, AxesImage
        What was drawn: the axes, the artists by name, and the image that a colour bar explains.
    marks_ : set of (str, str)
        The kinds of marks that were drawn, each with its meaning.
    """

    title: str
    numbers: str = field(default="", repr=False, kw_only=True)
    ax_: Axes | None = field(default=None, repr=False, kw_only=True)
    lines_: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    image_: Any = field(default=None, repr=False, kw_only=True)
    marks_: set[tuple[str, str]] = field(default_factory=set, repr=False, kw_only=True)

    @styled
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes, and return itself."""
        self.ax_ = ax or new_axes()[1]
        self.ax_.set_title(self.title)
        self.draw(self.ax_)
        return self

    def draw(self, ax: Axes) -> None:
        """Draw on some axes, which have the title already."""
        raise NotImplementedError


@dataclass
class NoRuns(BasePanel):
    """An empty place in a grid of panels."""

    def draw(self, ax: Axes) -> None:
        ax.set_axis_off()
        ax.annotate("no finished run", (0.5, 0.5), xycoords="axes fraction", ha="center")


def marks_text(panels: Iterable[BasePanel]) -> str:
    """Return the meaning of the marks on some panels: "Shades: 95 % interval over seeds (Student t)"."""
    kinds: dict[str, list[str]] = {}
    for kind, meaning in sorted(set().union(*(panel.marks_ for panel in panels))):
        kinds.setdefault(meaning, []).append(kind)
    text = "; ".join(f"{' and '.join(own)}: {meaning}" for meaning, own in sorted(kinds.items()))
    return text[:1].upper() + text[1:]


def seeds_text(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> str:
    """Return a mean over seeds with its interval, or of two with both: "0.3 [0.1, 0.5]", "0.3 (0.2, 0.4)"."""
    array = np.asarray(values, np.float64)
    known = array[np.isfinite(array)].tolist()
    if 1 < len(known) < FEW:
        return f"{number(float(np.mean(known)))} ({', '.join(map(number, known))})"
    return str(over_seeds(known, within))


@dataclass(frozen=True)
class Group:
    """Points that look alike.

    Attributes
    ----------
    xy : ndarray, shape (n, 2)
    colour : colour, or one for each point
    marker : str
    size : float
        In points.
    joined : bool
        Whether a thin line joins them in their order.
    names : mapping of int to str
        The names shown at some of them, by index.
    """

    xy: FloatArray
    colour: Any
    marker: str = "o"
    size: float = 3.5
    joined: bool = False
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass
class Points(BasePanel):
    """Groups of points.

    Attributes
    ----------
    groups : dict of Group
        By the name in the legend; one that begins with "_" stays out of it.
    limits : (float, float), optional
        The ends of both axes, which then have equal scales, with a line where both are equal.
    """

    groups: dict[str, Group]
    xlabel: str
    ylabel: str
    limits: tuple[float, float] | None = None

    def draw(self, ax: Axes) -> None:
        for name, group in self.groups.items():
            x, y = group.xy.T
            if group.joined:
                ax.plot(x, y, color="0.8", linewidth=0.5, zorder=1)
            self.lines_[name] = ax.scatter(
                x, y, c=group.colour, marker=group.marker, s=group.size**2, label=name, linewidths=0
            )
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.limits is not None:
            ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
            ax.set(xlim=self.limits, ylim=self.limits, aspect="equal")
        else:
            ax.margins(0.15)  # The names of outermost points stay within the frame.
        ax.autoscale_view()
        near, point = [ax.transData.transform(group.xy) for group in self.groups.values()], ax.figure.dpi / 72
        low, high = ax.transAxes.transform([(0, 0), (1, 1)])
        for group in self.groups.values():
            for place, text in group.names.items():
                # A name is where most room is: between the points, the other names and the frame.
                half, at = point * np.array([3 * len(text), 5]), ax.transData.transform(group.xy[place])
                rooms = {}
                for side in itertools.product((1, -1), repeat=2):
                    middle = at + side * (half + 3 * point)
                    apart = np.hypot(*(np.vstack(near) - middle).T).min()
                    rooms[side] = min(apart, *(middle - half - low), *(high - middle - half)), middle
                x, y = max(rooms, key=lambda side: rooms[side][0])
                near.append(rooms[x, y][1][None])
                ax.annotate(
                    text,
                    group.xy[place],
                    (3 * x, 8 * y),
                    textcoords="offset points",
                    ha="left" if x > 0 else "right",
                    va="center",
                    path_effects=[withStroke(linewidth=1.5, foreground="white")],  # Readable over points.
                    zorder=4,
                )
