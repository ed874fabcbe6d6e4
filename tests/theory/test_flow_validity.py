"""The error budget: horizons are first passages of the cosine error, and behave as they should."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters, small_example
from theory import (
    EXACT,
    IDENTITY,
    EmbMLPParameters,
    cosine_errors,
    cosine_matrix,
    coupled_flow,
    frozen_flow,
    population_flow,
    validity_horizon,
)
from theory.flows.validity import RUNGS

POPULATION = small_example().population
ANCHORS = (1, 2, 3, 4)


def table(**options):
    options = {"d_m": 12, "d_f": 20, "rng": np.random.default_rng(3), "n_times": 61, **options}
    return validity_horizon(POPULATION, ANCHORS, [0.6, 1.2], [0.05, 0.2], **options)


def test_one_row_for_each_rate_rung_and_bound():
    rows = table()
    assert [(r.init_rate, r.rung, r.bound) for r in rows] == [
        (g, rung, b) for g in (0.6, 1.2) for rung in RUNGS for b in (0.05, 0.2)
    ]
    for row in rows:
        assert row.time > 0
        assert row.span == pytest.approx(3 * row.clock)


def test_the_softmax_rungs_outlive_the_uniform_one_at_a_small_scale():
    horizon = {(r.init_rate, r.rung): r.time for r in table() if r.bound == 0.05}
    assert horizon[1.2, "frozen"] < horizon[1.2, "coupled"]
    assert horizon[1.2, "coupled"] <= horizon[1.2, "linearised"]


def test_a_rung_is_valid_for_ever_against_itself():
    rows = table(activation=IDENTITY)
    assert all(np.isinf(r.time) for r in rows if r.rung == "population")
    assert not any(np.isinf(r.time) for r in rows if r.rung == "frozen")


def test_the_cosine_error_is_the_largest_over_pairs():
    times = [0.0, 3.0, 9.0]
    initial = parameters()
    a = population_flow(POPULATION, initial, times)
    b = frozen_flow(POPULATION.token_label_matrix(), initial, times)
    errors = cosine_errors(a, b, ANCHORS)
    assert errors[0] == 0
    by_hand = max(
        abs(cosine_matrix(a.W_emb[2][[i, j]])[0, 1] - cosine_matrix(b.W_emb[2][[i, j]])[0, 1])
        for i in ANCHORS
        for j in ANCHORS
    )
    assert errors[2] == pytest.approx(by_hand, abs=1e-15)


def test_a_rung_that_blows_up_is_not_valid_beyond_even_for_a_bound_it_never_passes():
    """No cosine error exceeds 2: only the blow-up ends the coupled rung, and nothing ends the others."""
    rows = validity_horizon(
        POPULATION, ANCHORS, [1.2], [2.5], d_m=12, d_f=20, rng=np.random.default_rng(3), n_times=61
    )
    horizon = {row.rung: row for row in rows}
    coupled = horizon.pop("coupled")
    assert coupled.clock < coupled.time < coupled.span
    drawn_with = np.random.default_rng(int(np.random.default_rng(3).integers(2**63)))
    initial = EmbMLPParameters.draw(20, d_m=12, d_f=20, init_rate=1.2, rng=drawn_with)
    end = coupled_flow(POPULATION.token_label_matrix(), initial, [coupled.span], solver=EXACT).blow_up
    assert coupled.time == pytest.approx(end, rel=0.01)
    assert all(np.isinf(row.time) for row in horizon.values())


def test_every_rate_starts_from_one_draw():
    """Only its scale differs, so that rates can be compared."""
    options = {"d_m": 6, "d_f": 8, "rng": np.random.default_rng(3), "n_times": 21}
    rows = validity_horizon(POPULATION, ANCHORS, [0.8, 0.8], [0.05], **options)
    assert rows[: len(RUNGS)] == rows[len(RUNGS) :]
