"""Which of the runs given a figure shows, and which it refuses with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from tests.validate.figures.synthetic import make_observations, several
from tests.validate.figures.synthetic_language import several_language
from theory import InputError
from validate.figures import AverageOverGamma, SingularValues
from validate.figures.paper import FIGURES, draw_figure
from validate.figures.selection import large_scales
from validate.judge.groups import group_runs
from validate.report.paper import draw_paper_figures

OF_LANGUAGE = (1, 7, 14)


def test_a_curve_over_gamma_is_of_one_model() -> None:
    """Two models of two γ: Fig. 6C has the values of the model that A and B show."""
    models = {"without layer norm": several("no-norm"), "post-norm": several()}
    sheet = FIGURES[6].build([run for runs in models.values() for run in runs])
    (shown,) = (runs for name, runs in models.items() if name in sheet.rows[0].title)
    values, alone = (
        next(panel for row in each.rows for panel in row.panels if isinstance(panel, SingularValues))
        for each in (sheet, FIGURES[6].build(shown))
    )
    assert list(values.curves) == ["γ = 0.3", "γ = 0.8"]
    for label, own in alone.curves.items():
        np.testing.assert_array_equal(values.curves[label], own)
    assert sheet.about == FIGURES[6].build(shown).about


def test_the_distance_from_the_average_is_of_one_model_which_is_named() -> None:
    row = FIGURES[12].build(several("no-norm") + several()).rows[-1]
    assert [list(p.gammas) for p in row.panels if isinstance(p, AverageOverGamma)] == [[0.3, 0.8]] * 2
    assert row.title.startswith("Distance from the average over γ, Transformer (")
    assert FIGURES[12].build(several()).rows[-1].title == "Distance from the average over γ"


@pytest.mark.parametrize(
    ("given", "large"), [((0.3, 0.5, 0.8), [0.3, 0.5]), ((0.3, 0.8), [0.3]), ((0.3, 0.5), [0.3, 0.5])]
)
def test_large_initial_weights_are_those_that_the_paper_calls_so(
    given: tuple[float, ...], large: list[float]
) -> None:
    assert [s.init_rate for s in large_scales(group_runs(several(gammas=given)))] == large


@pytest.mark.parametrize("given", [(0.8,), (0.6, 0.8)])
def test_small_initial_weights_are_not_drawn_as_large_ones(given: tuple[float, ...]) -> None:
    for number, model in ((10, "emb-mlp"), (11, "transformer"), (12, "transformer")):
        with pytest.raises(InputError, match=r"no large initial weights.* give runs at γ ≤ 0\.5"):
            draw_figure(number, several(model, given))
    with pytest.raises(InputError, match="no large initial weights"):
        draw_figure(14, several_language(given))


def test_runs_of_unequal_length_leave_a_figure_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [make_observations("emb-mlp", seed=seed) for seed in (0, 1)]
    del runs[1].metrics[-2:]
    with pytest.raises(InputError, match=r"seed 0 at 10, seed 1 at 8\), as training\.patience allows"):
        draw_figure(3, runs)
    monkeypatch.setattr("validate.report.paper.FIGURES", {3: FIGURES[3]})
    drawn, (missing,) = draw_paper_figures(runs)
    assert drawn == []
    assert "training.patience" in missing.reason


@pytest.mark.parametrize("number", sorted(set(FIGURES) - set(OF_LANGUAGE)))
def test_runs_of_language_models_are_refused_by_every_other_figure(number: int) -> None:
    with pytest.raises(InputError):
        draw_figure(number, several_language((0.8,)))


@pytest.mark.parametrize("number", [3, 9])
def test_a_figure_of_two_models_says_so_where_it_has_neither(number: int) -> None:
    with pytest.raises(InputError, match=f"Fig. {number} is about the Transformer and the Emb-MLP"):
        draw_figure(number, several_language((0.8,)))


def test_fig_16_says_of_how_many_runs_none_will_do() -> None:
    with pytest.raises(InputError, match=r"runs = 2: Fig\. 16 is about Transformers without norm"):
        draw_figure(16, several_language((0.8,)))
