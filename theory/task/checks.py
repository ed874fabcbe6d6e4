"""Whether a task makes sense: every refusal names the argument, the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from theory.errors import InputError
from theory.task.domain import Domain
from theory.task.mapping import Mapping

MOST_ANCHORS = 100_000
"""The most anchors in a sequence: beyond it even the number of combinations takes long to compute."""

MOST_TOKENS = 200_000
"""Tokens in a sequence: the number of sequences has twice as many digits, and is counted exactly."""


def check_lengths(n_anchors: int, length: int) -> None:
    """Refuse a task without anchors, or one whose sequences do not hold key and anchors."""
    if n_anchors < 1:
        raise InputError("n_anchors", n_anchors, "a sequence needs an anchor", "give q >= 1")
    if n_anchors > MOST_ANCHORS:
        raise InputError("n_anchors", n_anchors, "too many anchors", f"give at most {MOST_ANCHORS}")
    if length < n_anchors + 1:
        raise InputError(
            "length",
            length,
            f"too short for a key and n_anchors = {n_anchors} anchors",
            f"give at least {n_anchors + 1}",
        )
    if length > MOST_TOKENS:
        raise InputError("length", length, "too many positions", f"give at most {MOST_TOKENS}")


def check_tokens(keys: tuple[int, ...], mappings: Sequence[Mapping], vocab_size: int) -> None:
    """Refuse names or tokens that stand for two things, and tokens outside the vocabulary."""
    if not mappings:
        raise InputError(
            "mappings",
            [],
            "the task has no mapping",
            "give mappings, or reasoning or memory anchors",
        )
    _check_names([m.name for m in mappings])
    owner = _owners(mappings)
    both = sorted(set(keys) & set(owner))
    if both:
        raise InputError("anchors", both[0], "both an anchor and a key", "keep anchors and keys disjoint")
    for argument, tokens in (("keys", keys), ("anchors", tuple(sorted(owner)))):
        for token in (tokens[0], tokens[-1]):
            if not 0 <= token < vocab_size:
                raise InputError(
                    argument,
                    token,
                    f"outside the vocabulary 0..{vocab_size - 1}",
                    "give tokens from 0 up and a vocab_size above the largest",
                )


def _check_names(names: list[str]) -> None:
    taken = set()
    for name in names:
        if name in taken:
            raise InputError("name", name, "two mappings have it", "name each differently")
        taken.add(name)
    for name in names:
        base = name.removesuffix(" train").removesuffix(" test")
        if base != name and base in taken:
            raise InputError("name", name, f"the name of a data set of {base!r}", "name it differently")


def _owners(mappings: Sequence[Mapping]) -> dict[int, str]:
    owner: dict[int, str] = {}
    for mapping in mappings:
        for anchor in mapping.anchors:
            if anchor in owner:
                raise InputError(
                    "anchors",
                    anchor,
                    f"in two mappings, {owner[anchor]!r} and {mapping.name!r}",
                    "give every anchor to one mapping",
                )
            owner[anchor] = mapping.name
    return owner


def check_held_out(domain: Domain, mapping: Mapping) -> None:
    """Refuse held-out combinations that the mapping does not have, or that leave nothing to train on."""
    if not mapping.held_out:
        return
    first = min(mapping.held_out)
    if mapping.is_table:
        raise InputError(
            "held_out",
            first,
            f"held out of {mapping.name!r}, a table that nothing could generalise",
            "hold out combinations of a mapping whose labels follow from key and anchors",
        )
    for combination in sorted(mapping.held_out):
        if len(combination) != domain.n_anchors:
            raise InputError(
                "held_out",
                combination,
                f"{len(combination)} anchors where n_anchors = {domain.n_anchors}",
                f"give tuples of {domain.n_anchors}",
            )
        strange = [a for a in combination if a not in mapping.anchors]
        if strange:
            raise InputError(
                "held_out",
                combination,
                f"{strange[0]} is not an anchor of {mapping.name!r}",
                f"use its anchors {list(mapping.anchors)}",
            )
    if len(mapping.held_out) == domain.n_combinations:
        raise InputError(
            "held_out",
            len(mapping.held_out),
            f"every combination of {mapping.name!r} is held out",
            "leave at least one for training",
        )
