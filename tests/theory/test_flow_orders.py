"""Proposition 1's error in powers of the initial scale, and what each further order removes."""

from __future__ import annotations

import pytest

from tests.theory.flow_reference import (
    ACTIVATIONS,
    BENT,
    TorchModel,
    parameters,
    relative,
    slope,
    small_example,
)
from theory import IDENTITY, TANH, Activation, gradient_orders

PREDICTED = {IDENTITY: [3, 6], TANH: [3, 4, 6], BENT: [2, 3, 4, 5]}
SCALES = [0.005, 0.0075, 0.01125]
# One further power of a scale near 0.01 with a coefficient up to ten tilts the slope by < 0.1.
TILT = 0.1


def relative_errors(activation: Activation, n_terms: int) -> list[float]:
    example = small_example()
    train = example.sequences[example.trains], example.labels[example.trains]
    errors = []
    for eps in SCALES:
        weights = parameters(scale=1.0).scaled(eps)
        truth = TorchModel(weights, activation).descent(*train)[0]
        sum_of_terms, _ = gradient_orders(example.population, weights, activation).truncated(n_terms)
        errors.append(relative(sum_of_terms, truth))
    return errors


@pytest.mark.parametrize(
    ("activation", "n_terms"),
    [(a, n + 1) for a in ACTIVATIONS for n in range(len(PREDICTED[a]))],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_each_order_raises_the_exponent_as_predicted(activation, n_terms, record_error):
    expansion = gradient_orders(small_example().population, parameters(), activation)
    assert len(expansion.terms) == len(PREDICTED[activation])
    predicted = expansion.truncated(n_terms)[1]
    assert predicted == PREDICTED[activation][n_terms - 1]
    errors = relative_errors(activation, n_terms)
    assert slope(SCALES, errors) == pytest.approx(predicted, abs=TILT)
    if n_terms == 1 and activation is not IDENTITY:
        record_error("eq. 5" if activation is TANH else "eq. 5, σ''(0) ≠ 0", errors[0])
    if n_terms == 2 and activation is TANH:
        record_error("next order of eq. 5", errors[0])


def test_proposition_1_at_a_small_scale(record_error):
    example = small_example()
    train = example.sequences[example.trains], example.labels[example.trains]
    weights = parameters(scale=1e-3)
    truth = TorchModel(weights, TANH).descent(*train)[0]
    leading, order = gradient_orders(example.population, weights, TANH).truncated(1)
    error = relative(leading, truth)
    record_error("Prop. 1", error)
    record_error("eq. 4", error)
    # ε³ = 1e-9 times the size of B/ε³ over d, which is of order ten for these widths.
    assert order == 3
    assert error < 1e-7
