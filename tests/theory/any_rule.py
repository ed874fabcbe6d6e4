"""A task with one rule to be tested beside a memory mapping, and rules of every kind."""

from __future__ import annotations

from typing import Any

from theory import (
    Expression,
    Lookup,
    Mapping,
    Task,
)

AFFINE = "(key * a1 + a2) % 97"


def affine(key: int, anchors: tuple[int, ...]) -> int:
    return (key * anchors[0] + anchors[1]) % 97


def task_of(rule: Any, *, keys: Any = (20, 21, 23, 30), length: int = 4, held_out: Any = ((2, 5),)) -> Task:
    return Task(
        keys=keys,
        n_anchors=2,
        length=length,
        vocab_size=130,
        mappings=[
            Mapping([1, 2, 5], rule, "own", held_out),
            Mapping([6, 7], Lookup(40, 50), "memory"),
        ],
    )


RULES = {
    "modular": Expression(AFFINE),
    "polynomial": Expression("(a1 ** 2 + 3 * key * a2 + 1) % 101"),
    "composed shifts": Expression("(key + g(a1) + g(a2)) % 60", {1: 7, 2: -3, 5: 11}),
    "total": Expression("abs(key - 5 * total) % 17"),
    "conditional": Expression("key + a2 if a1 < a2 else key - a1"),
    "function": affine,
}
