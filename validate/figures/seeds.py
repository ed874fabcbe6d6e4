"""A mean over seeds in words, and the meaning of the marks that show how far seeds are apart."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from validate.judge.stats import ANY, number, over_seeds

FEW = 3
"""With fewer seeds Student's interval says next to nothing: each seed is shown in its place."""
OVER_SEEDS, EACH_SEED = "95 % interval over seeds (Student t)", "one seed each"
OVER_SEQUENCES = "standard deviation over the probe's sequences, mean over seeds"
_MEANINGS: WeakKeyDictionary[Axes, set[tuple[str, str]]] = WeakKeyDictionary()


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
