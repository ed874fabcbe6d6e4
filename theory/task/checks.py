"""Whether a task makes sense: every refusal names the argument, the value and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.task.task import Mapping, Task


def check_task(task: Task) -> None:
    """Raise InputError unless the task can be built and every label lies in the vocabulary."""
    if task.n_anchors < 1:
        raise InputError("n_anchors", task.n_anchors, "a sequence needs an anchor", "give q >= 1")
    if task.length < task.n_anchors + 1:
        raise InputError(
            "length",
            task.length,
            f"too short for a key and n_anchors = {task.n_anchors} anchors",
            f"give at least {task.n_anchors + 1}",
        )
    if not task.mappings:
        raise InputError(
            "mappings",
            [],
            "the task has no mapping",
            "give mappings, or reasoning or memory anchors",
        )
    _check_tokens(task)
    for mapping in task.mappings:
        _check_labels(task, mapping)
        _check_held_out(task, mapping)


def _check_tokens(task: Task) -> None:
    owner: dict[int, str] = {}
    names = [m.name for m in task.mappings]
    for mapping in task.mappings:
        if names.count(mapping.name) > 1:
            raise InputError("name", mapping.name, "two mappings have it", "name each differently")
        for anchor in mapping.anchors:
            if anchor in owner:
                raise InputError(
                    "anchors",
                    anchor,
                    f"in two mappings, {owner[anchor]!r} and {mapping.name!r}",
                    "give every anchor to one mapping",
                )
            owner[anchor] = mapping.name
    keys = set(task.keys)
    both = sorted(keys & set(owner))
    if both:
        raise InputError("anchors", both[0], "both an anchor and a key", "keep anchors and keys disjoint")
    for argument, tokens in (("keys", task.keys), ("anchors", tuple(sorted(owner)))):
        for token in (tokens[0], tokens[-1]):
            if not 0 <= token < task.vocab_size:
                raise InputError(
                    argument,
                    token,
                    f"outside the vocabulary 0..{task.vocab_size - 1}",
                    "give tokens from 0 up and a vocab_size above the largest",
                )


def _check_labels(task: Task, mapping: Mapping) -> None:
    labels = task.label_range(mapping)
    if labels[0] < 0:
        raise InputError(
            "mappings",
            mapping.name,
            f"its smallest label is {labels[0]}, below 0",
            "raise the smallest key or the shifts",
        )
    if labels[-1] >= task.vocab_size:
        raise InputError(
            "vocab_size",
            task.vocab_size,
            f"mapping {mapping.name!r} has labels up to {labels[-1]}",
            f"give at least {labels[-1] + 1}",
        )


def _check_held_out(task: Task, mapping: Mapping) -> None:
    if not mapping.held_out:
        return
    first = min(mapping.held_out)
    if mapping.is_table:
        raise InputError(
            "held_out",
            first,
            f"held out of {mapping.name!r}, a table that nothing could generalise",
            "hold out combinations of a mapping with rule sum or shift",
        )
    for combination in sorted(mapping.held_out):
        if len(combination) != task.n_anchors:
            raise InputError(
                "held_out",
                combination,
                f"{len(combination)} anchors where n_anchors = {task.n_anchors}",
                f"give tuples of {task.n_anchors}",
            )
        strange = [a for a in combination if a not in mapping.anchors]
        if strange:
            raise InputError(
                "held_out",
                combination,
                f"{strange[0]} is no anchor of {mapping.name!r}",
                f"use its anchors {list(mapping.anchors)}",
            )
    if len(mapping.held_out) == task.n_combinations(mapping):
        raise InputError(
            "held_out",
            len(mapping.held_out),
            f"every combination of {mapping.name!r} is held out",
            "leave at least one for training",
        )
