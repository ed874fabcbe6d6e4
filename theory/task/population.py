"""A task's whole population of sequences, where it is small enough to enumerate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.arrays import Bool, BoolArray, Int64, IntArray
from theory.checked import check_tokens, checked
from theory.display import Shown
from theory.errors import InputError
from theory.task.task import Task

_MAX_SEQUENCES = 5_000_000


@dataclass(frozen=True, repr=False)
class Population(Shown):
    """Sequences of a task and where each came from, row for row.

    Attributes
    ----------
    sequences : ndarray of int64, shape (n, L)
        Tokens.
    mapping : ndarray of int64, shape (n,)
        Index into ``task.mappings``.
    combination : ndarray of int64, shape (n,)
        Index of the anchor combination, counting in base N_A with the first anchor most significant.
    key : ndarray of int64, shape (n,)
        Index into ``task.keys``.
    held_out : ndarray of bool, shape (n,)
        Whether the combination is held out for the test set.
    """

    sequences: Int64[IntArray, "n L"]
    mapping: Int64[IntArray, " n"]
    combination: Int64[IntArray, " n"]
    key: Int64[IntArray, " n"]
    held_out: Bool[BoolArray, " n"]

    def __len__(self) -> int:
        return len(self.sequences)

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [
            [str(index), str(np.count_nonzero(own)), str(np.count_nonzero(own & self.held_out))]
            for index in np.unique(self.mapping).tolist()
            for own in (self.mapping == index,)
        ]
        n, length = self.sequences.shape
        title = f"{n} sequences of {length} tokens, {np.count_nonzero(self.held_out)} held out"
        return title, ["mapping", "sequences", "held out"], rows


def population_size(task: Task) -> int:
    """Return how many distinct (combination, key, position, noise) a task has."""
    per_combination = int(len(task.keys) ** (1 + task.n_noise)) * (task.length - task.n_anchors)
    return per_combination * sum(task.n_combinations(m) for m in task.mappings)


def check_population(task: Task) -> None:
    """Refuse a task with more sequences than can be enumerated.

    Raises
    ------
    InputError
        If there are more than five million.
    """
    size = population_size(task)
    if size > _MAX_SEQUENCES:
        raise InputError(
            "task",
            f"length {task.length}",
            f"its population has {size:.3g} sequences",
            "draw a sample instead",
        )


@checked
def enumerate_population(task: Task) -> Population:
    """Return every sequence of the task once, held-out combinations included and marked.

    Raises
    ------
    InputError
        If there are more than five million sequences; draw a sample instead.
    """
    check_population(task)
    noise = np.array(list(itertools.product(range(len(task.keys)), repeat=task.n_noise)), np.int64)
    parts = []
    for index, mapping in enumerate(task.mappings):
        for position in range(task.length - task.n_anchors):
            combination, key, row = (
                grid.ravel()
                for grid in np.indices((task.n_combinations(mapping), len(task.keys), len(noise)))
            )
            n = len(key)
            parts.append(
                assemble(task, np.full(n, index), combination, key, np.full(n, position), noise[row])
            )
    return _concatenate(parts)


def assemble(
    task: Task,
    mapping: IntArray,
    combination: IntArray,
    key: IntArray,
    position: IntArray,
    noise: IntArray,
) -> Population:
    """Build sequences from indices; the key of row i stands at ``position[i]``, counted from 0.

    ``noise`` has shape (n, L − q − 1) and holds indices into the keys; the other arrays have shape (n,).
    """
    n, q = len(key), task.n_anchors
    keys = np.array(task.keys)
    anchors = combination_anchors(task, mapping, combination)
    held_out = np.zeros(n, np.bool_)
    for index, m in enumerate(task.mappings):
        rows = mapping == index
        for c in m.held_out:
            held_out |= rows & (anchors == np.array(c)).all(axis=1)
    sequences = np.empty((n, task.length), np.int64)
    in_window = (np.arange(task.length) >= position[:, None]) & (
        np.arange(task.length) <= position[:, None] + q
    )
    sequences[in_window] = np.concatenate([keys[key][:, None], anchors], axis=1).ravel()
    sequences[~in_window] = keys[noise].ravel()
    return Population(sequences, mapping, combination, key, held_out)


def combination_anchors(task: Task, mapping: IntArray, combination: IntArray) -> IntArray:
    """Return each combination's anchors, shape (n, q)."""
    digits = combination_digits(task, mapping, combination)
    anchors = np.empty(digits.shape, np.int64)
    for index, m in enumerate(task.mappings):
        rows = mapping == index
        anchors[rows] = np.array(m.anchors)[digits[rows]]
    return anchors


def combination_digits(task: Task, mapping: IntArray, combination: IntArray) -> IntArray:
    """Return each combination's anchor indices, shape (n, q)."""
    sizes = np.array([len(m.anchors) for m in task.mappings])[mapping]
    powers = range(task.n_anchors - 1, -1, -1)
    return np.stack([combination // sizes**k % sizes for k in powers], axis=1)


@checked
def draw_tables(task: Task, rng: np.random.Generator) -> list[Int64[IntArray, "{len(task.keys)} _"] | None]:
    """Draw the labels of every table mapping: shape (N_Z, N_A^q) for each, None for the others."""
    return [m.rule.draw(task.domain(m), rng) for m in task.mappings]


@checked
def labels_of(
    task: Task, population: Population, tables: Sequence[Int64[IntArray, "{len(task.keys)} _"] | None]
) -> Int64[IntArray, " {len(population)}"]:
    """Return each sequence's label, shape (n,), from the rules and the drawn tables.

    Raises
    ------
    InputError
        If the population or the tables are another task's.
    """
    _check_population(task, population)
    check_tables(task, tables)
    for mapping, table in zip(task.mappings, tables, strict=True):
        if mapping.is_table and table is None:
            raise InputError(
                "tables", mapping.name, "no table for it", "draw them with draw_tables(task, rng)"
            )
    labels = np.empty(len(population), np.int64)
    for index, (mapping, table) in enumerate(zip(task.mappings, tables, strict=True)):
        rows = population.mapping == index
        key, combination = population.key[rows], population.combination[rows]
        if table is not None:
            labels[rows] = table[key, combination]
            continue
        anchors = combination_anchors(task, population.mapping[rows], combination)
        labels[rows] = mapping.rule.evaluate(task.domain(mapping), np.array(task.keys)[key], anchors)
    return labels


def check_tables(task: Task, tables: Sequence[IntArray | None]) -> None:
    """Refuse tables that are not the task's: one of shape (N_Z, N_A^q) for each table mapping, or None."""
    if len(tables) != len(task.mappings):
        raise InputError(
            "tables", len(tables), "not one for each mapping", "give those of draw_tables(task, rng)"
        )
    for mapping, table in zip(task.mappings, tables, strict=True):
        if table is None:
            continue
        labels, shape = np.asarray(table), (len(task.keys), task.n_combinations(mapping))
        if not mapping.is_table or labels.shape != shape:
            problem = f"does not fit the task's mapping {mapping.name!r}"
            raise InputError("tables", labels.shape, problem, f"give {shape if mapping.is_table else None}")
        check_tokens("tables", labels.ravel(), task.vocab_size)


def _check_population(task: Task, population: Population) -> None:
    """Refuse sequences whose key and anchors are not those that the population's indices say."""
    p = population
    n_combinations = np.array([task.n_combinations(m) for m in task.mappings])
    fits = (
        p.sequences.shape == (len(p), task.length)
        and all(a.shape == (len(p),) and (a >= 0).all() for a in (p.mapping, p.combination, p.key))
        and (p.mapping < len(task.mappings)).all()
        and (p.key < len(task.keys)).all()
        and (p.combination < n_combinations[p.mapping]).all()
        and _says_its_origin(task, population)
    )
    if not fits:
        raise InputError("population", p.sequences.shape, "not of this task", "give a population of the task")


def _says_its_origin(task: Task, population: Population) -> bool:
    p = population
    is_anchor = np.isin(p.sequences, task.anchors)
    if not (is_anchor.sum(axis=1) == task.n_anchors).all():
        return False
    expected = combination_anchors(task, p.mapping, p.combination)
    key_at = is_anchor.argmax(axis=1) - 1
    keys = p.sequences[np.arange(len(p)), key_at]
    anchors = p.sequences[is_anchor].reshape(expected.shape)
    return bool((anchors == expected).all() and (keys == np.array(task.keys)[p.key]).all())


def _concatenate(parts: list[Population]) -> Population:
    return Population(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("sequences", "mapping", "combination", "key", "held_out")
        )
    )
