"""A mapping of a task: its anchors, its rule and what of it is held out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from theory.checked import as_integer, checked
from theory.errors import InputError
from theory.task.domain import Combination
from theory.task.rule import Rule
from theory.task.rules import as_rule

RESERVED = ("mem", "rsn_train", "rsn_test", "training", "all anchors")
"""Names of data sets and of groups of tokens, which a mapping may not take."""
_MAX_NAME = 64


@dataclass(frozen=True, init=False)
class Mapping:
    """One mapping of a task: which anchors call it, by which rule, and what is held out.

    Parameters
    ----------
    anchors : iterable of int
        The mapping's own anchors; every anchor combination is a tuple of ``n_anchors`` of them.
    rule : Sum, Shift, Lookup, Window, Expression, Tabulated or callable
        How a label follows from key and anchors; a function (key, anchors) → label is a rule too.
    name : str, optional
        What tables and figures call it; the rule's kind by default.
    held_out : iterable of tuple of int, optional
        Anchor combinations (the paper's set M) kept for the test set; deterministic rules only.

    Raises
    ------
    InputError
        If the anchors are not distinct integers, the rule is not a rule or does not fit the anchors, or the
        name is reserved or cannot be the name of a file.
    """

    anchors: tuple[int, ...]
    rule: Rule
    name: str
    held_out: frozenset[Combination]

    @checked
    def __init__(
        self,
        anchors: Iterable[int],
        rule: Rule | Callable[..., Any],
        name: str = "",
        held_out: Iterable[Iterable[int]] = (),
    ) -> None:
        found = as_rule(rule)
        object.__setattr__(self, "anchors", distinct_integers("anchors", anchors))
        object.__setattr__(self, "rule", found)
        object.__setattr__(self, "name", _checked_name(name) or found.kind)
        object.__setattr__(
            self, "held_out", frozenset(tuple(as_integer("held_out", a) for a in c) for c in held_out)
        )
        found.check(self.anchors)

    def with_rule(self, rule: Rule) -> Mapping:
        """Return the mapping with another rule."""
        return Mapping(self.anchors, rule, self.name, self.held_out)

    @property
    def is_table(self) -> bool:
        """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
        return self.rule.is_table


def distinct_integers(argument: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return the values sorted, or refuse an empty list, a repeated value or a non-integer."""
    listed = sorted(as_integer(argument, v) for v in values)
    if not listed:
        raise InputError(argument, listed, "empty", "give at least one token")
    twice = next((v for v, following in itertools.pairwise(listed) if v == following), None)
    if twice is not None:
        raise InputError(argument, twice, "named twice", "name every token once")
    return tuple(listed)


def _checked_name(name: str) -> str:
    """Return a mapping's name: it becomes part of file names and a key beside those of data sets."""
    if name in RESERVED:
        raise InputError("name", name, "the name of a data set", f"avoid {', '.join(RESERVED)}")
    if len(name) > _MAX_NAME:
        problem = f"{len(name)} characters, and the limit is {_MAX_NAME}"
        raise InputError("name", name[:20] + "...", problem, "give a shorter name")
    if name and not (name.strip(" .") == name and not set(name) & set("/\\")):
        remedy = "leave out slashes, and dots or spaces at either end"
        raise InputError("name", name, "cannot be part of a file's name", remedy)
    return name
