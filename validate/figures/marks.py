"""What bars, bands and brackets mean: noted where they are drawn, read back for the footnote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

OVER_SEEDS = "95 % interval over seeds (Student t)"
OVER_SEQUENCES = "standard deviation over the probe's sequences, mean over seeds"
EACH_SEED = "one seed each"
_BRACKETS = re.compile(r"\d\s\[-?\d[\d.e+-]*, -?\d[\d.e+-]*\]")
"""How an estimate is written: its mean, then the interval. A list of settings follows no number."""


@dataclass(frozen=True)
class Mark:
    """A kind of mark ("shades") and what it means."""

    kind: str
    meaning: str


_MARKS: WeakKeyDictionary[Artist, Mark] = WeakKeyDictionary()


def explain(artist: Artist, kind: str, meaning: str) -> None:
    """Note what an artist on a figure means."""
    _MARKS[artist] = Mark(kind, meaning)


def marks_of(figure: Figure | SubFigure) -> list[Mark]:
    """Return each kind of mark that a figure shows, once, in a fixed order."""
    artists = list(_artists(figure))
    found = {_MARKS[artist] for artist in artists if artist in _MARKS}
    if any(_BRACKETS.search(artist.get_text()) for artist in artists if isinstance(artist, Text)):
        found.add(Mark("brackets", OVER_SEEDS))
    return sorted(found, key=lambda mark: (mark.meaning, mark.kind))


def _artists(artist: Artist) -> Iterator[Artist]:
    """Yield an artist and all that it holds, but not the ticks: an axis makes thousands to be asked."""
    yield artist
    for child in [artist.label] if isinstance(artist, Axis) else artist.get_children():
        yield from _artists(child)


def legend_of(marks: Iterable[Mark]) -> str:
    """Return what marks mean as text: "Brackets and shades: 95 % interval over seeds"."""
    kinds: dict[str, list[str]] = {}
    for mark in marks:
        kinds.setdefault(mark.meaning, []).append(mark.kind)
    text = "; ".join(f"{_listed(own)}: {meaning}" for meaning, own in kinds.items())
    return text[:1].upper() + text[1:]


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
