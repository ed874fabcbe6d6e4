"""Tasks of any rule, and their label statistics by writing down every sequence and label: slow and plain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import Expression, Lookup, Mapping, Shift, Sum, Tabulated, Task, Window


def every_sequence(
    task: Task, *, held_out: bool, holds: Callable[..., bool] | None = None
) -> Iterator[tuple[list[tuple[int, str]], dict[int, Fraction]]]:
    """Yield each sequence, its tokens with their roles, and the distribution of its label.

    Nothing is shared with the package but the task's description: sequences are built token by token.
    Those of rules are left out where ``holds(key, a1, ..., aq, position)`` is true.
    """
    for mapping in task.mappings:
        for combination in combinations(task, mapping, held_out):
            for key in task.keys:
                distribution = label_formula(task, mapping, key, combination)
                for position in range(task.length - task.n_anchors):
                    if holds and not mapping.is_table and holds(key, *combination, position):
                        continue
                    for noise in itertools.product(task.keys, repeat=task.n_noise):
                        tokens = [(z, "noise") for z in noise]
                        inside = [(key, "key"), *((a, "anchor") for a in combination)]
                        yield [*tokens[:position], *inside, *tokens[position:]], distribution


def combinations(task: Task, mapping: Mapping, held_out: bool) -> list[tuple[int, ...]]:
    """Return a mapping's combinations, without the held-out ones if ``held_out``."""
    every = itertools.product(mapping.anchors, repeat=task.n_anchors)
    return [c for c in every if not (held_out and c in mapping.held_out)]


@dataclass(frozen=True)
class Enumerated:
    """Means over all sequences of a task, in float64.

    Attributes
    ----------
    mass : dict of str to ndarray, shape (d, d)
        E[c_sᵀ y] by role, and of "any" role and of the "last" position.
    cooccurrence : ndarray, shape (d, d)
    """

    task: Task
    held_out: bool
    mass: dict[str, Any]
    cooccurrence: Any

    @classmethod
    def of(cls, task: Task, held_out: bool, holds: Callable[..., bool] | None = None) -> Enumerated:
        d, n = task.vocab_size, 0
        mass = {role: np.zeros((d, d)) for role in ("any", "anchor", "key", "noise", "last")}
        cooccurrence = np.zeros((d, d))
        for tokens, distribution in every_sequence(task, held_out=held_out, holds=holds):
            n += 1
            label = np.zeros(d)
            label[list(distribution)] = [float(p) for p in distribution.values()]
            for token, role in tokens:
                mass[role][token] += label
                mass["any"][token] += label
            mass["last"][tokens[-1][0]] += label
            for (s, _), (t, _) in itertools.product(tokens, repeat=2):
                cooccurrence[s, t] += 1
        return cls(task, held_out, {role: m / n for role, m in mass.items()}, cooccurrence / n)

    def ratio(self, role: str = "any") -> Any:
        """Return how often each token occurs in a role."""
        return self.mass[role].sum(axis=1)

    def table(self, role: str = "any") -> Any:
        """Return P^s of each token in a role; u for one that never occurs."""
        ratio = self.ratio(role)[:, None]
        d = self.task.vocab_size
        return np.where(ratio > 1e-12, self.mass[role] / np.maximum(ratio, 1e-12), 1 / d)

    def matrix(self, role: str = "any", reference: Any = None) -> Any:
        """Return r_s (P^s − reference), u by default."""
        reference = 1 / self.task.vocab_size if reference is None else reference
        return self.mass[role] - self.ratio(role)[:, None] * reference

    @property
    def marginal(self) -> Any:
        """The distribution of a label."""
        return self.mass["last"].sum(axis=0)

    def covariance(self, a: int, b: int, n_sequences: int | None) -> float:
        """Return E⟨P̂^a − P^a, P̂^b − P^b⟩ of a data set, from pairs of its labels.

        Two sequences of one combination have one label if they have one key, and independent ones else;
        equal numbers of sequences, all keys equally often if ``n_sequences`` is None.
        """
        task, total, kept = self.task, np.zeros(2), []
        for mapping in task.mappings:
            for c in combinations(task, mapping, self.held_out):
                kept.append((mapping, c))
                total += [c.count(a), c.count(b)]
        each = np.inf if n_sequences is None else n_sequences / len(kept)
        covariance = 0.0
        for mapping, c in kept:
            p = np.zeros((len(task.keys), task.vocab_size))
            for row, key in zip(p, task.keys, strict=True):
                for label, share in label_formula(task, mapping, key, c).items():
                    row[label] = share
            pairs = p @ p.T
            np.fill_diagonal(pairs, 1)
            mean = p.mean(axis=0) @ p.mean(axis=0)
            of_pair = pairs.mean() - mean
            same = 1 - mean
            covariance += c.count(a) * c.count(b) * (same / each + (1 - 1 / each) * of_pair)
        return float(covariance / total[0] / total[1])


def counts_of_sum(*sizes: int) -> list[int]:
    """Return how often each sum of independent integers 0..n−1 occurs, in Python's integers."""
    counts = [1]
    for n in sizes:
        sums = [0, *itertools.accumulate([*counts, *[0] * (n - 1)])]
        counts = [sums[k + 1] - sums[max(0, k + 1 - n)] for k in range(len(sums) - 1)]
    return counts


def label_formula(
    task: Task, mapping: Mapping, key: int, combination: tuple[int, ...]
) -> dict[int, Fraction]:
    """Return the distribution of one table entry, or the one label of a deterministic rule."""
    rule = mapping.rule
    if isinstance(rule, Lookup):
        in_range = rule.low is not None and rule.high is not None
        labels = list(range(rule.low, rule.high + 1)) if in_range else list(task.keys)  # type: ignore[arg-type, operator]
    elif isinstance(rule, Window):
        half = sum(combination)
        labels = list(range(key - half, key + half + 1))
    elif isinstance(rule, Expression):
        names = {f"a{i}": a for i, a in enumerate(combination, start=1)} | {"total": sum(combination)}
        labels = [eval(rule.text, {"__builtins__": {}}, names | {"key": key})]
    elif isinstance(rule, Tabulated):
        column = 0
        for anchor in combination:
            column = column * len(mapping.anchors) + mapping.anchors.index(anchor)
        labels = [rule.labels_[task.keys.index(key)][column]]
    else:
        assert isinstance(rule, (Sum, Shift))
        labels = [key + sum(rule.shift(a) for a in combination)]
    return {label: Fraction(1, len(labels)) for label in labels}


MODULAR = Expression("(key * a1 + a2) % 97")


def affine(key: int, anchors: tuple[int, ...]) -> int:
    return (key * anchors[0] + anchors[1]) % 97


def task_of(rule: Any, *, keys: Any = (20, 21, 23, 30)) -> Task:
    mappings = [Mapping([1, 2, 5], rule, "own", [(2, 5)]), Mapping([6, 7], Lookup(40, 50), "memory")]
    return Task(keys=keys, n_anchors=2, length=4, vocab_size=130, mappings=mappings)


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
