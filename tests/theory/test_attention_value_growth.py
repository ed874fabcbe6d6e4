"""Theorem 2: its claim as a number; test_attention_flow has its prediction against a drawn model."""

import numpy as np
import pytest

from theory import (
    InputError,
    Task,
    expected_token_label_matrix,
    label_distribution,
    predict_value_growth,
)


def numbered_task(n_keys, n_reasoning, n_memory, vocab_size, length=9):
    """Memory anchors 1.., then reasoning anchors, then keys, as in the paper; q = 2."""
    first = n_memory + n_reasoning + 1
    return Task(
        keys=range(first, first + n_keys),
        memory_anchors=range(1, n_memory + 1),
        reasoning_anchors=range(n_memory + 1, first),
        n_anchors=2,
        length=length,
        vocab_size=vocab_size,
    )


def test_alignment_is_the_cosine_with_the_top_direction():
    task = Task.paper()
    growth = predict_value_growth(task)
    C = expected_token_label_matrix(task)
    eigenvalues, eigenvectors = np.linalg.eigh(C.T @ C / task.length)
    np.testing.assert_allclose(growth.singular_values, eigenvalues[::-1].clip(0), atol=1e-16)
    top = eigenvectors[:, -1]
    assert abs(growth.direction @ top) == pytest.approx(1, abs=1e-10)
    cosine = abs(C[15] @ top) / np.linalg.norm(C[15])
    assert growth.alignment[15] == pytest.approx(cosine, abs=1e-10)
    assert np.isnan(growth.alignment[0])
    assert growth.alignment[list(task.reasoning_anchors)].mean() > 0


@pytest.mark.parametrize("form", ["paper", "exact"])
@pytest.mark.parametrize("reference", ["uniform", "marginal"])
@pytest.mark.parametrize("length", [3, 9])
def test_leading_order_does_not_prefer_reasoning_in_the_papers_task(form, reference, length):
    """The negative result: W_V is nearly of rank one, as claimed, but memory anchors lie along it no less."""
    growth = predict_value_growth(Task.paper(length), form=form, reference=reference)
    assert growth.singular_values[1] < 0.45 * growth.singular_values[0]
    assert 0.9 < growth.selectivity < 1


def test_kinds_differ_in_sign_once_the_common_part_is_fitted():
    """With P̄ for u the two kinds of anchors balance: W_V tells them apart by sign, not by size."""
    task = Task.paper()
    growth = predict_value_growth(task, reference="marginal")
    assert (growth.alignment[list(task.reasoning_anchors)] > 0.85).all()
    assert (growth.alignment[list(task.memory_anchors)] < -0.99).all()


def test_where_reasoning_is_preferred():
    """Theorem 2 holds where reasoning dominates the data and memory's distribution is orthogonal to it."""
    assert predict_value_growth(numbered_task(20, 10, 3, 80)).selectivity > 10
    assert predict_value_growth(numbered_task(100, 30, 10, 400)).selectivity > 2
    # The control: the same numbers of anchors of both kinds.
    assert predict_value_growth(numbered_task(20, 10, 10, 90)).selectivity < 1.5


@pytest.mark.parametrize("n_keys", [20, 60, 100])
@pytest.mark.parametrize("vocab_size", [161, 200, 500])
def test_memory_stands_across_a_reasoning_law_where_half_way_between(n_keys, vocab_size):
    """⟨P^s − u, P^m − u⟩ = P(Y^s ∈ Z)/N_Z − 1/d: zero where the keys' share of labels is N_Z/d."""
    task = numbered_task(n_keys, 10, 10, vocab_size)
    u = 1 / vocab_size
    memory = label_distribution(task, 1) - u
    for anchor in task.reasoning_anchors:
        distribution = label_distribution(task, anchor)
        inside = distribution[list(task.keys)].sum()
        assert (distribution - u) @ memory == pytest.approx(inside / n_keys - u, abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [({"form": "printed"}, "form"), ({"reference": "mean"}, "reference")],
)
def test_unknown_choices_are_refused(arguments, argument):
    with pytest.raises(InputError) as refusal:
        predict_value_growth(Task.paper(), **arguments)
    assert refusal.value.argument == argument


def test_a_task_of_one_kind_is_refused():
    task = Task(keys=range(5, 9), memory_anchors=[1, 2], n_anchors=1, length=3, vocab_size=12)
    with pytest.raises(InputError, match="both kinds"):
        predict_value_growth(task)
