r"""The rules by which a mapping turns a key and its anchors into a label.

A rule is *deterministic* (``Sum``, ``Shift``: the label follows from key and anchors, so it can be
generalised) or a *table* (``Lookup``, ``Window``: one label drawn for each key and anchor combination
and fixed for ever after, so it has to be memorised).
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any, ClassVar

from theory.checked import as_integer as as_integer
from theory.errors import InputError, unknown_key


class _AnyAnchors:
    """What rules share that need no more than their name."""

    def check(self, anchors: tuple[int, ...]) -> None:
        """Refuse anchors that the rule cannot serve; here none."""
        return

    def parameters(self) -> dict[str, Any]:
        """Return what a TOML file has to say beyond the rule's name."""
        return {}


@dataclass(frozen=True)
class Sum(_AnyAnchors):
    r"""The label is :math:`z_p + \sum_j a_{p+j}`, the paper's reasoning mapping (Section 2.1)."""

    kind: ClassVar[str] = "sum"
    is_table: ClassVar[bool] = False

    def shift(self, anchor: int) -> int:
        """Return what ``anchor`` adds to the key."""
        return anchor


@dataclass(frozen=True, init=False)
class Shift:
    r"""The label is :math:`z_p + \sum_j g(a_{p+j})` for a shift table g.

    Parameters
    ----------
    table : mapping of int to int
        g: what each anchor adds to the key; ``Shift({a: a for a in anchors})`` equals ``Sum()`` in effect.
    """

    table: tuple[tuple[int, int], ...]
    kind: ClassVar[str] = "shift"
    is_table: ClassVar[bool] = False

    def __init__(self, table: MappingABC[int, int]) -> None:
        if not isinstance(table, MappingABC) or not table:
            raise InputError("table", table, "not a shift table", "give {anchor: shift, ...}")
        pairs = sorted((as_integer("table key", a), as_integer(f"table[{a}]", g)) for a, g in table.items())
        object.__setattr__(self, "table", tuple(pairs))

    def shift(self, anchor: int) -> int:
        """Return what ``anchor`` adds to the key."""
        return dict(self.table)[anchor]

    def check(self, anchors: tuple[int, ...]) -> None:
        """Refuse a table whose keys are not exactly the mapping's anchors."""
        if {a for a, _ in self.table} != set(anchors):
            raise InputError(
                "table",
                dict(self.table),
                f"its keys are not the mapping's anchors {list(anchors)}",
                "give one shift for every anchor and no other",
            )

    def parameters(self) -> dict[str, Any]:
        """Return what a TOML file has to say beyond the rule's name."""
        return {"table": {str(a): g for a, g in self.table}}


@dataclass(frozen=True)
class Lookup(_AnyAnchors):
    """A table whose labels are uniform on a range of their own: the paper's memory mapping.

    Parameters
    ----------
    low, high : int, optional
        The labels are drawn uniformly from {low, ..., high}, both included. Without them, from the
        task's keys (Section 2.1); with them, one of the memory groups of Fig. 8.
    """

    low: int | None = None
    high: int | None = None
    kind: ClassVar[str] = "lookup"
    is_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InputError(
                "low, high", (self.low, self.high), "only one end of the label range", "give both"
            )
        if self.low is None or self.high is None:
            return
        object.__setattr__(self, "low", as_integer("low", self.low))
        object.__setattr__(self, "high", as_integer("high", self.high))
        if self.low > self.high:
            raise InputError(
                "low, high", (self.low, self.high), "the label range is empty", "give low <= high"
            )

    def parameters(self) -> dict[str, Any]:
        """Return what a TOML file has to say beyond the rule's name."""
        return {} if self.low is None else {"low": self.low, "high": self.high}


@dataclass(frozen=True)
class Window(_AnyAnchors):
    r"""A table whose label is uniform on {z − T, ..., z + T}, T = Σa: the paper's F_mem,2 (Fig. 8)."""

    kind: ClassVar[str] = "window"
    is_table: ClassVar[bool] = True

    def shift(self, anchor: int) -> int:
        """Return what ``anchor`` adds to the half-width T of the window."""
        return anchor


Rule = Sum | Shift | Lookup | Window
RULES: dict[str, type[Sum] | type[Shift] | type[Lookup] | type[Window]] = {
    rule.kind: rule for rule in (Sum, Shift, Lookup, Window)
}
_RULE_KEYS = {"sum": (), "shift": ("table",), "lookup": ("low", "high"), "window": ()}


def make_rule(kind: object, parameters: dict[str, Any]) -> Rule:
    """Build a rule from its name and parameters, as a TOML file gives them."""
    if not isinstance(kind, str) or kind not in RULES:
        raise InputError("rule", kind, "unknown rule", f"choose one of {', '.join(sorted(RULES))}")
    for key in parameters:
        if key not in _RULE_KEYS[kind]:
            known = [*_RULE_KEYS[kind], "name", "anchors", "rule", "held_out"]
            raise unknown_key(f"key of a mapping with rule {kind!r}", key, known)
    if kind == "shift":
        return Shift(_integer_keys(parameters.get("table", {})))
    return RULES[kind](**parameters)


def _integer_keys(table: object) -> dict[int, int]:
    if not isinstance(table, dict):
        raise InputError("table", table, "not a shift table", "give {anchor = shift, ...}")
    try:
        return {int(a): g for a, g in table.items()}
    except ValueError:
        raise InputError("table", table, "a key is not an integer", "use anchors as keys") from None
