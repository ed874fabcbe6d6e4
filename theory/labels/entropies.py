r"""Entropies of a label given part of a sequence: the levels at which a loss can pause.

A model that knows the labels of a mapping, but not which goes with which sequence, has the loss H(Y). One
that has learned the labels of each key has H(Y | key), and one that uses the anchors alone H(Y | anchors);
given both the label is certain. "Marginals before conditionals" (arXiv 2603.10074) says that training pauses
at such a level. They follow from the task alone and hold no constant to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.checked import checked
from theory.edge.checks import Between
from theory.edge.display import Shown
from theory.task.domain import Selection
from theory.task.rule import Deterministic
from theory.task.task import Mapping, Task


@dataclass(frozen=True, repr=False)
class LabelEntropies(Shown):
    """Entropies of one mapping's label in nats, over its training sequences.

    Of a table, which is drawn at random, the mean over drawn tables; ``spread`` is the largest standard
    deviation of the three numbers among them, 0 for a rule.
    """

    mapping: str
    nothing: float
    """H(Y): given nothing but the mapping."""
    key: float
    """H(Y | key)."""
    anchors: float
    """H(Y | anchors), the combination in its order."""
    spread: float

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[object]]]:
        header = ("mapping", "given nothing", "given the key", "given the anchors")
        levels = [f"{value:.3f}" for value in (self.nothing, self.key, self.anchors)]
        return f"{self.mapping}, entropies of the label in nats", header, [[self.mapping, *levels]]


@checked
def label_entropies(
    task: Task, *, n_tables: Annotated[int, Between(2, 10_000)] = 20, seed: Annotated[int, Between(0)] = 0
) -> list[LabelEntropies]:
    """Return the entropies of the label for each mapping, without its held-out combinations.

    Parameters
    ----------
    task : Task
    n_tables : int, optional
        How many tables of a memory mapping are drawn.
    seed : int, optional
        Seed of the drawn tables.

    Raises
    ------
    TooManyEntriesError
        If a mapping has more than ten million pairs of key and combination, or a million of a function.
    """
    return [_entropies(task, mapping, n_tables, np.random.default_rng(seed)) for mapping in task.mappings]


def _entropies(task: Task, mapping: Mapping, n_tables: int, rng: np.random.Generator) -> LabelEntropies:
    domain = task.domain(mapping)
    domain.check_enumerable()
    trained = domain.times(Selection(held_out=mapping.held_out)) > 0
    rule, n = mapping.rule, n_tables if mapping.is_table else 1
    levels = np.empty((n, 3))
    for row in levels:
        every = rule.labels(domain) if isinstance(rule, Deterministic) else rule.draw(domain, rng)
        labels = np.asarray(every)[:, trained]
        row[:] = _entropy(labels.ravel()[None]), _entropy(labels), _entropy(labels.T)
    spread = levels.std(axis=0, ddof=1).max() if n > 1 else 0.0
    nothing, key, anchors = levels.mean(axis=0).tolist()
    return LabelEntropies(mapping.name, nothing, key, anchors, float(spread))


def _entropy(labels: IntArray) -> float:
    """Return the mean over rows of the entropy of a row's labels."""
    n_rows, n = labels.shape
    rows = np.repeat(np.arange(n_rows), n)
    pairs = rows * (labels.max() + 1) + labels.ravel()
    counts: FloatArray = np.unique(pairs, return_counts=True)[1].astype(np.float64)
    return max(0.0, float(np.log(n) - (counts * np.log(counts)).sum() / (n * n_rows)))
