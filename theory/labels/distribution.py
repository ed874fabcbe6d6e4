r"""Label distributions P^s and token ratios r_s of a task (Section 3.2, Appendix B.2).

P^s is the distribution of the label of a sequence drawn in proportion to how often it holds the token s, and
r_s the expected number of s in a sequence. With this reading the leading order of the embedding's
gradient flow is exactly :math:`r_s (P^s - u)` (eq. 5), repeated anchors included.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from fractions import Fraction
from typing import Literal

import numpy as np

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer
from theory.edge.checked import checked
from theory.edge.checks import check_tokens
from theory.edge.errors import check_memory
from theory.task.domain import Combination, Selection
from theory.task.rule import Deterministic
from theory.task.task import Mapping, Task

Role = Literal["any", "anchor", "key", "noise"]


@checked
def label_distribution(
    task: Task,
    token: int | Integer[ArrayLike, " n"],
    *,
    role: Role = "any",
    held_out: bool = False,
) -> Float64[FloatArray, "... {task.vocab_size}"]:
    r"""Return P^s, the label distribution of the token s (eq. 7, 8, 21-25).

    Parameters
    ----------
    task : Task
    token : int or array_like of int, shape (n,)
        s, any token of the vocabulary, or several. For a token that never occurs P^s is the uniform u by
        convention, so that its drive :math:`r_s (P^s - u)` vanishes as it should.
    role : {"any", "anchor", "key", "noise"}, optional
        Count the token's occurrences in this role only.
    held_out : bool, optional
        True: the training distribution, without the held-out combinations.

    Returns
    -------
    ndarray of float64, shape (vocab_size,)
        For several tokens shape (n, vocab_size), one row per token. Non-negative, with sum 1; every entry
        keeps its relative accuracy.

    Raises
    ------
    InputError
        If the token lies outside the vocabulary, or a rule without a closed form has more than ten million
        pairs of key and combination: ``sample_labels`` goes further.
    """
    tokens = check_tokens("token", token, task.vocab_size).tolist()
    needed = 8 * len(tokens) * task.vocab_size
    check_memory("token", len(tokens), needed, "the table", "ask for fewer tokens at a time")
    rows = [_one_distribution(task, s, role, held_out) for s in tokens]
    return rows[0] if np.ndim(token) == 0 else np.stack(rows)


@checked
def token_ratio(task: Task, token: int, *, role: Role = "any", held_out: bool = False) -> float:
    r"""Return r_s, the expected number of occurrences of s in a sequence, with multiplicity (Prop. 1).

    The ratios of all tokens sum to L. Parameters as in ``label_distribution``.
    """
    check_tokens("token", token, task.vocab_size)
    return float(exact_ratio(task, token, role, held_out))


def exact_ratio(task: Task, token: int, role: Role, held_out: bool) -> Fraction:
    """Return r_s as a fraction: a rare token's may be below any float."""
    ratio = Fraction(0)
    mapping = task.mapping_of(token)
    if mapping is not None and role in ("any", "anchor"):
        if held_out and mapping.partial:
            often = task.domain(mapping).times(Selection(token))
            inside = Fraction(int(task.positions_left(mapping).sum(axis=0) @ often), _n_rows(task))
        else:
            inside = Fraction(task.n_anchors * len(mapping.anchors) ** (task.n_anchors - 1))
            inside -= _occurrences(mapping.held_out)[token] if held_out else 0
        ratio += inside / _n_combinations(task, held_out)
    if token in task.keys:
        if role in ("any", "key"):
            own = sum((_trained(task, m, held_out, token) for m in task.mappings), Fraction(0))
            ratio += own / _n_combinations(task, held_out)
        if role in ("any", "noise"):
            ratio += Fraction(task.n_noise, len(task.keys))
    return ratio


@checked
def marginal_distribution(task: Task, *, held_out: bool = False) -> Float64[FloatArray, " {task.vocab_size}"]:
    r"""Return P̄, the distribution of a label, shape (vocab_size,), float64, with sum 1."""
    weights = np.sum([_labels(task, mapping, held_out) for mapping in task.mappings], axis=0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _one_distribution(task: Task, token: int, role: Role, held_out: bool) -> FloatArray:
    if not exact_ratio(task, token, role, held_out):
        return np.full(task.vocab_size, 1 / task.vocab_size)
    weights = np.zeros(task.vocab_size)  # The mass of every label over the token's occurrences.
    mapping = task.mapping_of(token)
    if mapping is not None and role in ("any", "anchor"):
        weights += _labels(task, mapping, held_out, anchor=token)
    if token in task.keys:
        for mapping in task.mappings:
            if role in ("any", "key"):
                weights += _labels(task, mapping, held_out, key=token)
            if role in ("any", "noise") and task.n_noise:
                weights += _labels(task, mapping, held_out) * task.n_noise
    return np.asarray(weights / weights.sum())


def _labels(
    task: Task, mapping: Mapping, held_out: bool, *, anchor: int | None = None, key: int | None = None
) -> FloatArray:
    """Return the labels' mass over one mapping's combinations, shape (vocab_size,).

    With an ``anchor``, every combination counts as often as it holds that anchor. Without one, each counts
    once, and the mass adds up to the mapping's share of all sequences. Without a ``key``, keys are uniform.
    """
    rule, domain = mapping.rule, task.domain(mapping)
    if held_out and mapping.partial and isinstance(rule, Deterministic):
        left, n_positions = task.positions_left(mapping), task.length - task.n_anchors
        distribution = rule.counted(domain, Selection(anchor, key=key), left, n_positions)
    else:
        selection = Selection(anchor, key=key, held_out=mapping.held_out if held_out else frozenset())
        distribution = rule.distribution(domain, selection)
    if anchor is None:  # An anchor has one mapping, whose share of all sequences may be below any float.
        share = Fraction(task.n_combinations(mapping), _n_combinations(task, held_out))
        distribution = distribution.scaled(share)
    return distribution.dense(task.vocab_size)


@functools.lru_cache(maxsize=16)
def _occurrences(combinations: frozenset[Combination]) -> Counter[int]:
    return Counter(itertools.chain.from_iterable(combinations))


def _n_combinations(task: Task, held_out: bool) -> Fraction:
    """Return the number of combinations; one that is trained on in part counts in part."""
    return sum((_trained(task, m, held_out) for m in task.mappings), Fraction(0))


def _trained(task: Task, mapping: Mapping, held_out: bool, key: int | None = None) -> Fraction:
    """Return the number of a mapping's combinations, or the part of them that is trained on with a key."""
    if held_out and mapping.partial:
        left = task.positions_left(mapping)
        return Fraction(int((left if key is None else left[task.keys.index(key)]).sum()), _n_rows(task))
    return Fraction(task.n_combinations(mapping, held_out=held_out), 1 if key is None else len(task.keys))


def _n_rows(task: Task) -> int:
    """Return N_Z (L − q), the number of keys and positions of a combination."""
    return len(task.keys) * (task.length - task.n_anchors)
