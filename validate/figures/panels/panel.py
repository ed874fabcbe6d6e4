"""The base of every panel: arrays that draw themselves on given axes, or on new ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from matplotlib.axes import Axes

from validate.figures.style import new_axes, styled


@dataclass
class BasePanel:
    """An object that holds arrays and draws itself; a subclass implements ``draw``.

    Attributes
    ----------
    title : str
    numbers : str
        Its main numbers as a line of text, or nothing.
    square : bool
        Whether it is as high as it is wide.
    ax_ : Axes or None
        The axes that it is drawn on; None before.
    lines_ : dict
        The artists that it drew, by name.
    image_ : AxesImage or None
        The image that a colour bar explains.
    """

    title: str
    numbers: str = field(default="", repr=False, kw_only=True)
    ax_: Axes | None = field(default=None, repr=False, kw_only=True)
    lines_: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    image_: Any = field(default=None, repr=False, kw_only=True)
    square: ClassVar[bool] = False

    @styled
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes, and return itself."""
        self.ax_ = ax or new_axes()[1][0]
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
        """Say that there is nothing."""
        ax.set_axis_off()
        ax.annotate("no finished run", (0.5, 0.5), xycoords="axes fraction", ha="center")
