r"""Label distributions P^s and token ratios r_s of a task (Section 3.2, Appendix B.2).

P^s is the distribution of the label of a sequence drawn in proportion to how often it holds the token s, and
r_s the expected number of s in a sequence. With this reading the leading order of the embedding's
gradient flow is exactly :math:`r_s (P^s - u)` (eq. 5), repeated anchors included.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, cast, overload

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Integer
from theory.checked import as_integer, checked
from theory.errors import InputError
from theory.memory import check_memory
from theory.task.domain import Selection
from theory.task.measure import Array
from theory.task.task import Mapping, Task

Role = Literal["any", "anchor", "key", "noise"]
_ROLES = ("any", "anchor", "key", "noise")
_TABLE_LIMIT_BYTES = 4 * 2**30


@overload
def label_distribution(
    task: Task, token: int, *, role: Role = ..., held_out: bool = ..., exact: Literal[False] = ...
) -> FloatArray: ...
@overload
def label_distribution(
    task: Task, token: int, *, role: Role = ..., held_out: bool = ..., exact: Literal[True]
) -> list[Fraction]: ...
@overload
def label_distribution(
    task: Task,
    token: Integer[ArrayLike, " n"],
    *,
    role: Role = ...,
    held_out: bool = ...,
    exact: Literal[False] = ...,
) -> FloatArray: ...
@overload
def label_distribution(
    task: Task,
    token: Integer[ArrayLike, " n"],
    *,
    role: Role = ...,
    held_out: bool = ...,
    exact: Literal[True],
) -> list[list[Fraction]]: ...
@checked
def label_distribution(
    task: Task,
    token: int | Integer[ArrayLike, " n"],
    *,
    role: Role = "any",
    held_out: bool = False,
    exact: bool = False,
) -> Float64[FloatArray, "... {task.vocab_size}"] | list[Fraction] | list[list[Fraction]]:
    r"""Return P^s, the label distribution of the token s (eq. 7, 8, 21-25).

    Parameters
    ----------
    task : Task
        The task.
    token : int or array_like of int, shape (n,)
        s, any token of the vocabulary, or several. For a token that never occurs P^s is the uniform u by
        convention, so that its drive :math:`r_s (P^s - u)` vanishes as it should.
    role : {"any", "anchor", "key", "noise"}, optional
        Count the token's occurrences in this role only.
    held_out : bool, optional
        True: the training distribution, without the held-out combinations.
    exact : bool, optional
        True: fractions instead of float64.

    Returns
    -------
    ndarray of float64, shape (vocab_size,), or list of Fraction
        For several tokens shape (n, vocab_size), or a list of lists, one row per token. Non-negative,
        with sum 1. In float64 every entry keeps its relative accuracy.

    Raises
    ------
    InputError
        If the token lies outside the vocabulary, the role is unknown, or a rule without a closed form has
        more than ten million pairs of key and combination: ``sample_label_distribution`` goes further.
    """
    if np.ndim(token) == 0:
        return _one_distribution(task, int(np.asarray(token)), role, held_out, exact)
    tokens = np.asarray(token)
    if tokens.ndim != 1 or not tokens.size:
        raise InputError("token", tokens.shape, "not a token or a list of tokens", "give shape (n,)")
    needed = 8 * tokens.size * task.vocab_size
    check_memory("token", tokens.size, needed, "the table", "ask for fewer tokens at a time")
    rows = [_one_distribution(task, int(s), role, held_out, exact) for s in tokens]
    return cast("list[list[Fraction]]", rows) if exact else np.stack(cast("list[FloatArray]", rows))


def _one_distribution(
    task: Task, token: int, role: Role, held_out: bool, exact: bool
) -> FloatArray | list[Fraction]:
    _check_token(task, token)
    weights = _occurrence_weights(task, token, role, held_out, exact)
    total = token_ratio(task, token, role=role, held_out=held_out, exact=True)
    if total == 0:
        never = Fraction(1, task.vocab_size)
        return [never] * task.vocab_size if exact else np.full(task.vocab_size, float(never))
    if not exact:
        return np.asarray(weights / weights.sum(), dtype=np.float64)
    if token in task.keys:
        total *= len(task.keys)
    shares = {w: Fraction(w) / total for w in set(weights)}
    return [shares[w] for w in weights]


@overload
def token_ratio(
    task: Task, token: int, *, role: Role = ..., held_out: bool = ..., exact: Literal[False] = ...
) -> float: ...
@overload
def token_ratio(
    task: Task, token: int, *, role: Role = ..., held_out: bool = ..., exact: Literal[True]
) -> Fraction: ...
@checked
def token_ratio(
    task: Task, token: int, *, role: Role = "any", held_out: bool = False, exact: bool = False
) -> float | Fraction:
    r"""Return r_s, the expected number of occurrences of s in a sequence, with multiplicity (Prop. 1).

    The ratios of all tokens sum to L. Parameters are those of ``label_distribution``.
    """
    _check_token(task, token)
    _check_role(role)
    ratio = Fraction(0)
    mapping = task.mapping_of(token)
    if mapping is not None and role in ("any", "anchor"):
        inside = task.n_anchors * len(mapping.anchors) ** (task.n_anchors - 1)
        inside -= held_out * sum(c.count(token) for c in mapping.held_out)
        ratio += Fraction(inside, _n_combinations(task, held_out))
    if token in task.keys:
        places = (role in ("any", "key")) + (role in ("any", "noise")) * task.n_noise
        ratio += Fraction(places, len(task.keys))
    return ratio if exact else float(ratio)


@checked
def marginal_distribution(task: Task, *, held_out: bool = False) -> Float64[FloatArray, " {task.vocab_size}"]:
    r"""Return P̄, the distribution of a label, shape (vocab_size,), float64, with sum 1."""
    weights = sum(_mapping_labels(task, m, None, held_out, False) for m in task.mappings)
    assert isinstance(weights, np.ndarray)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@checked
def label_table(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    """Return P, every token's label distribution at once: shape (vocab_size, vocab_size), rows P^s.

    Raises
    ------
    InputError
        If the table would need more than 4 GiB; ask for single tokens then.
    """
    _check_table_size(task)
    rows = [label_distribution(task, s, held_out=held_out) for s in range(task.vocab_size)]
    return np.stack(rows)


@checked
def token_ratios(task: Task, *, held_out: bool = False) -> Float64[FloatArray, " {task.vocab_size}"]:
    """Return r, every token's ratio at once: shape (vocab_size,), with sum L."""
    return np.array([token_ratio(task, s, held_out=held_out) for s in range(task.vocab_size)])


@checked
def expected_token_label_matrix(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    r"""Return C in the limit of infinite data: row s is :math:`r_s (P^s - u)` (eq. 5).

    ``token_label_matrix`` gives the same of a finite sample; both have shape (vocab_size, vocab_size).
    """
    ratios = token_ratios(task, held_out=held_out)
    return ratios[:, None] * (label_table(task, held_out=held_out) - 1 / task.vocab_size)


def _check_token(task: Task, token: int) -> None:
    if not 0 <= as_integer("token", token) < task.vocab_size:
        raise InputError(
            "token",
            token,
            f"outside the vocabulary 0..{task.vocab_size - 1}",
            "give a token of the task",
        )


def _check_role(role: str) -> None:
    if role not in _ROLES:
        raise InputError("role", role, "unknown role", f"choose one of {', '.join(_ROLES)}")


def _check_table_size(task: Task) -> None:
    needed = 8 * task.vocab_size**2
    if needed > _TABLE_LIMIT_BYTES:
        raise InputError(
            "vocab_size",
            task.vocab_size,
            f"the whole table needs {needed / 2**30:.0f} GiB",
            "ask label_distribution for the tokens you need",
        )


def _n_combinations(task: Task, held_out: bool) -> int:
    return sum(task.n_combinations(m, held_out=held_out) for m in task.mappings)


def _occurrence_weights(task: Task, token: int, role: Role, held_out: bool, exact: bool) -> Array:
    """Return the mass of every label over the occurrences of ``token``: r_s P^s, times N_Z for a key."""
    _check_role(role)
    weights = np.zeros(task.vocab_size, dtype=object if exact else np.float64)
    own = task.mapping_of(token)
    if own is not None and role in ("any", "anchor"):
        weights = weights + _mapping_labels(task, own, token, held_out, exact)
    if token not in task.keys:
        return weights
    for mapping in task.mappings:
        if role in ("any", "key"):
            weights = weights + _mapping_labels(task, mapping, None, held_out, exact, key=token)
        if role in ("any", "noise") and task.n_noise:
            distribution = _mapping_labels(task, mapping, None, held_out, exact)
            weights = weights + distribution * task.n_noise
    return weights


def _mapping_labels(
    task: Task,
    mapping: Mapping,
    anchor: int | None,
    held_out: bool,
    exact: bool,
    key: int | None = None,
) -> Array:
    """Return the labels' mass over one mapping's combinations, times its share of all sequences.

    With an ``anchor`` every combination counts as often as it holds that anchor; without, once. With a
    ``key`` the key is given; without, it is uniform. Shape (vocab_size,), total share × count.
    """
    selection = Selection(anchor, key=key, held_out=mapping.held_out if held_out else frozenset())
    share = Fraction(task.n_combinations(mapping), _n_combinations(task, held_out))
    distribution = mapping.rule.distribution(task.domain(mapping), selection, exact)
    return distribution.scaled(share).dense(task.vocab_size)
