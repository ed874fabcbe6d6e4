"""Values known only within bounds: a run may end before the event to be timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bound:
    """A value that lies somewhere between two ends: a time that a run did not reach, for instance.

    The ends are −∞ and ∞ where nothing is known from that side. ``step`` is how far apart neighbouring
    values of an end can be: seeds with the same end do not agree any closer.
    """

    low: float = -math.inf
    high: float = math.inf
    step: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        if math.isinf(self.high):
            return "unknown" if math.isinf(self.low) else f"≥ {self.low:z.3g}"
        return f"≤ {self.high:z.3g}" if math.isinf(self.low) else f"{self.low:z.3g} to {self.high:z.3g}"


Value = float | Bound
"""One seed's value; NaN where the measure is undefined."""


def ends(value: Value) -> tuple[float, float]:
    """Return the least and the greatest that a value can be."""
    return (value.low, value.high) if isinstance(value, Bound) else (float(value), float(value))


def between(low: float, high: float, step: float = 0.0) -> Value:
    """Return a number where both ends agree, and a bound where they do not."""
    return low if low == high or math.isnan(low) else Bound(low, high, step)


def step_of(values: Iterable[Value]) -> float:
    """Return the largest step of some values; numbers have none."""
    return max((value.step for value in values if isinstance(value, Bound)), default=0.0)


def minus(value: Value, other: Value) -> Value:
    """Return the difference of two values, between the least and the greatest that it can be."""
    (low, high), (low_other, high_other) = ends(value), ends(other)
    return between(low - high_other, high - low_other, step_of([value]) + step_of([other]))


def extreme(values: Iterable[Value], of: Callable[[Iterable[float]], float]) -> Value:
    """Return the least (``min``) or greatest (``max``) defined value; NaN without any."""
    defined = [value for value in values if not math.isnan(ends(value)[0])]
    if not defined:
        return math.nan
    lows, highs = zip(*map(ends, defined), strict=True)
    return between(of(lows), of(highs), step_of(defined))


def side(values: Sequence[Value], within: tuple[float, float]) -> str:
    """Return the sign before a mean with bounds: "≥", "≤", "≈" for bounds of both kinds, "" without any.

    An end that is the least or the greatest value that a measure can take says nothing.
    """
    bounds = [v for v in values if isinstance(v, Bound)]
    if not bounds:
        return ""
    if all(b.high >= within[1] for b in bounds):
        return "≥"
    return "≤" if all(b.low <= within[0] for b in bounds) else "≈"
