"""A mapping of a task: its anchors, its rule and its held-out combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from theory.edge.checked import checked
from theory.edge.errors import InputError
from theory.task.domain import Combination, Domain
from theory.task.rule import Rule
from theory.task.rules.function import as_rule

RESERVED = ("mem", "rsn_train", "rsn_test", "training", "all anchors")
"""Names of data sets and of groups of tokens, which a mapping may not take."""
_MAX_NAME = 64


@dataclass(frozen=True, init=False)
class Mapping:
    """One mapping of a task: its anchors, its rule and its held-out combinations.

    Parameters
    ----------
    anchors : iterable of int
        The mapping's own anchors; every anchor combination is a tuple of ``n_anchors`` of them.
    rule : Sum, Shift, Lookup, Window, Expression, Tabulated or callable
        How a label follows from key and anchors; a function (key, anchors) → label is a rule too.
    name : str, optional
        Its name in tables and figures; the rule's kind by default.
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
        known = as_rule(rule)
        object.__setattr__(self, "anchors", distinct_integers("anchors", anchors))
        object.__setattr__(self, "rule", known)
        object.__setattr__(self, "name", _checked_name(name) or known.kind)
        object.__setattr__(self, "held_out", frozenset(map(tuple, held_out)))
        known.check(self.anchors)

    @property
    def is_table(self) -> bool:
        """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
        return self.rule.is_table

    def settled(self, domain: Domain) -> Mapping:
        """Return the mapping as a task keeps it; refuse labels and held-out combinations that do not fit."""
        _check_held_out(self, domain)
        settled = self.rule.settled(domain)
        labels = settled.label_range(domain)
        domain.check_labels(labels[0], labels[-1])
        return Mapping(self.anchors, settled, self.name, self.held_out)


def distinct_integers(argument: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return the values sorted, or refuse an empty list or a repeated value."""
    listed = sorted(values)
    if not listed:
        raise InputError(argument, listed, "empty", "give at least one token")
    twice = next((v for v, following in itertools.pairwise(listed) if v == following), None)
    if twice is not None:
        raise InputError(argument, twice, "named twice", "name every token once")
    return tuple(listed)


def _checked_name(name: str) -> str:
    """Return a mapping's name, or refuse one that is a data set's or cannot be part of a file's name."""
    if name in RESERVED:
        raise InputError("name", name, "the name of a data set", f"avoid {', '.join(RESERVED)}")
    if len(name) > _MAX_NAME:
        problem = f"{len(name)} characters, and the limit is {_MAX_NAME}"
        raise InputError("name", name[:20] + "...", problem, "give a shorter name")
    if name != name.strip(" .") or set(name) & set("/\\"):
        remedy = "leave out slashes, and dots or spaces at either end"
        raise InputError("name", name, "cannot be part of a file's name", remedy)
    return name


def _check_held_out(mapping: Mapping, domain: Domain) -> None:
    """Refuse held-out combinations that the mapping does not have, or that leave nothing to train on."""
    for combination in sorted(mapping.held_out):
        if mapping.is_table:
            problem = f"held out of {mapping.name!r}, a random table, which no model can generalise"
            remedy = "hold out combinations of a mapping whose labels follow from key and anchors"
            raise InputError("held_out", combination, problem, remedy)
        if len(combination) != domain.n_anchors:
            problem = f"{len(combination)} anchors where n_anchors = {domain.n_anchors}"
            raise InputError("held_out", combination, problem, f"give tuples of {domain.n_anchors}")
        for token in combination:
            if token not in mapping.anchors:
                problem = f"{token} is not an anchor of {mapping.name!r}"
                raise InputError("held_out", combination, problem, f"use its anchors {list(mapping.anchors)}")
    if len(mapping.held_out) == domain.n_combinations:
        problem = f"every combination of {mapping.name!r} is held out"
        raise InputError("held_out", len(mapping.held_out), problem, "leave at least one for training")
