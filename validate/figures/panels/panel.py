"""What every panel is: arrays that draw themselves on given axes, or on new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

from matplotlib.axes import Axes

from validate.figures.style import new_axes


@dataclass
class BasePanel(ABC):
    """An object that holds arrays and draws itself.

    Attributes
    ----------
    ax_ : Axes or None
        What it is drawn on; None before.
    lines_ : dict
        What it drew, by name.
    image_ : AxesImage or None
        What a colour bar is about.
    """

    ax_: Axes | None = field(default=None, repr=False, kw_only=True)
    lines_: dict[Any, Any] = field(default_factory=dict, repr=False, kw_only=True)
    image_: Any = field(default=None, repr=False, kw_only=True)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes, and return itself."""
        self.ax_ = ax or new_axes()[1][0]
        self.draw(self.ax_)
        return self

    @abstractmethod
    def draw(self, ax: Axes) -> None:
        """Draw on some axes."""
