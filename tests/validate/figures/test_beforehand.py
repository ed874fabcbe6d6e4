"""The kept predictions of the cosines' size: whose they are, and where they are taken."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.config.run import make_member_config
from tests.validate.figures.synthetic import make_observations
from theory import off_diagonal
from validate.compare.flow import flow_cosines, size_command
from validate.figures.beforehand import (
    COURSE,
    NARROW,
    cost_text,
    course_cosines,
    followed_epochs,
    kept,
    narrow_cosines,
)
from validate.figures.embedding import predicted_maps
from validate.observe import kept as kept_runs
from validate.observe.groups import group_runs
from validate.observe.times import accuracy_at
from validate.predict.predictors import UNIFORM


@pytest.fixture(scope="module")
def usual():
    (found,) = (s for s in group_runs(kept_runs("emb-mlp")) if s.init_rate == 0.8)
    return found


def test_it_is_taken_at_the_training_accuracy_of_the_runs(usual):
    """Between two kept accuracies each pair is interpolated; beyond them there is none."""
    accuracies, pairs = kept(NARROW)["accuracies"], np.array(kept(NARROW)["cosines"]["0.8"])
    at = np.mean([accuracy_at(run, 50) for run in usual.runs])
    above = next(i for i, accuracy in enumerate(accuracies) if accuracy > at)
    share = (at - accuracies[above - 1]) / (accuracies[above] - accuracies[above - 1])
    wanted = (1 - share) * pairs[above - 1] + share * pairs[above]
    found = narrow_cosines(usual, usual.task.anchors, 50)
    np.testing.assert_allclose(off_diagonal(found), wanted)
    np.testing.assert_array_equal(found, found.T)
    some = narrow_cosines(usual, (20, 11), 50)
    assert some[0, 1] == found[usual.task.anchors.index(20), usual.task.anchors.index(11)]
    for epoch in (0, 1000):
        assert narrow_cosines(usual, usual.task.anchors, epoch) is None
        assert cost_text(usual, epoch) == ""


def test_it_is_of_one_task_network_and_training(usual):
    (other,) = group_runs([make_observations("emb-mlp")])
    assert narrow_cosines(other, other.task.anchors, 2) is None
    assert [panel.title for panel in predicted_maps(other, other.task.anchors, 2, (NARROW,))] == []


def test_it_knows_the_size_where_the_label_distributions_know_the_order(usual):
    """Over all pairs at half of the training sums: 0.02 and 0.37 on the page (adaptive.md)."""
    observed = np.array([off_diagonal(matrix) for matrix in usual.cosines(usual.task.anchors, 50)])
    order, size = predicted_maps(usual, usual.task.anchors, 50, (UNIFORM, NARROW))
    far, near = (
        np.sqrt(((off_diagonal(panel.values) - observed) ** 2).mean(axis=1)).mean() for panel in (order, size)
    )
    assert near < 0.1 < 0.2 < far
    assert size.title.startswith(f"{NARROW}:\nknows the size\nRMSE 0.0")


def test_runs_that_a_flow_describes_are_offered_it(usual):
    assert size_command([usual], [Path("my runs")]).endswith("anchorflow compare 'my runs' --flow")


def test_the_mean_course_is_that_of_the_printed_transformer():
    """As near as another seed (transformer_course.toml); of another γ, model or training nothing is kept."""
    (printed,) = (s for s in group_runs(kept_runs("printed-seeds")) if s.init_rate == 0.8)
    anchors, run = printed.task.anchors, printed.runs[0]
    for epoch in (epochs := followed_epochs(printed)):
        seen = np.array([off_diagonal(matrix) for matrix in printed.cosines(anchors, epoch)])
        ours = np.mean(kept(COURSE)["cosines"]["0.8"][str(epoch)], axis=0)
        np.testing.assert_array_equal(off_diagonal(course_cosines(printed, anchors, epoch)), ours)
        near, other = (np.sqrt(((x - seen) ** 2).mean()) for x in (ours, np.roll(seen, 1, axis=0)))
        assert near <= 1.2 * other
    own = run.config.model_dump()
    cosine = own["training"] | {"schedule": "warmup-cosine", "warmup_factor": 1.0}
    for change in ({"init_rate": 0.3}, {"model": own["model"] | {"norm": "pre"}}, {"training": cosine}):
        (other,) = group_runs([replace(run, config=make_member_config(own | change))])
        assert followed_epochs(other) == []
    assert (epochs[0], course_cosines(printed, anchors, 200)) == (1, None)


@pytest.mark.slow
def test_what_is_kept_can_be_made_again():
    """The first accuracy alone; rounding differs from machine to machine, and is amplified."""
    sys.path.append(str(Path(__file__).parents[3] / "docs" / "theory"))
    accuracies = importlib.import_module("kept_cosines").ACCURACIES
    assert list(accuracies) == kept(NARROW)["accuracies"]
    config = {"task": "emb-mlp", "init_rate": 0.8, "seed": 0, "training": {"epochs": 100}}
    matrices, *_ = flow_cosines(make_member_config(config), accuracies[:1])
    np.testing.assert_allclose(off_diagonal(matrices[0]), kept(NARROW)["cosines"]["0.8"][0], atol=0.01)
