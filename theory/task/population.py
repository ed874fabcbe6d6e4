"""A task's whole population of sequences, where it is small enough to enumerate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.edge.arrays import Bool, BoolArray, Int64, IntArray
from theory.edge.checked import checked
from theory.edge.checks import check_tokens
from theory.edge.display import Shown
from theory.edge.errors import InputError
from theory.task.domain import magnitude
from theory.task.held_out import holds
from theory.task.task import Task

_MAX_SEQUENCES = 5_000_000


@dataclass(frozen=True, repr=False)
class Population(Shown):
    """Sequences of a task and the origin of each, row by row.

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
        Whether the sequence is held out for the test set.
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
            [str(index), str(np.count_nonzero(inside)), str(np.count_nonzero(inside & self.held_out))]
            for index in np.unique(self.mapping).tolist()
            for inside in (self.mapping == index,)
        ]
        n, length = self.sequences.shape
        title = f"{n} sequences of {length} tokens, {np.count_nonzero(self.held_out)} held out"
        return title, ["mapping", "sequences", "held out"], rows


def population_size(task: Task) -> int:
    """Return how many distinct tuples (combination, key, position, noise) a task has."""
    per_combination = int(len(task.keys) ** (1 + task.n_noise)) * (task.length - task.n_anchors)
    return per_combination * sum(task.n_combinations(m) for m in task.mappings)


def check_population(task: Task) -> None:
    """Refuse a task with more than five million sequences."""
    size = population_size(task)
    if size > _MAX_SEQUENCES:
        problem = f"its population has {magnitude(size)} sequences"
        raise InputError(
            "task",
            f"length {task.length}",
            problem,
            'train on a sample (data.source = "draw"), or shorten the sequences',
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
    rows = []
    for index, mapping in enumerate(task.mappings):
        shape = (task.length - task.n_anchors, task.n_combinations(mapping), len(task.keys), len(noise))
        grid = np.indices(shape).reshape(4, -1)
        rows.append(np.concatenate([np.full((1, grid.shape[1]), index), grid]))
    which, position, combination, key, row = np.concatenate(rows, axis=1)
    return assemble(task, which, combination, key, position, noise[row])


def assemble(
    task: Task, mapping: IntArray, combination: IntArray, key: IntArray, position: IntArray, noise: IntArray
) -> Population:
    """Build sequences from indices; the key of row i stands at ``position[i]``, counted from 0.

    ``noise`` has shape (n, L − q − 1) and holds indices into the keys; the other arrays have shape (n,).
    """
    n, q, keys = len(key), task.n_anchors, np.array(task.keys)
    anchors = _anchors(task, mapping, combination)
    held_out = np.zeros(n, np.bool_)
    for index, m in enumerate(task.mappings):
        if m.sets and (rows := mapping == index).any():
            held_out[rows] = holds(m.sets, task.domain(m), keys[key[rows]], anchors[rows], position[rows])
    places = np.arange(task.length)
    in_window = (places >= position[:, None]) & (places <= position[:, None] + q)
    sequences = np.empty((n, task.length), np.int64)
    sequences[in_window] = np.concatenate([keys[key][:, None], anchors], axis=1).ravel()
    sequences[~in_window] = keys[noise].ravel()
    return Population(sequences, mapping, combination, key, held_out)


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
        If the population or the tables belong to another task.
    """
    if not _is_of(task, population):
        shape = population.sequences.shape
        raise InputError("population", shape, "not of this task", "give a population of the task")
    check_tables(task, tables)
    labels = np.empty(len(population), np.int64)
    for index, (mapping, table) in enumerate(zip(task.mappings, tables, strict=True)):
        rows = population.mapping == index
        key, combination = population.key[rows], population.combination[rows]
        if table is not None:
            labels[rows] = np.asarray(table)[key, combination]
        elif mapping.is_table:
            remedy = "draw them with draw_tables(task, rng)"
            raise InputError("tables", mapping.name, "no table for it", remedy)
        else:
            anchors = _anchors(task, population.mapping[rows], combination)
            labels[rows] = mapping.rule.evaluate(task.domain(mapping), np.array(task.keys)[key], anchors)
            if rows.any():
                task.domain(mapping).check_labels(int(labels[rows].min()), int(labels[rows].max()))
    return labels


def check_tables(task: Task, tables: Sequence[IntArray | None]) -> None:
    """Refuse tables that do not fit the task: one of shape (N_Z, N_A^q) for each table mapping, or None."""
    if len(tables) != len(task.mappings):
        remedy = "give the result of draw_tables(task, rng)"
        raise InputError("tables", len(tables), "not one for each mapping", remedy)
    for mapping, table in zip(task.mappings, tables, strict=True):
        if table is None:
            continue
        labels, shape = np.asarray(table), (len(task.keys), task.n_combinations(mapping))
        if not mapping.is_table or labels.shape != shape:
            problem = f"does not fit the task's mapping {mapping.name!r}"
            raise InputError("tables", labels.shape, problem, f"give {shape if mapping.is_table else None}")
        check_tokens("tables", labels.ravel(), task.vocab_size)


def _anchors(task: Task, mapping: IntArray, combination: IntArray) -> IntArray:
    """Return each combination's anchors, shape (n, q)."""
    sizes = np.array([len(m.anchors) for m in task.mappings])[mapping]
    powers = range(task.n_anchors - 1, -1, -1)
    anchors = np.stack([combination // sizes**k % sizes for k in powers], axis=1)
    for index, m in enumerate(task.mappings):
        rows = mapping == index
        anchors[rows] = np.array(m.anchors)[anchors[rows]]
    return anchors


def _is_of(task: Task, population: Population) -> bool:
    """Return whether each sequence holds the key and the anchors that the population's indices name."""
    p = population
    n_combinations = np.array([task.n_combinations(m) for m in task.mappings])
    in_range = (
        p.sequences.shape == (len(p), task.length)
        and all(a.shape == (len(p),) and (a >= 0).all() for a in (p.mapping, p.combination, p.key))
        and (p.mapping < len(task.mappings)).all()
        and (p.key < len(task.keys)).all()
        and (p.combination < n_combinations[p.mapping]).all()
    )
    is_anchor = np.isin(p.sequences, task.anchors)
    if not in_range or not (is_anchor.sum(axis=1) == task.n_anchors).all():
        return False
    keys = p.sequences[np.arange(len(p)), is_anchor.argmax(axis=1) - 1]
    anchors = p.sequences[is_anchor].reshape(len(p), task.n_anchors)
    expected = _anchors(task, p.mapping, p.combination)
    return bool((anchors == expected).all() and (keys == np.array(task.keys)[p.key]).all())
