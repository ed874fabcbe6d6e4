"""Points in the plane, by groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from theory.arrays import FloatArray
from validate.figures.panels.panel import BasePanel


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
        The names that stand at some of them.
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
    title : str
    groups : dict of Group
        By the name in the legend; one that begins with "_" stays out of it.
    xlabel, ylabel : str
    limits : (float, float), optional
        The ends of both axes, which then are alike, with a line where both are equal.
    """

    groups: dict[str, Group]
    xlabel: str
    ylabel: str
    limits: tuple[float, float] | None = None

    def draw(self, ax: Axes) -> None:
        """Draw the groups in their order."""
        for name, group in self.groups.items():
            x, y = group.xy.T
            if group.joined:
                ax.plot(x, y, color="0.8", linewidth=0.5, zorder=1)
            self.lines_[name] = ax.scatter(
                x, y, c=group.colour, marker=group.marker, s=group.size**2, label=name, linewidths=0
            )
            for place, text in group.names.items():
                offset = (3, 3) if place < len(x) - 1 else (3, -8)
                outline = [withStroke(linewidth=1.5, foreground="white")]  # Readable over points.
                ax.annotate(
                    text, group.xy[place], offset, textcoords="offset points", path_effects=outline, zorder=4
                )
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.limits is not None:
            ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
            ax.set(xlim=self.limits, ylim=self.limits, aspect="equal")
        else:
            ax.margins(0.15)  # The names of outermost points stay within the frame.
