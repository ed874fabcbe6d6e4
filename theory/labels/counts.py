r"""A population reduced to what an Emb-MLP can tell apart: distinct token counts with label distributions.

The Emb-MLP sees a sequence through c(X), the counts of its tokens. Key tokens and anchors are drawn
independently, so every count vector is a sum l_i + r_j of one from the keys and one from the anchors,
and every pair (i, j) occurs: an exact reduction of 20 000 sequences to 100 × 110 rows in the paper's
Emb-MLP setting.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import Float64, FloatArray, Int64, IntArray
from theory.edge.checked import checked
from theory.edge.display import Shown
from theory.edge.errors import InputError
from theory.task.domain import Selection, magnitude
from theory.task.population import check_tables, population_size
from theory.task.rule import one_hot
from theory.task.task import Mapping, Task

TRAINING = "training"
_MAX_ENTRIES = 2**27


@dataclass(frozen=True, repr=False)
class CountPopulation(Shown):
    """Distinct token counts l_i + r_j, how often they occur, and their mean label distributions.

    Attributes
    ----------
    left : ndarray, shape (n_left, d)
        Token counts of the keys.
    right : ndarray, shape (n_right, d)
        Token counts of the anchors.
    label_distributions : ndarray, shape (n_left, n_right, d)
        The mean one-hot label of the sequences with counts l_i + r_j.
    data_sets : dict of str to ndarray, shape (n_left, n_right)
        The share of each count vector in each data set; every one sums to 1. "training" drives the flow;
        a task adds one entry for each mapping, in two parts where combinations are held out.
    """

    left: Float64[FloatArray, "n_left d"]
    right: Float64[FloatArray, "n_right d"]
    label_distributions: Float64[FloatArray, "n_left n_right d"]
    data_sets: dict[str, Float64[FloatArray, "n_left n_right"]]

    @property
    def weights(self) -> Float64[FloatArray, "n_left n_right"]:
        """The share of each count vector in the training set, shape (n_left, n_right)."""
        return self.data_sets[TRAINING]

    @property
    def vocab_size(self) -> int:
        """The number of tokens, d."""
        return int(self.left.shape[1])

    @functools.cached_property
    def token_label_mass(self) -> dict[str, Float64[FloatArray, "d d"]]:
        """E[cᵀ y] over each data set, shape (d, d)."""
        found = {}
        for name, share in self.data_sets.items():
            mass = share[:, :, None] * self.label_distributions
            found[name] = np.asarray(self.left.T @ mass.sum(axis=1) + self.right.T @ mass.sum(axis=0))
        return found

    def token_label_matrix(self) -> Float64[FloatArray, "d d"]:
        """Return C = E[cᵀ (y − u)] over the training set, shape (d, d)."""
        ratios = self.weights.sum(axis=1) @ self.left + self.weights.sum(axis=0) @ self.right
        return np.asarray(self.token_label_mass[TRAINING] - ratios[:, None] / self.vocab_size)

    def cooccurrence(self) -> Float64[FloatArray, "d d"]:
        """Return S = E[cᵀ c] over the training set, shape (d, d)."""
        cross = self.left.T @ self.weights @ self.right
        rows, columns = self.weights.sum(axis=1), self.weights.sum(axis=0)
        inside = self.left.T @ (rows[:, None] * self.left) + self.right.T @ (columns[:, None] * self.right)
        return np.asarray(inside + cross + cross.T)

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [[name, str(np.count_nonzero(share))] for name, share in self.data_sets.items()]
        sizes = f"{len(self.left)} x {len(self.right)} token counts of {self.vocab_size} tokens"
        return f"{sizes}; data sets: {len(rows)}", ["data set", "counts that occur"], rows


@checked
def count_population(
    task: Task, tables: Sequence[Int64[IntArray, "{len(task.keys)} _"] | None] | None = None
) -> CountPopulation:
    """Return a task's whole population, reduced exactly.

    Parameters
    ----------
    task : Task
        The task; held-out combinations are left out of "training" and have a data set of their own.
    tables : sequence of (ndarray or None), optional
        The labels of table mappings, as ``draw_tables`` gives them. Without them every table entry has
        its ideal distribution, the mean over all tables.

    Raises
    ------
    InputError
        If the population is too large to enumerate; ``linearised_flow`` needs only C and S.
    """
    check_size(task)
    if tables is not None:
        check_tables(task, tables)
    left, shares = _key_counts(task)
    rights, distributions, masses = [], [], []
    for index, mapping in enumerate(task.mappings):
        bags, held_out, inverse = _anchor_bags(task, mapping)
        right = np.zeros((len(bags), task.vocab_size))
        for anchor in mapping.anchors:
            right[:, anchor] = (bags == anchor).sum(axis=1)
        rights.append(right)
        table = None if tables is None else tables[index]
        entry = (
            mapping.rule.entry_distributions(task.domain(mapping))
            if table is None
            else one_hot(np.asarray(table), task.vocab_size)
        )
        starts = np.searchsorted(np.sort(inverse), np.arange(len(bags)))
        by_bag = np.add.reduceat(entry[:, np.argsort(inverse, kind="stable")], starts, axis=1)
        orders = np.bincount(inverse).astype(np.float64)
        distributions.append(by_bag / orders[:, None])  # The mean over the orders of each bag.
        masses.append((orders * ~held_out, orders * held_out))
    # The label follows from one of the m exchangeable key tokens, each of which is equally often the key.
    m = task.length - task.n_anchors
    label_distributions = np.tensordot(
        left[:, list(task.keys)] / m, np.concatenate(distributions, axis=1), axes=1
    )
    data_sets = {name: shares[:, None] * row for name, row in _data_set_rows(task, masses).items()}
    return CountPopulation(left, np.concatenate(rights), label_distributions, data_sets)


def check_size(task: Task) -> None:
    """Refuse a task with too many or too long distinct token counts, or with too large a table."""
    m = task.length - task.n_anchors
    n_left = comb(len(task.keys) + m - 1, m)
    distinct = n_left * sum(comb(len(x.anchors) + task.n_anchors - 1, task.n_anchors) for x in task.mappings)
    table = len(task.keys) * max(task.n_combinations(x) for x in task.mappings)
    if max(distinct * task.vocab_size, table * task.vocab_size, n_left * m) > _MAX_ENTRIES:
        size, n = magnitude(population_size(task)), magnitude(distinct)
        problem = (
            f"{size} sequences with {n} distinct token counts over {task.vocab_size} tokens are too many"
        )
        remedy = "give a smaller task, or use linearised_flow instead"
        raise InputError("task", f"length {task.length}", f"{problem} to enumerate", remedy)


def _key_counts(task: Task) -> tuple[FloatArray, FloatArray]:
    """Return the distinct counts of the m = L − q key tokens, and the share of each."""
    m, n_keys = task.length - task.n_anchors, len(task.keys)
    bags = list(combinations_with_replacement(range(n_keys), m))
    counts = np.zeros((len(bags), task.vocab_size))
    shares = np.empty(len(bags))
    keys = np.array(task.keys)
    for row, bag in enumerate(bags):
        present, times = np.unique(bag, return_counts=True)
        counts[row, keys[present]] = times
        shares[row] = factorial(m) / (prod(factorial(int(t)) for t in times) * n_keys**m)
    return counts, shares


def _anchor_bags(task: Task, mapping: Mapping) -> tuple[IntArray, npt.NDArray[np.bool_], IntArray]:
    """Return the distinct bags of anchors, whether each is held out, and each combination's bag.

    Orders of one bag are kept apart where some are held out and others are not: a rule may tell them apart.
    """
    domain = task.domain(mapping)
    held_out = domain.times(Selection(held_out=mapping.held_out)) == 0
    labelled = np.concatenate([np.sort(domain.combinations(), axis=1), held_out[:, None]], axis=1)
    bags, inverse = np.unique(labelled, axis=0, return_inverse=True)
    return bags[:, :-1], bags[:, -1] == 1, inverse.reshape(-1)


def _data_set_rows(task: Task, masses: list[tuple[FloatArray, FloatArray]]) -> dict[str, FloatArray]:
    """Return each data set's share of every anchor bag, the training set's first."""
    rows = {TRAINING: np.concatenate([train for train, _ in masses])}
    start = 0
    for mapping, (train, test) in zip(task.mappings, masses, strict=True):
        parts = {mapping.name: train}
        if mapping.held_out:
            parts = {f"{mapping.name} train": train, f"{mapping.name} test": test}
        for name, part in parts.items():
            rows[name] = np.zeros_like(rows[TRAINING])
            rows[name][start : start + len(part)] = part
        start += len(train)
    return {name: row / row.sum() for name, row in rows.items()}
