"""Which sequences of a mapping are kept for a test set: listed, drawn, or where a condition holds."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from theory.edge.arrays import BoolArray, IntArray
from theory.edge.checked import Share, checked
from theory.edge.checks import Between, as_integer
from theory.edge.errors import InputError, renamed, unknown_key
from theory.task.arithmetic import ANCHOR, names_in, parse, value_of
from theory.task.domain import Combination, Domain

Unit = Literal["combinations", "keys", "pairs"]
DRAWN = ("fraction", "seed", "of")
"""The keys of a table that draws."""


@dataclass(frozen=True)
class HeldOut:
    """One held-out set of a mapping; the fields of one of its three kinds are set.

    Listed are anchor combinations (a1, ..., aq), or pairs of a key and a combination (key, a1, ..., aq).
    Drawn is a ``fraction`` of all combinations, keys or pairs, by a seed. ``where`` is a condition on
    ``key``, ``a1`` to ``aq``, ``total`` and ``position``, the key's place in the sequence, counted from 0.
    """

    name: str = ""
    listed: frozenset[Combination] = frozenset()
    where: str = ""
    fraction: float = 0.0
    seed: int = 0
    of: Unit = "combinations"

    @classmethod
    def read(cls, value: Any, name: str = "") -> HeldOut:
        """Return the set that a value of ``held_out`` describes."""
        if isinstance(value, str):
            with renamed({"label": "held_out"}):
                _condition(value)
            return cls(name, where=value)
        if isinstance(value, Mapping):
            for key in value:
                if key not in DRAWN:
                    raise unknown_key("key of held_out", key, DRAWN)
            return _drawing(name, **{"fraction": None} | dict(value))
        if isinstance(value, bytes) or not isinstance(value, Iterable):
            raise InputError("held_out", value, "no held-out set", "give a list, a condition, or a fraction")
        listed = list(value)
        for each in listed:
            if not isinstance(each, Iterable):
                raise InputError("held_out", each, "not a combination of anchors", "give [[a1, a2], ...]")
        return cls(name, frozenset(tuple(as_integer("held_out", t) for t in each) for each in listed))

    def plain(self) -> Any:
        """Return the value that ``read`` reads."""
        if self.where:
            return self.where
        if self.fraction:
            return {"fraction": self.fraction, "seed": self.seed, "of": self.of}
        return [list(each) for each in sorted(self.listed)]

    @property
    def by_position(self) -> bool:
        """Whether it depends on where the key stands."""
        return bool(self.where) and "position" in names_in(_condition(self.where))

    def check(self, domain: Domain, name: str) -> None:
        """Refuse what the mapping does not have."""
        q = domain.n_anchors
        for each in sorted(self.listed):
            if len(each) not in (q, q + 1):
                problem = f"{len(each)} anchors where n_anchors = {q}"
                raise InputError("held_out", each, problem, f"give tuples of {q}, or a key and {q} anchors")
            for token in each[-q:]:
                if token not in domain.anchors:
                    problem = f"{token} is not an anchor of {name!r}"
                    raise InputError("held_out", each, problem, f"use its anchors {list(domain.anchors)}")
            if len(each) > q and each[0] not in domain.keys:
                raise InputError(
                    "held_out", each, f"{each[0]} is not a key", "begin a pair with one of the keys"
                )
        for name in names_in(_condition(self.where)) if self.where else ():
            if ANCHOR.fullmatch(name) and int(name[1:]) > q:
                problem = f"unknown name {name}: a sequence has {q} anchor{'s' * (q > 1)}"
                raise InputError("held_out", self.where, problem, "use a1 and so on, up to n_anchors")

    def holds(self, domain: Domain, keys: IntArray, anchors: IntArray, position: IntArray) -> BoolArray:
        """Return whether it holds out each of n sequences: keys (n,), anchors (n, q), positions (n,)."""
        if self.where:
            root = _condition(self.where)
            columns = {f"a{i + 1}": anchors[:, i] for i in range(domain.n_anchors)}
            known = {"key": keys, "position": position, "total": anchors.sum(axis=1)} | columns
            used = {name: known[name] for name in sorted(names_in(root) | {"key"})}
            return np.asarray(value_of(root, used, {}), np.bool_)
        key, combination = domain.indices(keys, anchors)
        pair, n = key * domain.n_combinations + combination, domain.n_combinations
        if self.fraction:
            units = {
                "combinations": (combination, n),
                "keys": (key, len(domain.keys)),
                "pairs": (pair, domain.n_entries),
            }
            own, size = units[self.of]
            return np.asarray(_drawn(self.fraction, self.seed, size)[own])
        q = domain.n_anchors
        whole = np.array([c for c in self.listed if len(c) == q], np.int64).reshape(-1, q)
        pairs = np.array([c for c in self.listed if len(c) > q], np.int64).reshape(-1, q + 1)
        held = np.isin(combination, domain.indices(np.full(len(whole), domain.keys[0]), whole)[1])
        row, column = domain.indices(pairs[:, 0], pairs[:, 1:])
        return np.asarray(held | np.isin(pair, row * n + column))


@checked
def _drawing(
    name: str, fraction: Share, seed: Annotated[int, Between(0)] = 0, of: Unit = "combinations"
) -> HeldOut:
    return HeldOut(name, fraction=fraction, seed=seed, of=of)


def read_sets(value: Any) -> tuple[HeldOut, ...]:
    """Return the sets that ``held_out`` describes: one, or several in a table by name."""
    if isinstance(value, Mapping) and not set(value) & set(DRAWN):
        return tuple(HeldOut.read(each, str(name)) for name, each in sorted(value.items(), key=str))
    one = value if isinstance(value, HeldOut) else HeldOut.read(value)
    return (one,) if one.plain() else ()


def plain_sets(sets: tuple[HeldOut, ...]) -> Any:
    """Return the value that ``read_sets`` reads."""
    if any(each.name for each in sets):
        return {each.name: each.plain() for each in sets}
    return sets[0].plain() if sets else []


def holds(
    sets: tuple[HeldOut, ...], domain: Domain, keys: IntArray, anchors: IntArray, position: IntArray
) -> BoolArray:
    """Return whether any set holds out each of n sequences."""
    every = [each.holds(domain, keys, anchors, position) for each in sets]
    return np.asarray(np.any(every, axis=0)) if every else np.zeros(len(keys), np.bool_)


@functools.lru_cache(maxsize=16)
def positions_left(sets: tuple[HeldOut, ...], domain: Domain, n_positions: int) -> IntArray:
    """Return at how many of the key's positions each pair is trained on, shape (N_Z, N_A^q); read-only."""
    domain.check_enumerable("list the combinations to hold out, as in [[2, 5]]")
    combinations, keys = domain.combinations(), np.array(domain.keys)
    rows = np.repeat(keys, len(combinations)), np.tile(combinations, (len(keys), 1))
    places = range(n_positions) if any(each.by_position for each in sets) else range(1)
    held = [holds(sets, domain, *rows, np.full(len(rows[0]), place)) for place in places]
    left = (n_positions // len(places) * (~np.array(held)).sum(axis=0)).reshape(len(keys), -1)
    left.setflags(write=False)
    return np.asarray(left)


@functools.lru_cache(maxsize=64)
def _condition(text: str) -> Any:
    # A condition is true or false; the grammar's values are numbers.
    return parse(f"1 if ({text}) else 0", {})


@functools.lru_cache(maxsize=16)
def _drawn(fraction: float, seed: int, size: int) -> BoolArray:
    chosen = np.zeros(size, np.bool_)
    chosen[np.random.default_rng(seed).permutation(size)[: round(fraction * size)]] = True
    return chosen
