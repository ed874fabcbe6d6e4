"""Each observable from arrays of which the answer is known, or found by another route."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim.conftest import SMALL_TASK
from theory import Mapping, Window
from theory.task.task import task_from_dict
from validate.observe.observables import (
    effective_rank,
    embedding_geometry,
    held_out_deviations,
    value_direction,
)
from validate.observe.parameters import draw_held_out, draw_probe

RNG = np.random.default_rng(5)
TASK = task_from_dict(SMALL_TASK | {"length": 5})


def test_three_components_of_a_three_dimensional_embedding_keep_every_distance():
    embedding = RNG.standard_normal((48, 3)) @ RNG.standard_normal((3, 6)) + 2.0
    found = embedding_geometry(embedding, TASK)
    tokens = [*TASK.anchors, *TASK.keys]
    for name, own in (("pca", tokens), ("pca_anchors", list(TASK.reasoning_anchors))):
        a, b = found[name], embedding[own]
        between = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (a, b)]
        np.testing.assert_allclose(between[0], between[1], atol=1e-12)
        assert found[f"{name}_variance"].sum() == pytest.approx(1, abs=1e-12)
    two_axes = embedding_geometry(RNG.standard_normal((48, 6)), TASK)["pca_variance"]
    assert two_axes.sum() < 0.999


def test_the_direction_of_the_values_is_the_top_eigenvector_of_their_outer_product():
    W_V, embedding = RNG.standard_normal((6, 4)), RNG.standard_normal((48, 6))
    top = np.linalg.eigh(W_V @ W_V.T)[1][:, -1]
    expected = [np.dot(embedding[t], top) / math.hypot(*embedding[t]) for t in (1, 2, 20)]
    found = value_direction(embedding, W_V, [1, 2, 20], [4, 5])
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-12)
    signed = value_direction(embedding, W_V, [4, 5], [4, 5])
    assert signed.mean() > 0
    np.testing.assert_allclose(value_direction(-embedding, W_V, [1, 2, 20], [4, 5]), found, atol=1e-12)
    np.testing.assert_allclose(value_direction(embedding, W_V * 7, [4, 5], [4, 5]), signed, atol=1e-12)
    embedding[2] = 0
    assert np.isnan(value_direction(embedding, W_V, [1, 2, 20], [4, 5])).tolist() == [False, True, False]
    for own in (embedding, -embedding):  # The others fix the sign.
        np.testing.assert_allclose(value_direction(own, W_V, [4, 5], [4, 2, 5]), signed, atol=1e-12)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.floats(0.01, 100))
def test_the_effective_rank_has_no_scale_and_is_at_most_the_rank(values, scale):
    rank = effective_rank(values)
    assert 1 - 1e-9 <= rank <= len(values) + 1e-9
    assert effective_rank([v * scale for v in values]) == pytest.approx(rank, rel=1e-9)
    assert math.isnan(effective_rank([*values, math.nan]))


@pytest.mark.parametrize("undefined", [[0.0], [0.0, 0.0], [math.nan], []])
def test_singular_values_without_a_share_have_no_effective_rank(undefined):
    assert math.isnan(effective_rank(undefined))


def test_answers_to_held_out_combinations_are_counted_by_their_deviation():
    logits = np.eye(48)[[5, 9, 9, 40]]
    found = held_out_deviations(logits, np.array([5, 5, 12, 5]))["held_out_deviations"]
    assert found.shape == (21,)
    assert (found[10], found[14], found[7], found.sum()) == (0.25, 0.25, 0.25, 0.75)  # 35 off is beyond 10.


def test_held_out_sequences_are_those_of_the_rule():
    drawn = draw_held_out(TASK, 64)
    assert drawn is not None
    assert len(drawn[0]) == 64
    for row, label in zip(*drawn, strict=True):
        place = int(np.flatnonzero(row == 4)[0])
        assert row[place + 1] == 6
        assert label == row[place - 1] + 10
    assert draw_held_out(dataclasses.replace(TASK, mappings=[Mapping([1, 2], Window(), "w")])) is None


def test_the_probe_has_as_many_sequences_of_each_kind():
    probe = draw_probe(TASK, 60)
    cells = [((probe.mapping == m) & (probe.position == p)).sum() for m in (0, 1) for p in range(3)]
    assert cells == [10] * 6
    for row, mapping, position in zip(probe.sequences, probe.mapping, probe.position, strict=True):
        own = TASK.mappings[mapping]
        anchors = tuple(row[position + 1 : position + 3].tolist())
        assert set(anchors) <= set(own.anchors)
        assert anchors not in own.held_out
        assert set(np.delete(row, [position + 1, position + 2]).tolist()) <= set(TASK.keys)
