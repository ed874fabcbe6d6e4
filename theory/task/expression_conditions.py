"""The parts of a label expression that are true or false: comparisons, and, or, not."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory.task.expression_nodes import Bounds, Condition, Mask, Number, Rows

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Comparison:
    """``a < b``, or a chain such as ``0 < a <= b``."""

    operators: tuple[str, ...]
    operands: tuple[Number, ...]

    def visit(self, env: Bounds) -> None:  # noqa: D102
        for operand in self.operands:
            env.of(operand)

    def holds(self, rows: Rows) -> Mask:  # noqa: D102
        true = np.ones(len(rows), np.bool_)
        left = self.operands[0].values(rows)
        for name, operand in zip(self.operators, self.operands[1:], strict=True):
            # As in Python, an operand is not evaluated once the chain is false.
            right = left.copy()
            right[true] = operand.values(rows.where(true))
            true = true & _COMPARISONS[name](left, right).astype(np.bool_)
            left = right
        return true


@dataclass(frozen=True)
class Connective:
    """``and``, ``or`` or ``not``; a later part is evaluated only where it decides."""

    connective: str
    parts: tuple[Condition, ...]

    def visit(self, env: Bounds) -> None:  # noqa: D102
        for part in self.parts:
            part.visit(env)

    def holds(self, rows: Rows) -> Mask:  # noqa: D102
        if self.connective == "not":
            return ~self.parts[0].holds(rows)
        open_value = self.connective == "and"
        out = np.full(len(rows), open_value)
        for part in self.parts:
            undecided = out == open_value
            out[undecided] = part.holds(rows.where(undecided))
        return out
