"""Thresholds: what an endpoint asks of a mean over seeds."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal

Relation = Literal[">=", "<=", ">", "<", "within"]
_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Threshold:
    """When an endpoint holds. An effect within ``margin`` of the threshold is too small to matter."""

    relation: Relation
    value: float
    margin: float | None = None

    def __str__(self) -> str:
        if self.relation == "within":
            return f"within {self.margin or 0:g} of {self.value:g}"
        return f"{self.relation} {self.value:g}"

    def met(self, value: float) -> bool:
        """Return whether a value meets it; an undefined one does not."""
        if self.relation == "within":
            return abs(value - self.value) <= (self.margin or 0.0)
        return bool(_HOLDS[self.relation](value, self.value))


def above(value: float, margin: float | None = None) -> Threshold:
    """Ask for an effect above a value; one within ``margin`` of it is no relevant effect."""
    return Threshold(">", value, margin)


def below(value: float, margin: float | None = None) -> Threshold:
    """Ask for an effect below a value; one within ``margin`` of it is no relevant effect."""
    return Threshold("<", value, margin)


def at_least(value: float, margin: float | None = None) -> Threshold:
    """Ask for a size; a mean within ``margin`` of it is at the threshold."""
    return Threshold(">=", value, margin)


def at_most(value: float, margin: float | None = None) -> Threshold:
    """Ask for a size not exceeded; a mean within ``margin`` of it is at the threshold."""
    return Threshold("<=", value, margin)


def within(margin: float, of: float = 0.0) -> Threshold:
    """Ask for equivalence: a mean at most ``margin`` from a value, by two one-sided tests."""
    return Threshold("within", of, margin)
