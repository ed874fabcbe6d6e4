"""Figures can be read at the width of a page: sizes, overlaps, shared axes, scales that show differences."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from tests.validate.figures.drawn import drawn, laid_out, runs_for
from tests.validate.figures.synthetic import RANGES, TASK, make_observations, several
from validate.figures import CosineMatrix, PanelRow, Sheet
from validate.figures.paper import FIGURES, draw_figure
from validate.figures.sheet import plain
from validate.figures.style import DIVERGING, PAGE_WIDTH, SEQUENTIAL

LEAST_POINTS = 6


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_text_can_be_read_at_the_width_of_a_page(number: int) -> None:
    figure = drawn(number).figure_
    assert figure is not None
    assert figure.get_figwidth() <= PAGE_WIDTH == 6.75
    small = [t.get_text() for t in figure.findobj(Text) if t.get_text() and t.get_fontsize() < LEAST_POINTS]
    assert small == []


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_no_title_runs_into_another_or_off_the_figure(number: int) -> None:
    sheet = drawn(number)
    assert sheet.figure_ is not None
    right = sheet.figure_.bbox.x1
    for row in sheet.axes_:
        boxes = [ax.title.get_window_extent() for ax in row if ax.get_title()]
        assert all(box.x0 >= 0 and box.x1 <= right + 1 for box in boxes)
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_titles_of_rows_are_not_clipped(number: int) -> None:
    _rows_fit(drawn(number))


@pytest.mark.parametrize("number", [2, 3, 9, 13])
def test_titles_of_rows_are_not_clipped_where_panels_are_few(number: int) -> None:
    runs = [make_observations("emb-mlp", task=RANGES if number == 2 else TASK)]
    _rows_fit(laid_out(draw_figure(number, runs)))


def _rows_fit(sheet: Sheet) -> None:
    assert sheet.figure_ is not None
    for part in sheet.figure_.subfigs:
        for text in part.texts:
            box = text.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= sheet.figure_.bbox.x1


def _limits(axes: list[Axes]) -> set[tuple[float, float]]:
    return {ax.get_ylim() for ax in axes if ax.axison}


def test_fig_17_shares_its_axes() -> None:
    runs = runs_for(17)
    for run in runs:  # One data set's loss jumps at one γ: alone, its panels would need a longer axis.
        run.metrics[5]["loss"]["rsn_test"] += 5 * (run.config.init_rate == 0.8)
    *losses, rises = draw_figure(17, runs).axes_
    together = [ax for row in losses for ax in row]
    assert len(together) == 4
    assert len(_limits(together)) == 1
    assert len({ax.get_xlim() for ax in together}) == 1
    assert len(_limits(rises)) == 1
    assert _limits(rises) != _limits(together)


def test_fig_9_has_one_vertical_axis_and_says_what_it_shows() -> None:
    sheet = drawn(9)
    every = [ax for row in sheet.axes_ for ax in row]
    assert len(every) == 6
    assert len(_limits(every)) == 1
    assert [bool(ax.get_ylabel()) for row in sheet.axes_ for ax in row] == [True, False, False] * 2
    assert sheet.rows[0].title == "Reasoning anchors, Transformer (post-norm), γ = 0.8, epoch 2"
    assert "γ = 0.8, epoch 2" in sheet.caption


def test_fig_13_has_a_row_for_each_layer() -> None:
    sheet = drawn(13)
    layers = [row.title.split(", ")[1].split(";")[0] for row in sheet.rows[:3]]
    assert layers == ["layer 1", "layer 2", "outside the layers"]
    names = [[plain(ax.get_title()) for ax in axes] for axes in sheet.axes_[:3]]
    within = ["W_K", "W_O", "W_Q", "W_V", "W_in", "W_out"]
    assert [sorted(row) for row in names] == [within, within, ["W_E", "W_U", "W_pos"]]
    drawn_once = [panel.curves["γ = 0.8"][0] for row in sheet.rows[:2] for panel in row.panels]  # type: ignore[attr-defined]
    assert all(not np.array_equal(a, b) for a, b in combinations(drawn_once, 2))


def _row(values: list[float], scale: str) -> PanelRow:
    """Return a row of matrices of three tokens that have one cosine for all pairs."""
    panels = [CosineMatrix.of(f"{v}", (1, 2, 3), np.where(np.eye(3), 1.0, v)[None]) for v in values]
    return PanelRow("A", panels, "cosine", scale=scale)


def test_a_shared_scale_is_fitted_to_its_values() -> None:
    sheet = Sheet(
        "a", "A.", "B", [_row([0.93, 0.97], "x"), _row([0.98], "x"), _row([-0.2, 0.5], "y"), _row([0.5], "")]
    )
    sheet.plot()
    limits = [[ax.images[0].get_clim() for ax in row] for row in sheet.axes_]
    np.testing.assert_allclose(limits[0] + limits[1], [(0.9, 1)] * 3)
    assert limits[2:] == [[(-1, 1)] * 2, [(-1, 1)]]
    maps = [row[0].images[0].get_cmap().name for row in sheet.axes_]
    assert maps == [SEQUENTIAL, SEQUENTIAL, DIVERGING, DIVERGING]


def test_fig_4_shows_the_differences_between_its_matrices() -> None:
    """Of the kept runs: what differs by more than 0.05 in the mean differs visibly in colour."""
    sheet = draw_figure(4)
    for row in sheet.axes_[:2]:
        low, high = row[0].images[0].get_clim()
        values = [np.asarray(ax.images[0].get_array()) for ax in row]
        assert (max(v.max() for v in values) - min(v.min() for v in values)) / (high - low) > 0.9
        for one, other in combinations(row, 2):
            means = [float(ax.images[0].get_array().mean()) for ax in (one, other)]
            colours = [
                ax.images[0].cmap(ax.images[0].norm(m))[:3] for ax, m in zip((one, other), means, strict=True)
            ]
            if abs(means[0] - means[1]) > 0.05:
                assert np.abs(np.subtract(*colours)).max() > 0.05


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_no_label_of_an_axis_is_close_to_another(number: int) -> None:
    figure = drawn(number).figure_
    assert figure is not None
    for part in figure.subfigs:
        labels = [label for ax in part.axes for label in (ax.xaxis.label, ax.yaxis.label) if label.get_text()]
        boxes = [
            label.get_window_extent().padded(figure.dpi * label.get_fontsize() / 72 / 4) for label in labels
        ]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_rows_that_share_an_axis_have_the_same_ticks() -> None:
    panels = drawn(9).rows[0].panels[:2]
    rows = [
        PanelRow("", [panel], height=h, share_y="cosine") for panel, h in zip(panels, (1.4, 3), strict=True)
    ]
    (low,), (high,) = laid_out(Sheet("name", "", "", rows).plot()).axes_
    assert low.bbox.height < 0.7 * high.bbox.height
    assert [*low.get_yticks()] == [*high.get_yticks()]


def test_the_matrices_of_every_layer_stand_in_one_order() -> None:
    runs = runs_for(13)
    for run in runs:  # The order of a file's arrays means nothing.
        arrays: Any = run.arrays
        arrays.update([(name, arrays.pop(name)) for name in sorted(arrays, reverse=True)])
    order = [f"$W_{{\\mathrm{{{index}}}}}$" for index in ("Q", "K", "V", "O", "in", "out")]
    layers = [[panel.title for panel in row.panels] for row in FIGURES[13].build(runs).rows[:2]]  # type: ignore[attr-defined]
    assert layers == [order, order]


def test_six_rows_of_cosines_fill_two_rows_of_three() -> None:
    assert [len(row) for row in drawn(9).axes_] == [3, 3]


@pytest.mark.parametrize("number", [5, 11])
def test_the_first_and_the_last_key_are_named_within_the_frame(number: int) -> None:
    maps = [ax for row in drawn(number).axes_ for ax in row if "order of keys" in ax.get_title()]
    assert maps
    for ax in maps:
        frame = ax.get_window_extent()
        for label in ax.texts:
            box = label.get_window_extent()
            assert frame.x0 <= box.x0
            assert frame.y0 <= box.y0
            assert box.x1 <= frame.x1 + 1
            assert box.y1 <= frame.y1 + 1


@pytest.mark.slow
def test_the_legend_of_ranks_touches_no_line_and_gives_each_matrix_one_look() -> None:
    """Below the axes, whatever the lines; a matrix looks the same in every panel."""
    sheet = laid_out(draw_figure(13, several("transformer", (0.3, 0.8))))
    (row,) = (i for i, row in enumerate(sheet.rows) if row.title.startswith("B"))
    panels, axes = sheet.rows[row].panels, sheet.axes_[row]
    assert [ax.get_legend() for ax in axes] == [None] * len(axes)
    (legend,) = sheet.figure_.subfigs[row].legends  # type: ignore[union-attr]
    assert not any(legend.get_window_extent().overlaps(ax.get_window_extent()) for ax in axes)
    looks: dict[str, set[tuple[str, str]]] = {}
    for name, line in ((n, line) for panel in panels for n, line in panel.lines_.items()):  # type: ignore[attr-defined]
        looks.setdefault(name, set()).add((line.get_color(), line.get_marker()))
    assert all(len(own) == 1 for own in looks.values())
    assert len(set.union(*looks.values())) == len(looks) == 9
    assert {text.get_text() for text in legend.get_texts()} == set(looks)
