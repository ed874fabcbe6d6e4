"""The report's figures of errors over time: a name has one colour, whatever else a panel draws."""

from __future__ import annotations

from matplotlib.colors import to_hex

from tests.validate.figures.synthetic import make_observations
from validate.figures.panels.error import COLOURS
from validate.judge.compare import Row
from validate.judge.groups import Setting, group_runs
from validate.judge.rungs import STEPS, WHOLE, RungDistance
from validate.judge.stats import over_seeds
from validate.predict.predictors import FITTED_WIDTH, FUNCTIONS
from validate.report.errors import draw_errors, draw_rungs

OF_THE_EMB_MLP = ("finite sample", "frozen flow", "frozen flow, late")
"""Predictors that read what only an Emb-MLP's run has, or in these made-up comparisons."""


def _settings(*seeds: int) -> list[Setting]:
    return group_runs([make_observations(m, seed=s) for m in ("emb-mlp", "transformer") for s in seeds])


def _rows(settings: list[Setting], *values: float) -> list[Row]:
    return [
        Row(setting.label, epoch, group, None, predictor, "rmse", over_seeds(list(values)))
        for setting in settings
        for predictor in FUNCTIONS
        if setting.kind == "emb-mlp" or predictor not in OF_THE_EMB_MLP
        for group in ("memory", "reasoning", "all anchors")
        for epoch in (0, 2)
    ]


def test_the_legend_names_the_curves_of_every_panel() -> None:
    settings = _settings(0, 1)
    for drawn in draw_errors(settings, _rows(settings, 0.1, 0.2)):
        (legend,) = drawn.figure.legends
        named = {
            text.get_text(): to_hex(handle.get_color())  # type: ignore[union-attr]
            for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
        }
        assert set(named) == set(FUNCTIONS)
        lines = [line for ax in drawn.figure.axes for line in ax.get_lines()]
        assert len(lines) == 2 * len(FUNCTIONS) - len(OF_THE_EMB_MLP)
        assert all(named[str(line.get_label())] == to_hex(line.get_color()) for line in lines)


def test_every_name_has_a_colour_of_its_own() -> None:
    steps = [f"{lower} → {upper}" for lower, upper, _ in STEPS]
    for names in (list(FUNCTIONS), steps):
        assert len({COLOURS[name] for name in names}) == len(names)
    assert FITTED_WIDTH in COLOURS


def test_the_captions_explain_the_shades_that_there_are() -> None:
    said = "shaded: 95 % interval over seeds (Student t)."
    for seeds, values in (((0, 1), (0.1, 0.2)), ((0,), (0.1,))):
        settings = _settings(*seeds)
        estimate = over_seeds(list(values))
        steps = [
            RungDistance(settings[0].label, epoch, "memory", lower, upper, cause, estimate, estimate)
            for lower, upper, cause in STEPS
            for epoch in (0, 2)
        ]
        figures = [*draw_errors(settings, _rows(settings, *values)), *draw_rungs(settings, steps)]
        assert len(figures) == 4
        for drawn in figures:
            shades = [ax.collections for ax in drawn.figure.axes if ax.collections]
            assert drawn.caption.endswith(said) == bool(shades) == (len(seeds) > 1)
            assert drawn.caption.endswith(".")


def test_steps_that_span_others_are_in_no_figure() -> None:
    (setting,) = group_runs([make_observations("emb-mlp")])
    estimate = over_seeds([0.1])
    distances = [
        RungDistance(setting.label, epoch, "memory", lower, upper, cause, estimate, estimate)
        for lower, upper, cause in STEPS + WHOLE
        for epoch in (0, 2)
    ]
    (drawn,) = draw_rungs([setting], distances)
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        f"{lower} → {upper}" for lower, upper, _ in STEPS
    ]
