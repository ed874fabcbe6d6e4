"""Bad input to the flows is refused before any work, naming argument, problem and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters, small_example
from theory import (
    Activation,
    EmbMLPParameters,
    InputError,
    Solver,
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
every_flow = pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)


@every_flow
@pytest.mark.parametrize("times", [[-1.0], [2.0, 1.0], [np.nan], [np.inf], [], [[0.0]]], ids=lambda t: str(t))
def test_times_that_make_no_sense(flow, times):
    with pytest.raises(InputError) as caught:
        flow(parameters(), times)
    assert caught.value.argument == "times"


@every_flow
def test_a_vocabulary_that_does_not_fit(flow):
    with pytest.raises(InputError, match="does not fit an embedding of 21 tokens"):
        flow(parameters(vocab_size=21), [1.0])


@every_flow
def test_a_matrix_that_no_flow_has(flow):
    with pytest.raises(InputError, match="W_emb, W1, W2, B") as caught:
        flow(parameters(), [1.0], keep=("W3",))
    assert caught.value.argument == "keep"


@every_flow
def test_asking_for_what_was_not_kept(flow):
    trajectory = flow(parameters(), [0.0], keep=("W1",))
    with pytest.raises(InputError, match="was not kept"):
        _ = trajectory.W_emb


def test_losses_of_a_population_that_does_not_fit():
    with pytest.raises(InputError, match="population"):
        frozen_flow(np.zeros((21, 21)), parameters(vocab_size=21), [1.0], population=POPULATION)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_statistics_and_weights_that_are_not_finite(bad):
    for matrices in ((np.full_like(C, bad), S), (C, np.full_like(S, bad))):
        with pytest.raises(InputError, match="NaN or infinity"):
            linearised_flow(*matrices, parameters(), [1.0])
    with pytest.raises(InputError, match="W1"):
        EmbMLPParameters(np.zeros((3, 2)), np.full((2, 2), bad), np.zeros((2, 3)))


def test_a_cooccurrence_that_is_not_symmetric():
    with pytest.raises(InputError, match="not symmetric"):
        linearised_flow(C, S + np.triu(np.ones_like(S), 1), parameters(), [1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 1e-15}, "float64 cannot meet it"),
        ({"atol": 0.0}, "float64 cannot meet it"),
        ({"rtol": -1.0}, "no tolerance"),
        ({"rtol": np.nan}, "not a finite number"),
        ({"rtol": 1.0}, "no tolerance"),
        ({"method": "Euler"}, "RKC"),
        ({"max_steps": 0}, "at least 1"),
    ],
)
def test_solvers_that_cannot_work(options, message):
    with pytest.raises(InputError, match=message):
        Solver(**options)


@pytest.mark.parametrize(
    "shapes", [((3, 2), (3, 4), (4, 3)), ((3, 2), (2, 4), (4, 5)), ((3,), (2, 4), (4, 3))]
)
def test_matrices_that_do_not_chain(shapes):
    with pytest.raises(InputError, match="do not chain"):
        EmbMLPParameters(*(np.zeros(s) for s in shapes))


@pytest.mark.parametrize("bad", [{"d_m": 0}, {"d_f": -1}, {"init_rate": np.nan}, {"vocab_size": 0}])
def test_sizes_that_nothing_can_be_drawn_for(bad):
    request = {"vocab_size": 5, "d_m": 3, "d_f": 4, "init_rate": 0.8, **bad}
    with pytest.raises(InputError, match=next(iter(bad))):
        EmbMLPParameters.draw(**request, rng=np.random.default_rng(0))


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
    whole = drawn.scaled(0.5)
    assert np.array_equal(whole.W2, 0.5 * drawn.W2)


def test_an_activation_against_assumption_1():
    with pytest.raises(InputError, match="Assumption 1"):
        Activation("sigmoid", lambda h: 1 / (1 + np.exp(-h)), lambda h: np.exp(-h) / (1 + np.exp(-h)) ** 2)


@pytest.mark.parametrize(("shift", "slope"), [(1e-6, 1.0), (0.0, 1.0 + 1e-6)])
def test_an_activation_that_misses_assumption_1_by_little(shift, slope):
    with pytest.raises(InputError, match="Assumption 1"):
        Activation("nearly", lambda h: slope * h + shift, lambda h: np.full_like(h, slope))
