"""The base of every panel: arrays that draw themselves, and the words for a mean over seeds and its marks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from validate.figures.style import new_axes, styled
from validate.judge.stats import ANY, number, over_seeds

FEW = 3
"""With fewer seeds Student's interval says next to nothing: each seed is shown in its place."""
OVER_SEEDS, EACH_SEED = "95 % interval over seeds (Student t)", "one seed each"
OVER_SEQUENCES = "standard deviation over the probe's sequences, mean over seeds"


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


def marks_text(panels: Iterable[BasePanel]) -> str:
    """Return the meaning of the marks on some panels: "Shades: 95 % interval over seeds (Student t)"."""
    kinds: dict[str, list[str]] = {}
    for kind, meaning in sorted(set().union(*(panel.marks_ for panel in panels))):
        kinds.setdefault(meaning, []).append(kind)
    text = "; ".join(f"{' and '.join(own)}: {meaning}" for meaning, own in sorted(kinds.items()))
    return text[:1].upper() + text[1:]


def seeds_text(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> str:
    """Return a mean over seeds with its interval, or with each of two: "0.3 [0.1, 0.5]", "0.3 (0.2, 0.4)"."""
    known = [float(x) for x in np.ravel(np.asarray(values, np.float64)) if np.isfinite(x)]
    if 1 < len(known) < FEW:
        return f"{number(float(np.mean(known)))} ({', '.join(map(number, known))})"
    return str(over_seeds(known, within))
