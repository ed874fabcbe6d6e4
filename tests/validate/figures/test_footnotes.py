"""Footnotes say which runs a figure shows and what its bars and bands are, read from what was drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from sim.config.model import OneLayerConfig
from sim.config.presets import load_preset
from sim.config.run import DataConfig, make_run_config
from tests.validate.figures.drawn import drawn, laid_out, runs_for
from tests.validate.figures.synthetic import make_observations, several
from tests.validate.figures.synthetic_language import several_language
from validate.figures import AttentionRows, Sheet, ValueAlignment, group_runs, new_axes
from validate.figures.context import about, missing_rates
from validate.figures.marks import OVER_SEEDS, OVER_SEQUENCES, marks_of
from validate.figures.paper import FIGURES, draw_figure
from validate.figures.style import seed_bars
from validate.judge.stats import over_seeds

OF_RUNS = sorted(set(FIGURES) - {2})
NARROW = "; d_m = 16 (paper: 200)"


def _half_lengths(ax: Axes) -> np.ndarray:
    bars = [c for c in ax.collections if isinstance(c, LineCollection)]
    return np.concatenate([[np.ptp(s[:, 1]) / 2 for s in c.get_segments()] for c in bars])


@pytest.mark.parametrize("number", [6, 12])
def test_bars_over_sequences_and_bars_over_seeds_are_told_apart(number: int) -> None:
    note = drawn(number).note
    assert f"thin vertical lines: {OVER_SEQUENCES}" in note
    assert re.search(rf"[Bb]rackets, capped bars and shades: {re.escape(OVER_SEEDS)}", note)
    assert "standard deviation" not in drawn(number).caption


def test_the_thin_lines_are_the_spread_over_sequences() -> None:
    (setting,) = group_runs([make_observations(seed=s) for s in (0, 1)])
    rows = AttentionRows.from_runs(setting, 9, "").plot()
    assert rows.ax_ is not None
    spread = setting.array("first_attention_sd", 9).mean(axis=0)
    expected = np.concatenate([spread[i - 1, :i] for i in rows.lines_])
    np.testing.assert_allclose(_half_lengths(rows.ax_), expected)


def test_the_capped_bars_are_the_interval_over_seeds() -> None:
    (setting,) = group_runs([make_observations(seed=s) for s in (0, 1, 2)])
    panel = ValueAlignment.from_runs(setting, 9, "").plot()
    anchors = [setting.runs[0].tokens.index(s) for s in panel.anchors]
    estimates = [over_seeds(c.tolist(), (-1, 1)) for c in setting.array("wv_direction", 9)[:, anchors].T]
    assert panel.ax_ is not None
    ends = [(e.high or 0) - (e.low or 0) for e in estimates]
    np.testing.assert_allclose(2 * _half_lengths(panel.ax_), ends)


def test_a_single_seed_has_no_bars_and_no_caps() -> None:
    """A cap of no height, in the panel or in the legend, would look like a narrow interval."""
    for values, parts in (([[1.0, 2.0]] + [[np.nan] * 2] * 2, 1), ([[1.0, 2.0], [0.0, 1.0], [2.0, 3.0]], 3)):
        _, (ax,) = new_axes()
        line = seed_bars(ax, [0, 1], np.array(values), fmt="o", label="training")
        assert (len(ax.lines), len(ax.collections)) == (parts, parts // 3)
        np.testing.assert_allclose(line.get_ydata(), values[0])


def test_a_point_of_a_single_seed_has_no_bar_beside_points_that_have_one() -> None:
    figure, (ax,) = new_axes()
    seed_bars(ax, [0, 1], np.array([[1.0, 2.0], [np.nan, 1.5], [np.nan, 2.5]]), fmt="o")
    figure.draw_without_rendering()
    bars = [s for c in ax.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    assert [np.ptp(bar[:, 1]) for bar in bars if bar.size] == [1.0]
    caps = [line.get_ydata() for line in ax.lines[1:]]
    np.testing.assert_array_equal(caps, [[np.nan, 1.5], [np.nan, 2.5]])


@pytest.mark.parametrize(
    ("text", "explained"),
    [
        (str(over_seeds([0.1, 0.2, 0.4])), True),
        (str(over_seeds([-1200.0, -1300.0])), True),
        (str(over_seeds([1e-6, 3e-6])).replace(" [", "\n["), True),
        ("γ = 0.8, snapshot_epochs = [0, 5]", False),
        ("γ = 0.8, d_m = 16, held_out = [[11, 13]]", False),
    ],
)
def test_brackets_are_explained_where_they_are_intervals(text: str, explained: bool) -> None:
    figure, (ax,) = new_axes()
    ax.set_title(text)
    assert [mark.kind for mark in marks_of(figure)] == ["brackets"] * explained


def test_figures_of_large_weights_name_the_gamma_of_the_paper_that_they_lack() -> None:
    """Figs. 10 and 11 show γ = 0.3 and 0.5 in the paper, Fig. 12 all three."""
    lacking = "The paper's γ = 0.5 is not among these runs."
    for number, model in ((10, "emb-mlp"), (11, "transformer"), (12, "transformer")):
        assert lacking in FIGURES[number].build(several(model)).caption
        assert "among these runs" not in FIGURES[number].build(several(model, (0.3, 0.5, 0.8))).caption


def test_a_single_seed_has_no_interval_to_explain() -> None:
    sheet = draw_figure(6, [make_observations()])
    assert "interval" not in sheet.note
    assert OVER_SEQUENCES in sheet.note
    last = draw_figure(15, [make_observations()])
    assert "interval" not in last.note
    assert "thin curves" not in last.note
    assert "thin curves: one seed each" in drawn(15).note


@pytest.mark.parametrize("number", OF_RUNS)
def test_every_figure_names_model_rate_seeds_and_epochs(number: int) -> None:
    """Whole footnotes; γ that the figure leaves out is not in it."""
    note, runs = drawn(number).note, runs_for(number)
    names = {"emb-mlp": "Emb-MLP", "transformer": "Transformer (", "gpt2": "GPT-2"}
    assert all(names[run.config.model.kind] in note for run in runs)
    (rates,) = {tuple(re.findall(r"0\.\d", text)) for text in re.findall(r"γ = ([\d., ]+), \d seed", note)}
    shown = {0.8} if number in (4, 5, 8, 9, 15) else {0.3, 0.5} if number in (10, 11) else None
    assert {float(r) for r in rates} == (shown or {run.config.init_rate for run in runs})
    assert re.search(r"[12] seed", note)
    assert re.search(
        r"(epochs 2 and 9|epoch 2|epoch 9) of 10; .*1000|10 epochs for 1000|4 epochs for 200 in", note
    )


def test_sizes_are_told_where_they_are_not_the_papers() -> None:
    names = ("group-2024", "group-quarter", "paper-gpt2", "language-cpu")
    presets = {name: make_run_config(load_preset(name)) for name in names}

    def told(name: str, **other: Any) -> str:
        (run,) = several_language()[:1] if name.startswith("language") else several("transformer", (0.8,))[:1]
        settings = {"model": presets[name].model, "data": presets[name].data} | other
        return about(group_runs([replace(run, config=run.config.model_copy(update=settings))]))

    assert "(paper: " not in told("group-2024") + told("paper-gpt2")
    assert told("group-quarter").endswith(
        "; d_m = 50 (paper: 200); 20\u202f000 sequences (paper: 200\u202f000)"
    )
    assert told("language-cpu").endswith("; d_m = 128 (paper: 768)")
    few = DataConfig(source="draw", n_sequences=500)
    assert told("group-2024", data=few).endswith("; 500 sequences (paper: 200\u202f000)")
    # All sequences are the paper's, and no number of them is drawn.
    assert "(paper: " not in told("group-2024", data=DataConfig(source="enumerate", n_sequences=500))
    assert "d_m" not in told("group-2024", model=OneLayerConfig())


def test_epochs_as_in_the_paper_and_others_are_told_apart() -> None:
    ten = group_runs(several("transformer"))
    assert about(ten) == (
        f"Transformer (post-norm), γ = 0.3, 0.8, 2 seeds each; 10 epochs for 1000 in the paper{NARROW}"
    )
    assert about(ten[:1], "both").endswith(
        f"2 seeds; epochs 2 and 9 of 10; the paper trains for 1000{NARROW}"
    )
    assert about(ten[:1], "both", paper=(200, 900)).endswith(
        f"2 seeds; epochs 2 and 9 of 10; the paper shows 200 and 900 of 1000{NARROW}"
    )
    whole = [make_observations("emb-mlp", epochs=1000)]
    for run in whole:
        object.__setattr__(run, "epochs", (0, 50, 900, 1000))
    assert about(group_runs(whole), "both", paper=(50, 900)) == (
        f"Emb-MLP, γ = 0.8, 1 seed; epochs 50 and 900 of 1000, as in the paper{NARROW}"
    )
    assert about(group_runs(whole), "both") == (
        f"Emb-MLP, γ = 0.8, 1 seed; epochs 50 and 900 of 1000{NARROW}"
    )
    assert about(group_runs(whole)).endswith(f"1000 epochs, as in the paper{NARROW}")
    for run in whole:
        object.__setattr__(run, "epochs", (0, 100, 900, 1000))
    assert about(group_runs(whole), "both", paper=(50, 900)).endswith(
        f"epochs 100 and 900 of 1000; the paper shows 50 and 900 of 1000{NARROW}"
    )


@pytest.mark.parametrize("number", [4, 5, 6, 9, 10, 11, 12, 15])
def test_only_epochs_that_the_paper_states_are_called_the_papers(number: int) -> None:
    stated = {4: "50 and 900", 5: "200 and 900", 12: "200"}
    found = re.findall(r"the paper shows ([\d and]+) of 1000", drawn(number).note)
    assert found == ([stated[number]] if number in stated else [])


def test_fig_16_says_which_of_the_papers_rates_it_lacks() -> None:
    assert "The paper's γ = 0.5 is not among these runs." in drawn(16).caption
    complete = group_runs(several("no-norm", (0.3, 0.5, 0.8)))
    assert missing_rates(complete) == ""


@pytest.mark.parametrize("number", OF_RUNS)
def test_the_footnote_is_on_the_picture_and_inside_it(number: int) -> None:
    _is_inside(drawn(number))


@pytest.mark.parametrize("number", [3, 13])
def test_the_footnote_of_a_narrow_figure_is_not_clipped(number: int) -> None:
    """One setting fills few panels; the footnote is as long as ever."""
    _is_inside(laid_out(draw_figure(number, several("emb-mlp", (0.8,)))))


def _is_inside(sheet: Sheet) -> None:
    figure = sheet.figure_
    assert figure is not None
    (text,) = figure.texts
    assert " ".join(text.get_text().split()) == sheet.note
    box = text.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y0 >= 0


def test_a_page_that_has_the_footnote_itself_draws_none() -> None:
    sheet = FIGURES[16].draw(runs_for(16), footnote=False)
    assert sheet.note == drawn(16).note
    assert sheet.figure_ is not None
    assert not sheet.figure_.texts


def test_numbers_of_seeds_that_differ_are_told_for_each_gamma() -> None:
    runs = [*several("no-norm", (0.3, 0.5)), make_observations("no-norm", 0.8)]
    text = about(group_runs(runs))
    assert text.startswith(
        "Transformer (without layer norm), γ = 0.3 (2 seeds), 0.5 (2 seeds), 0.8 (1 seed); "
    )
