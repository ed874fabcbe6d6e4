"""A task with a rule of any kind beside a memory mapping, and Hypothesis strategies of tasks."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from theory import Expression, Lookup, Mapping, Shift, Sum, Task, Window

AFFINE = "(key * a1 + a2) % 97"


def affine(key: int, anchors: tuple[int, ...]) -> int:
    return (key * anchors[0] + anchors[1]) % 97


def task_of(rule: Any, *, keys: Any = (20, 21, 23, 30)) -> Task:
    mappings = [Mapping([1, 2, 5], rule, "own", [(2, 5)]), Mapping([6, 7], Lookup(40, 50), "memory")]
    return Task(keys=keys, n_anchors=2, length=4, vocab_size=130, mappings=mappings)


RULES = {
    "modular": Expression(AFFINE),
    "polynomial": Expression("(a1 ** 2 + 3 * key * a2 + 1) % 101"),
    "composed shifts": Expression("(key + g(a1) + g(a2)) % 60", {1: 7, 2: -3, 5: 11}),
    "total": Expression("abs(key - 5 * total) % 17"),
    "conditional": Expression("key + a2 if a1 < a2 else key - a1"),
    "function": affine,
}


@st.composite
def tasks(draw: st.DrawFn, most_keys: int = 6, most_anchors: int = 3) -> Task:
    """Draw tasks of every rule, with gaps among keys, shift tables of both signs and held-out sets."""
    q = draw(st.integers(1, 3))
    keys = draw(st.sets(st.integers(40, 60), min_size=1, max_size=most_keys))
    mappings = []
    for index in range(draw(st.integers(1, 3))):
        anchors = sorted(
            draw(st.sets(st.integers(8 * index, 8 * index + 7), min_size=1, max_size=most_anchors))
        )
        shifts = st.lists(st.integers(-10, 9), min_size=len(anchors), max_size=len(anchors))
        rules = [
            st.just(Sum()),
            st.just(Lookup()),
            st.builds(lambda low, n: Lookup(low, low + n), st.integers(0, 50), st.integers(0, 9)),
            st.builds(lambda values, a=anchors: Shift(dict(zip(a, values, strict=True))), shifts),
            st.just(Expression(f"(key * a1 + a{q}) % 97")),
            st.just(lambda key, combination: (key * combination[0] + 3 * combination[-1]) % 101),
        ]
        rule = draw(st.one_of(rules + [st.just(Window())] * (max(anchors) * q <= 40)))
        combination = st.tuples(*[st.sampled_from(anchors)] * q)
        is_table = getattr(rule, "is_table", False)
        held = set() if is_table else draw(st.sets(combination, max_size=len(anchors) ** q - 1))
        mappings.append(Mapping(anchors, rule, f"m{index}", held))
    return Task(keys=keys, n_anchors=q, length=q + draw(st.integers(1, 2)), vocab_size=160, mappings=mappings)
