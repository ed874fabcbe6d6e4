"""Label distributions by independent routes: enumeration, closed form, numbers by hand, large tasks.

Every public function that can leave held-out combinations out is held to sequences written down one by one.
The functions are found by their parameter ``held_out``: a new one without a check here fails.
"""

import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import theory
from tests.theory.any_rule import Enumerated, combinations, counts_of_sum, tasks
from tests.theory.flow_reference import Example
from theory import Expression, Lookup, Mapping, Sum, Task
from theory.labels.sampled import drawn_shares

ROUNDING = 1e-13
ROLES = ("any", "anchor", "key", "noise")


def close(found: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, atol=ROUNDING)


def label_distributions(task: Task, brute: Enumerated, held_out: bool) -> None:
    everyone = range(task.vocab_size)
    for role in ROLES:
        close(theory.label_distribution(task, everyone, role=role, held_out=held_out), brute.table(role))
    for mapping in task.mappings:
        labels = np.flatnonzero(brute.mass["anchor"][list(mapping.anchors)].any(axis=0))
        assert np.isin(labels, task.label_range(mapping)).all()


def ratios(task: Task, brute: Enumerated, held_out: bool) -> None:
    for role in ROLES:
        everyone = range(task.vocab_size)
        found = [theory.token_ratio(task, s, role=role, held_out=held_out) for s in everyone]
        close(found, brute.ratio(role))


def drawn_distribution(task: Task, brute: Enumerated, held_out: bool) -> None:
    rng, n = np.random.default_rng(0), 400
    for token in (task.anchors[0], task.anchors[-1], task.keys[0], task.keys[-1]):
        if brute.ratio()[token] > 1e-12:
            found, exact = drawn_shares(task, token, rng, n, held_out=held_out), brute.table()[token]
            hits = np.rint(n * found)
            tail = np.minimum(binom.cdf(hits, n, exact), binom.sf(hits - 1, n, exact))
            # One label in 10^10: a false alarm in some million tasks.
            assert tail.min() > 1e-10
            assert found[exact < 1e-12].max(initial=0) == 0


def several_labels(task: Task, brute: Enumerated, held_out: bool) -> None:
    drawn_distribution(task, brute, held_out)
    tokens = [task.anchors[0], task.anchors[-1], task.keys[0]]
    found = theory.sample_labels(task, tokens, np.random.default_rng(0), n_samples=40, held_out=held_out)
    close(found.moments.shares, brute.table()[tokens])
    close(found.moments.inner, brute.table()[tokens] @ brute.table()[tokens].T)


def cosines(task: Task, brute: Enumerated, held_out: bool) -> None:
    own = [s for s in task.anchors if brute.ratio()[s] > 1e-12]
    centred = (brute.table() - 1 / task.vocab_size)[own]
    n = 2 * sum(len(combinations(task, m, held_out)) for m in task.mappings)
    for size in (None, n):
        found = theory.finite_sample_cosines(task, [*own, own[0]], n_sequences=size, held_out=held_out)
        covariance = np.array([[brute.covariance(a, b, size) for b in own] for a in own])
        inner = centred @ centred.T + covariance
        close(found.spread[:-1], np.diagonal(covariance))
        close(found.signal[:-1], np.diagonal(centred @ centred.T))
        close(found.inner[:-1, :-1], inner)
        lengths = np.sqrt(np.diagonal(inner))
        close(found.cosine[:-1, :-1], inner / np.outer(lengths, lengths))
        assert found.cosine[0, -1] == pytest.approx(1)
    with pytest.raises(theory.InputError, match="n_sequences"):
        theory.finite_sample_cosines(task, own, n_sequences=n // 2 - 1, held_out=held_out)


def value_growth(task: Task, brute: Enumerated, held_out: bool) -> None:
    assume(task.reasoning_anchors and task.memory_anchors)
    for reference, label in (("uniform", 1 / task.vocab_size), ("marginal", brute.marginal)):
        for form, role in (("paper", "any"), ("exact", "last")):
            found = theory.predict_value_growth(task, form=form, reference=reference, held_out=held_out)
            D, C = brute.matrix(role, label), brute.matrix("any", label)
            expected = np.linalg.svd(D.T @ C / task.length, compute_uv=False)
            np.testing.assert_allclose(found.singular_values, expected, atol=1e-12)
            driven = np.linalg.norm(D, axis=1) > 1e-9
            along = D[driven] @ found.direction / np.linalg.norm(D[driven], axis=1)
            np.testing.assert_allclose(found.alignment[driven], along, atol=1e-9)


Check = Callable[[Task, Enumerated, bool], None]


def table(compute: Callable[..., object], of: Callable[[Enumerated], object]) -> Check:
    """Return the check of a function of the task alone."""
    return lambda task, brute, held_out: close(compute(task, held_out=held_out), of(brute))


def per_token(compute: Callable[..., object], of: Callable[[Enumerated], object]) -> Check:
    """Return the check of a function of one token."""
    return lambda task, brute, held_out: close(
        [compute(task, s, held_out=held_out) for s in range(task.vocab_size)], of(brute)
    )


CHECKS: dict[str, Check] = {
    "label_distribution": label_distributions,
    "token_ratio": ratios,
    "label_table": table(theory.label_table, lambda b: b.table()),
    "token_ratios": table(theory.token_ratios, lambda b: b.ratio()),
    "marginal_distribution": table(theory.marginal_distribution, lambda b: b.marginal),
    "expected_token_label_matrix": table(theory.expected_token_label_matrix, lambda b: b.matrix()),
    "expected_cooccurrence": table(theory.expected_cooccurrence, lambda b: b.cooccurrence),
    "last_position_distribution": per_token(theory.last_position_distribution, lambda b: b.table("last")),
    "last_position_matrix": table(theory.last_position_matrix, lambda b: b.matrix("last")),
    "predict_value_growth": value_growth,
    "sample_labels": several_labels,
    "finite_sample_cosines": cosines,
}


def takes_held_out(function: object) -> bool:
    if not inspect.isfunction(function):
        return False
    parameter = inspect.signature(function).parameters.get("held_out")
    return parameter is not None and parameter.default is False


def test_every_function_with_the_switch_is_checked() -> None:
    assert {name for name in theory.__all__ if takes_held_out(getattr(theory, name))} == CHECKS.keys()


@pytest.mark.parametrize("name", CHECKS)
@given(task=tasks(most_keys=3, most_anchors=2), held_out=st.booleans())
@settings(max_examples=10)
def test_it_is_the_mean_over_the_sequences_that_are_left(name: str, task: Task, held_out: bool) -> None:
    CHECKS[name](task, Enumerated.of(task, held_out), held_out)
    left = sum(task.n_combinations(m, held_out=held_out) for m in task.mappings)
    assert left == sum(len(combinations(task, m, held_out)) for m in task.mappings)


Record = Callable[..., None]
LARGE = Task(
    keys=range(3000, 103_000),
    reasoning_anchors=range(11, 21),
    memory_anchors=range(1, 11),
    n_anchors=200,
    length=201,
    vocab_size=110_000,
)
"""The largest task that the label distributions have to manage in under a second."""


def test_equations_7_and_8_for_the_papers_task(record_error: Record) -> None:
    """Eq. 7 is uniform on the keys; eq. 8 at q = 2 is a trapezoid, written out here by hand."""
    task = Task.paper()
    keys = np.zeros(200)
    keys[21:121] = 0.01
    record_error("eq. 7", np.abs(theory.label_distribution(task, 4) - keys).max(), below=1e-15)
    for s in task.reasoning_anchors:
        i = np.arange(200)
        ways = np.clip(np.minimum(i - (s + 21 + 11) + 1, (s + 120 + 20) - i + 1), 0, 10)
        record_error("eq. 8", np.abs(theory.label_distribution(task, s) - ways / 1000).max(), below=1e-15)
        held_out = theory.label_distribution(task, s, held_out=True)
        assert np.allclose(held_out, ways / 1000, atol=1e-15) == (s not in (11, 13))


def test_200_anchors_and_100_000_keys_in_under_a_second(record_error: Record) -> None:
    start = time.process_time()
    floats = theory.label_distribution(LARGE, 15)
    seconds = time.process_time() - start
    counts = counts_of_sum(*[10] * 199, 100_000)
    exact, least = np.zeros(110_000), 3000 + 199 * 11 + 15
    exact[least : least + len(counts)] = [n / (100_000 * 10**199) for n in counts]
    assert seconds < 1
    assert exact[exact > 0].min() < 1e-190
    np.testing.assert_allclose(floats, exact, rtol=1e-12, atol=0)
    record_error("eq. 22", np.abs(floats - exact).max())


@pytest.mark.parametrize("rule", [Sum(), Lookup()])
def test_a_mapping_of_a_share_below_any_float_has_label_distributions(rule: Any) -> None:
    """One combination out of 1 + 10^330: the label is that of the one, or uniform on the keys."""
    rules = [Mapping([1], rule, "rare"), Mapping(range(2, 12), Sum(), "common")]
    task = Task(keys=range(20, 25), n_anchors=330, length=331, vocab_size=3700, mappings=rules)
    start = 20 + 330 * isinstance(rule, Sum)
    wanted = np.where((np.arange(3700) >= start) & (np.arange(3700) < start + 5), 0.2, 0)
    drawn = drawn_shares(task, 1, np.random.default_rng(0), 40, held_out=False)
    assert not drawn[wanted == 0].any()
    for found in (theory.label_distribution(task, 1), theory.last_position_distribution(task, 1)):
        np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=0)


@pytest.mark.parametrize("q", [15, 16, 20])
def test_counts_of_combinations_may_be_longer_than_64_bits(q: int) -> None:
    """Combinations of 20 anchors, where one is held out, by the remainder of key and total."""
    rule = Expression("(key + total) % 3")
    options: Any = {"keys": range(50, 90), "n_anchors": q, "length": q + 2, "vocab_size": 97}
    task = Task(mappings=[Mapping(range(1, 21), rule, held_out=[(3,) * q])], **options)
    for held_out in (False, True, np.False_, np.True_):
        for token, role, keys, anchors in (
            (3, "any", task.keys, [3]),
            (50, "key", [50], []),
            (50, "noise", task.keys, []),
        ):
            drawn, counts = q - len(anchors), [0] * 3
            for total, n in enumerate(counts_of_sum(*[20] * drawn), start=drawn + sum(anchors)):
                for key in keys:
                    counts[(key + total) % 3] += n - (bool(held_out) and total == 3 * q)
            found = theory.label_distribution(task, token, role=role, held_out=held_out)  # type: ignore[arg-type]
            np.testing.assert_allclose(found[:3], [n / sum(counts) for n in counts], rtol=1e-12, atol=0)
            assert not found[3:].any()


def test_a_total_that_is_held_out_whole_has_no_mass_left() -> None:
    """One forty-ninth times 49 is not 1 in float64."""
    sums = Mapping(range(1, 50), Sum(), held_out=[(1, 1)])
    task = Task(keys=[60], n_anchors=2, length=3, vocab_size=200, mappings=[sums])
    assert theory.label_distribution(task, 1, held_out=True)[62] == 0


@pytest.mark.parametrize("length", [3, 4])
def test_matrix_of_the_enumerated_rule_is_exact(length: int, record_error: Record) -> None:
    """Without tables nothing is random: C of the population equals the expected C."""
    held = {"reasoning_anchors": range(1, 5), "held_out": [(1, 3), (2, 2)]}
    task = Task(keys=range(30, 36), n_anchors=2, length=length, vocab_size=50, **held)
    sequences, labels = Example.of(task, np.random.default_rng(0)).training
    found = theory.token_label_matrix(sequences, labels, 50)
    worst = np.abs(found - theory.expected_token_label_matrix(task, held_out=True)).max()
    record_error("eq. 23-25", worst, below=1e-15)
