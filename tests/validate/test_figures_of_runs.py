"""Figures draw what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from theory import Task, label_distribution
from validate.figures import AccuracyCurves, CosineMatrices, LabelDistributions, PredictionError, new_axes
from validate.judge.compare import compare_runs, predicted_cosines
from validate.judge.groups import Setting
from validate.report.figures import draw_label_distributions, draw_overview


def test_figures_draw_what_they_hold(settings: list[Setting]) -> None:
    small = settings[-1]
    curves = AccuracyCurves.from_runs(small).plot()
    x, y = curves.lines_["mem"].get_data()
    assert list(x) == [0, 2, 4, 6]
    assert y[-1] == pytest.approx(np.mean([run.metrics[-1]["accuracy"]["mem"] for run in small.runs]))
    assert curves.ax_ is not None
    assert curves.ax_.get_xlabel() == "epoch"

    tokens = small.task.reasoning_anchors
    matrices = CosineMatrices.from_runs(small, tokens, [2, 6], ["P^s - u"]).plot()
    assert len(matrices.images_) == 3
    expected = np.mean([run.cosines(tokens, 6) for run in small.runs], axis=0)
    np.testing.assert_allclose(matrices.images_[-1].get_array(), expected)

    error = PredictionError.from_rows(compare_runs([small]), small.label, "reasoning").plot()
    assert set(error.lines_) == set(error.curves)
    assert len(error.lines_["P^s - u"].get_xdata()) == 4


def test_predicted_matrices_are_those_of_the_last_epoch(settings: list[Setting]) -> None:
    large, name = settings[0], "frozen flow"
    tokens = large.task.reasoning_anchors
    ((_, first), *_), ((_, last), *_) = (
        CosineMatrices.from_runs(large, tokens, epochs, [name]).panels for epochs in ([2], [2, 6])
    )
    expected = np.mean(predicted_cosines(large.runs, 6, tokens)[name], axis=0)
    np.testing.assert_array_equal(last, expected)
    assert np.abs(last - first).max() > 1e-3


def test_label_distributions_are_those_of_the_theory() -> None:
    task = Task.paper(length=3)
    figure = LabelDistributions.from_task(task, task.reasoning_anchors, "reasoning").plot(new_axes()[1][0])
    assert figure.ax_ is not None
    lines: Any = figure.ax_.get_lines()
    np.testing.assert_allclose(lines[4].get_ydata(), label_distribution(task, 15) - 1 / 200)


def test_reports_show_the_label_distributions_of_the_training_data(
    settings: list[Setting], blank_pictures: None
) -> None:
    """As Fig. 4B and the cosines beside them, which leave the held-out (11, 13) out."""
    task = settings[0].task
    trained = label_distribution(task, 11, held_out=True) - 1 / task.vocab_size
    assert np.abs(trained - label_distribution(task, 11) + 1 / task.vocab_size).max() > 1e-4
    (own,), overview = draw_label_distributions(settings[-1]), draw_overview(settings)
    for ax in (own.figure.axes[1], overview.figure.axes[2]):
        first: Any = ax.get_lines()[0]
        np.testing.assert_allclose(first.get_ydata(), trained)


def test_loss_curves_and_single_seeds(settings: list[Setting]) -> None:
    one = Setting("γ = 0.8", settings[-1].runs[:1])
    curves = AccuracyCurves.from_runs(one, "loss").plot()
    assert curves.ax_ is not None
    assert "nats" in curves.ax_.get_ylabel()
    assert np.isnan(curves.curves["mem"][1:]).all()
