"""Drawn parameters, and the one way to name an activation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters, small_example
from theory import (
    IDENTITY,
    TANH,
    EmbMLPParameters,
    InputError,
    OneLayerParameters,
    coupled_flow,
    frozen_flow,
    lemma3_flow,
    lemma4_flow,
    linearised_flow,
    one_layer_logits,
    population_flow,
)

POPULATION = small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()


@pytest.mark.statistical
def test_drawn_one_layer_parameters_have_the_scale_of_section_2_4():
    drawn = OneLayerParameters.draw(200, d_k=40, d_f=90, init_rate=0.8, rng=np.random.default_rng(0))
    assert drawn.W_emb.shape == (200, 200)
    for name, fan_in in (("W_emb", 200), ("W_V", 200), ("W_O", 40), ("W_f1", 200), ("W_f2", 90)):
        matrix = getattr(drawn, name)
        ratio = float(np.mean(matrix**2)) / fan_in**-1.6
        assert abs(ratio - 1) < 4 * np.sqrt(2 / matrix.size), name


def test_a_draw_is_refused_by_the_bytes_of_its_matrices(monkeypatch):
    asked = []
    monkeypatch.setattr("theory.flows.network.check_memory", lambda *a: asked.append(a[2]))
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


MODEL = OneLayerParameters.draw(6, d_k=3, d_f=4, init_rate=0.5, rng=np.random.default_rng(1))
TOKENS, TARGETS = np.array([[0, 1, 2], [3, 4, 5]]), np.full((2, 6), 1 / 6)
TAKES_AN_ACTIVATION = {
    "one_layer_logits": lambda a: one_layer_logits(MODEL, TOKENS, activation=a),
    "lemma3_flow": lambda a: lemma3_flow(MODEL, TOKENS, TARGETS, activation=a),
    "lemma4_flow": lambda a: lemma4_flow(MODEL, TOKENS, TARGETS, activation=a),
    "frozen_flow": lambda a: frozen_flow(C, parameters(), [1.0], population=POPULATION, activation=a).losses[
        "training"
    ],
    "coupled_flow": lambda a: coupled_flow(
        C, parameters(), [1.0], population=POPULATION, activation=a
    ).losses["training"],
    "linearised_flow": lambda a: linearised_flow(
        C, S, parameters(), [1.0], population=POPULATION, activation=a
    ).losses["training"],
    "population_flow": lambda a: population_flow(POPULATION, parameters(), [1.0], activation=a).W_emb,
}


@pytest.mark.parametrize("name", TAKES_AN_ACTIVATION)
def test_an_activation_is_an_object_or_its_name_everywhere(name):
    call = TAKES_AN_ACTIVATION[name]
    for known in (IDENTITY, TANH):
        np.testing.assert_array_equal(call(known.name), call(known))
    for unknown in ("relu", "linear", None, 3):
        with pytest.raises(InputError, match="activation"):
            call(unknown)
