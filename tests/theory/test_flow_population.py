"""The exact flow: Lemma 2 against autograd, its losses, and gradient descent's approach to it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import ACTIVATIONS, TorchModel, parameters, relative, small_example
from theory import EXACT, IDENTITY, EmbMLPParameters, population_flow
from theory.flows.gradient import losses, population_field, token_gradient
from theory.integrate.trajectory import EMBEDDING_BALANCE, HIDDEN_BALANCE

GRADIENT_ROUNDING = 1e-12
"""Both sides sum some thousand float64 products; 1e-12 leaves four digits above their rounding."""


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("length", [3, 4])
def test_lemma_2_is_the_gradient_of_the_real_model(activation, length, record_error):
    example, initial = small_example(length), parameters()
    truth = TorchModel(initial, activation).descent(*example.training)
    ours = population_field(example.population, activation)(initial.matrices)
    errors = [relative(a, b) for a, b in zip(ours, truth, strict=True)]
    record_error(("Lemma 2", "eq. 19"), errors[0])
    assert max(errors) < GRADIENT_ROUNDING


def test_labels_that_one_factor_rules_out_are_not_lost():
    """A key is sure of label 0 and its anchors of label 1: each of the others is e^100 times likelier.

    As products of a key's and the anchors' exponentials all of them would be zero.
    """
    example = small_example()
    keys, anchors = slice(5, 10), slice(1, 5)
    B = 0.1 * np.random.default_rng(0).standard_normal((20, 20))
    B[keys] -= 1000
    B[keys, :2] += [1000, -1000]
    B[anchors] -= 450
    B[anchors, :2] += [-550, 450]
    model = TorchModel(EmbMLPParameters(B, np.eye(20), np.eye(20)), IDENTITY)
    truth = model.descent(*example.training)[0]
    assert relative(token_gradient(example.population, B), truth) < GRADIENT_ROUNDING


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("scale", [0.3, 40.0])
def test_losses_are_those_of_the_real_model(activation, scale):
    example = small_example()
    initial = parameters(scale=scale)
    measured = losses(example.population, initial.matrices, activation)
    model = TorchModel(initial, activation)
    memory = example.mapping == [m.name for m in example.task.mappings].index("memory")
    groups = {
        "training": example.trains,
        "memory": memory,
        "reasoning train": ~memory & example.trains,
        "reasoning test": ~example.trains,
    }
    for name, rows in groups.items():
        truth = model.loss(example.sequences[rows], example.labels[rows]).item()
        assert measured[name] == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.05])
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
def test_what_is_conserved_decays_twice_as_fast_as_the_weights(activation, decay):
    options = {"activation": activation, "weight_decay": decay, "solver": EXACT, "keep": ("W_emb", "W1")}
    flow = population_flow(small_example().population, parameters(), [0.0, 20.0], **options)
    expected = {EMBEDDING_BALANCE} | ({HIDDEN_BALANCE} if activation is IDENTITY else set())
    assert flow.invariants.keys() == expected
    for drift in flow.invariants.values():
        assert drift[0] == 0
        # Local tolerance 1e-9 over fewer than a thousand steps.
        assert drift[1] < 1e-6
    before, after = (E.T @ E - W @ W.T for E, W in zip(flow["W_emb"], flow["W1"], strict=True))
    assert relative(after, np.exp(-2 * decay * 20) * before) < 1e-6
