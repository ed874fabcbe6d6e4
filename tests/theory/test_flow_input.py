"""Bad input to the flows is refused before any work, naming the argument."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters, small_example
from theory import (
    Activation,
    EmbMLPParameters,
    InputError,
    coupled_flow,
    frozen_flow,
    linearised_flow,
    population_flow,
)

POPULATION = small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
FLOWS = {
    "frozen": lambda initial, times, **o: frozen_flow(C, initial, times, **o),
    "coupled": lambda initial, times, **o: coupled_flow(C, initial, times, **o),
    "linearised": lambda initial, times, **o: linearised_flow(C, S, initial, times, **o),
    "population": lambda initial, times, **o: population_flow(POPULATION, initial, times, **o),
}


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
@pytest.mark.parametrize(
    ("times", "options", "named"),
    [
        *(([t], {}, "times") for t in (-1.0, np.nan, np.inf)),
        ([2.0, 1.0], {}, "times"),
        ([], {}, "times"),
        ([[0.0]], {}, "times"),
        ([1.0], {"keep": ("W3",)}, "keep"),
        ([1.0], {"weight_decay": -0.1}, "weight_decay"),
    ],
)
def test_a_request_that_makes_no_sense(flow, times, options, named):
    with pytest.raises(InputError) as caught:
        flow(parameters(), times, **options)
    assert caught.value.argument == named


def test_a_draw_is_refused_by_the_bytes_of_its_matrices(monkeypatch):
    asked = []
    monkeypatch.setattr("theory.flows.parameters.check_memory", lambda *a: asked.append(a[2]))
    drawn = EmbMLPParameters.draw(7, d_m=3, d_f=5, init_rate=0.8, rng=np.random.default_rng(0))
    assert asked == [sum(matrix.nbytes for matrix in drawn.matrices)]


@pytest.mark.statistical
def test_drawn_parameters_have_the_scale_of_section_2_4():
    drawn = EmbMLPParameters.draw(300, d_m=100, d_f=400, init_rate=0.8, rng=np.random.default_rng(0))
    for matrix, fan_in in ((drawn.W_emb, 100), (drawn.W1, 100), (drawn.W2, 400)):
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        # A sample variance over n entries has relative standard error √(2/n); four of them.
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size)
    assert np.array_equal(drawn.scaled(0.5).W2, 0.5 * drawn.W2)


@pytest.mark.parametrize(("shift", "slope"), [(0.5, 1.0), (1e-6, 1.0), (0.0, 1.0 + 1e-6)])
def test_an_activation_that_misses_assumption_1(shift, slope):
    with pytest.raises(InputError, match="Assumption 1"):
        Activation("nearly", lambda h: slope * h + shift, lambda h: np.full_like(h, slope))
