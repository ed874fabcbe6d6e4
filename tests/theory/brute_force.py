"""Label statistics by writing down every sequence and every possible label: slow and plain."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

from theory import Expression, Lookup, Mapping, Shift, Sum, Tabulated, Task, Window


def occurrences(task: Task, *, held_out: bool) -> dict[tuple[int, str], Counter[int]]:
    """Return, for each token and role, each label's mass per sequence (exact fractions).

    Nothing is shared with the package but the task's description: sequences are built token by token.
    """
    mass: dict[tuple[int, str], Counter[int]] = {}
    n_sequences = 0
    for mapping in task.mappings:
        for combination in itertools.product(mapping.anchors, repeat=task.n_anchors):
            if held_out and combination in mapping.held_out:
                continue
            for key in task.keys:
                distribution = label_formula(task, mapping, key, combination)
                for position in range(task.length - task.n_anchors):
                    for noise in itertools.product(task.keys, repeat=task.n_noise):
                        n_sequences += 1
                        before, after = noise[:position], noise[position:]
                        tokens = [
                            *((z, "noise") for z in before),
                            (key, "key"),
                            *((a, "anchor") for a in combination),
                            *((z, "noise") for z in after),
                        ]
                        for token in tokens:
                            counter = mass.setdefault(token, Counter())
                            for label, p in distribution.items():
                                counter[label] += p  # type: ignore[assignment]
    return {
        token: Counter({label: Fraction(p) / n_sequences for label, p in counter.items()})  # type: ignore[misc]
        for token, counter in mass.items()
    }


def label_formula(
    task: Task, mapping: Mapping, key: int, combination: tuple[int, ...]
) -> dict[int, Fraction]:
    """Return the distribution of one table entry, or the one label of a deterministic rule."""
    rule = mapping.rule
    if isinstance(rule, Lookup):
        labels = (
            list(task.keys) if rule.low is None or rule.high is None else list(range(rule.low, rule.high + 1))
        )
    elif isinstance(rule, Window):
        half = sum(combination)
        labels = list(range(key - half, key + half + 1))
    elif isinstance(rule, Expression):
        names = {f"a{i}": a for i, a in enumerate(combination, start=1)}
        scope = {"min": min, "max": max, "abs": abs, "g": dict(rule.table).get, "__builtins__": {}}
        labels = [eval(rule.text, scope, names | {"key": key, "total": sum(combination)})]
    elif isinstance(rule, Tabulated):
        column = 0
        for anchor in combination:
            column = column * len(mapping.anchors) + mapping.anchors.index(anchor)
        labels = [rule.labels_[task.keys.index(key)][column]]
    else:
        assert isinstance(rule, (Sum, Shift))
        labels = [key + sum(rule.shift(a) for a in combination)]
    return {label: Fraction(1, len(labels)) for label in labels}
