"""The mean and the variance of a batch's gradient: against every sequence's own, by autograd."""

import warnings

import numpy as np
import pytest

import theory
from tests.theory.flow_reference import ACTIVATIONS, TorchModel, parameters, relative, small_example
from theory import AdamSettings
from theory.flows.batches import TIMES_LIMIT, Batching, warn_outside
from theory.flows.gradient_noise import GradientNoise

ROUNDING = 1e-12


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("length", [3, pytest.param(4, marks=pytest.mark.long)])
def test_both_moments_are_those_of_every_sequence_by_itself(activation, length, record_error):
    example, initial = small_example(length), parameters(scale=0.5)
    model = TorchModel(initial, activation)
    single = [model.descent(x[None], y[None]) for x, y in zip(*example.training, strict=True)]
    moments = GradientNoise(example.population).moments(initial.matrices, activation)
    for k, gradients in enumerate(map(np.array, zip(*single, strict=True))):
        record_error("E g²", relative(moments.square[k], (gradients**2).mean(axis=0)), below=ROUNDING)
        assert relative(moments.mean[k], -gradients.mean(axis=0)) < ROUNDING
        assert relative(moments.variance[k], gradients.var(axis=0)) < ROUNDING


@pytest.mark.parametrize(
    ("rate", "size", "warned"), [(1e-4, 100, 0), (1e-3, 16, 0), (1e-3, 8, 1), (5e-4, 3, 1)]
)
def test_batches_too_small_for_the_rate_are_warned_of(rate, size, warned):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_outside(AdamSettings(rate), Batching(size, None), TIMES_LIMIT)
    assert [w.category for w in caught] == [theory.OutsideValidityWarning] * warned
