"""A mapping of a task: its anchors, its rule and its held-out combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

from theory.edge.checked import checked
from theory.edge.errors import InputError
from theory.task.domain import Combination, Domain
from theory.task.held_out import HeldOut, plain_sets, positions_left, read_sets
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
    held_out : iterable of tuple of int, str or mapping, optional
        What is kept for the test set; deterministic rules only. Anchor combinations (the paper's set M), or
        pairs (key, a1, ..., aq); a condition such as "key > 40 and a1 < a2", which may also read ``position``
        (of the key, from 0); {"fraction": 0.3, "seed": 0, "of": "combinations"}, or "keys" or "pairs"; or
        several of these by name.

    Raises
    ------
    InputError
        If the anchors are not distinct integers, the rule is not a rule or does not fit the anchors, or the
        name is reserved or cannot be the name of a file.
    """

    anchors: tuple[int, ...]
    rule: Rule
    name: str
    sets: tuple[HeldOut, ...]
    """The held-out sets."""
    whole: frozenset[Combination]
    """The combinations of which nothing is trained on."""
    partial: bool
    """Whether other combinations are trained on in part: with some keys, or at some positions."""

    @checked
    def __init__(
        self,
        anchors: Iterable[int],
        rule: Rule | Callable[..., Any],
        name: str = "",
        held_out: Any = (),
    ) -> None:
        known = as_rule(rule)
        object.__setattr__(self, "anchors", distinct_integers("anchors", anchors))
        object.__setattr__(self, "rule", known)
        object.__setattr__(self, "name", checked_name(name) or known.kind)
        object.__setattr__(self, "sets", read_sets(held_out))
        for each in self.sets:
            checked_name(each.name)
        # Until a task settles it, every list is taken for one of combinations.
        object.__setattr__(self, "whole", frozenset(c for each in self.sets for c in each.listed))
        object.__setattr__(self, "partial", False)
        known.check(self.anchors)

    @property
    def is_table(self) -> bool:
        """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
        return self.rule.is_table

    @property
    def held_out(self) -> frozenset[Combination]:
        """The held-out combinations; an ``InputError`` if others are held out in part."""
        if self.partial:
            problem = f"{self.name!r} holds out single keys, pairs or positions"
            remedy = "this is known for whole anchor combinations only"
            raise InputError("held_out", plain_sets(self.sets), problem, remedy)
        return self.whole

    def settled(self, domain: Domain, n_positions: int) -> Mapping:
        """Return the mapping as a task keeps it; refuse labels and held-out sequences that do not fit."""
        rule = self.rule.settled(domain)
        labels = rule.label_range(domain)
        domain.check_labels(labels[0], labels[-1])
        whole, partial = _check_held_out(self, domain, n_positions)
        settled = copy(self)
        for name, value in {"rule": rule, "whole": whole, "partial": partial}.items():
            object.__setattr__(settled, name, value)
        return settled


def distinct_integers(argument: str, values: Iterable[int]) -> tuple[int, ...]:
    """Return the values sorted, or refuse an empty list or a repeated value."""
    listed = sorted(values)
    if not listed:
        raise InputError(argument, listed, "empty", "give at least one token")
    twice = next((v for v, following in itertools.pairwise(listed) if v == following), None)
    if twice is not None:
        raise InputError(argument, twice, "named twice", "name every token once")
    return tuple(listed)


def checked_name(name: str) -> str:
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


def _check_held_out(
    mapping: Mapping, domain: Domain, n_positions: int
) -> tuple[frozenset[Combination], bool]:
    """Return the combinations that are held out whole, and whether others are in part; refuse misfits."""
    for each in mapping.sets:
        if mapping.is_table:
            given = min(each.listed) if each.listed else each.plain()
            problem = f"held out of {mapping.name!r}, a random table, which no model can generalise"
            remedy = "hold out combinations of a mapping whose labels follow from key and anchors"
            raise InputError("held_out", given, problem, remedy)
        each.check(domain, mapping.name)
    whole, partial = mapping.whole, False
    if not all(len(c) == domain.n_anchors for c in whole) or not all(each.listed for each in mapping.sets):
        for each in mapping.sets:
            if (positions_left((each,), domain, n_positions) == n_positions).all():
                raise InputError("held_out", each.plain(), "holds nothing out", "correct it, or leave it out")
        left = positions_left(mapping.sets, domain, n_positions)
        gone = (left == 0).all(axis=0)
        whole = frozenset(map(tuple, domain.combinations()[gone].tolist()))
        partial = bool((left[:, ~gone] < n_positions).any())
    if len(whole) == domain.n_combinations:
        problem = f"every combination of {mapping.name!r} is held out"
        raise InputError("held_out", len(whole), problem, "leave at least one for training")
    return whole, partial
