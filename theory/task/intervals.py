"""Integer intervals: bounds of every operation of a label expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MAX_BITS = 4096
"""The longest integer that a part of an expression may reach."""
LONGEST = 2**MAX_BITS
INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Interval:
    """All integers from low to high."""

    low: int
    high: int

    def __or__(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(corners), max(corners))


def _signed_parts(divisor: Interval) -> list[Interval]:
    """Return the negative and the positive part of a divisor; 0 is refused when it occurs."""
    parts = []
    if divisor.low < 0:
        parts.append(Interval(divisor.low, min(divisor.high, -1)))
    if divisor.high > 0:
        parts.append(Interval(max(divisor.low, 1), divisor.high))
    return parts


def _quotient(a: Interval, b: Interval) -> Interval:
    ends = [y for part in _signed_parts(b) for y in (part.low, part.high)]
    corners = [x // y for x in (a.low, a.high) for y in ends] or [0]
    return Interval(min(corners), max(corners))


def _remainder(a: Interval, b: Interval) -> Interval:
    found = []
    for part in _signed_parts(b):
        if part.low > 0:
            found.append(Interval(0, min(a.high, part.high - 1) if a.low >= 0 else part.high - 1))
        else:
            found.append(Interval(part.low + 1, 0))
    return Interval(min(i.low for i in found), max(i.high for i in found)) if found else Interval(0, 0)


def _power(a: Interval, b: Interval) -> Interval:
    first, last = max(b.low, 0), max(b.high, 0)
    base = max(abs(a.low), abs(a.high))
    if base <= 1:
        return Interval(min(a.low, 0), 1)
    too_long = (base.bit_length() - 1) * last > MAX_BITS
    top = LONGEST if too_long else base**last
    if a.low < 0:
        return Interval(-top, top)
    smallest_too_long = a.low > 1 and (a.low.bit_length() - 1) * first > MAX_BITS
    return Interval(LONGEST if smallest_too_long else a.low**first if a.low else 0, top)


INTERVALS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": lambda a, b: Interval(a.low + b.low, a.high + b.high),
    "-": lambda a, b: Interval(a.low - b.high, a.high - b.low),
    "*": _product,
    "//": _quotient,
    "%": _remainder,
    "**": _power,
}
