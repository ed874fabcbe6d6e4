"""A loss axis shows the training, also where the first loss is a thousand times the others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.validate.figures.drawn import drawn, runs_for
from validate.figures import AccuracyCurves


@pytest.mark.parametrize(("start", "cut"), [(9.0, False), (4000.0, True)])
def test_a_start_that_would_hide_the_curves_is_cut_and_told(start: float, cut: bool) -> None:
    means = np.array([start, 4.6, 3.0, 1.0])
    curves = AccuracyCurves(
        "γ = 0.3", "loss", np.arange(4.0), {"mem": np.stack([means, 0.9 * means, 1.1 * means])}
    )
    ax = curves.plot().ax_
    assert ax is not None
    top = ax.get_ylim()[1]
    texts = [text.get_text() for text in ax.texts]
    if cut:
        assert top == pytest.approx(1.5 * 4.6)
        assert texts == ["start: 4e+03"]
    else:
        assert top > 9.0
        assert texts == []
    np.testing.assert_array_equal(curves.lines_["mem"].get_ydata(), means)


def test_a_logarithmic_axis_spans_the_means_where_an_interval_reaches_to_zero() -> None:
    means = np.array([600.0, 4.0, 0.1, 0.002])
    band = {"mem": np.stack([means, np.zeros(4), 2 * means])}
    ax = AccuracyCurves("γ = 0.3", "loss", np.arange(4.0), band, log=True).plot().ax_
    assert ax is not None
    assert ax.get_yscale() == "log"
    assert ax.get_ylim() == pytest.approx((0.001, 1200.0))
    assert [text.get_text() for text in ax.texts] == []


def test_the_losses_without_norm_are_on_one_logarithmic_axis() -> None:
    loss, accuracy = drawn(16).axes_
    assert {ax.get_yscale() for ax in loss} == {"log"}
    assert len({ax.get_ylim() for ax in loss}) == 1
    assert {ax.get_yscale() for ax in accuracy} == {"linear"}


def test_the_curves_without_norm_show_each_seed_in_place_of_an_interval() -> None:
    sheet = drawn(16)
    assert "Thin curves: one seed each" in sheet.note
    assert "shades" not in sheet.note.lower()
    runs = {(run.config.init_rate, run.config.seed): run for run in runs_for(16)}
    ax = sheet.axes_[0][0]
    thin = [line.get_ydata() for line in ax.lines if line.get_linewidth() < 1 and len(line.get_xdata()) > 2]
    for seed in (0, 1):
        own = [line["loss"]["mem"] for line in runs[0.3, seed].metrics]
        assert any(np.allclose(own, other) for other in thin)
