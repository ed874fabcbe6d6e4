"""What a panel shows under a name is that quantity, computed again; and how seeds are shown."""

import io

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from scipy import stats

import theory
from tests.validate.figures.synthetic import make_observations
from theory import InputError, Lookup, Mapping, Task
from validate import figures
from validate.compare.flow import Aligned, Level
from validate.compare.rows import Row
from validate.figures import Curve, Curves, HeatMap
from validate.figures.embedding import looks, ring, rows_of
from validate.figures.learning import unlearned_levels
from validate.figures.moments import Moment
from validate.figures.panel import marks_text, seeds_text
from validate.figures.paper.spectra import _ranks
from validate.figures.style import DIVERGING, PARTS, SEQUENTIAL, Look
from validate.judge.stats import SIZE, over_seeds
from validate.report.figures import draw_errors, draw_flows


@pytest.fixture(scope="module")
def small():
    runs = [make_observations("emb-mlp", seed=s) for s in (0, 1, 2)]
    for i, part in enumerate(PARTS):  # So that no two data sets have the same numbers.
        for line in (line for run in runs for line in run.metrics):
            line["loss"][part] += 0.01 * i
            line["accuracy"][part] += 0.001 * i
    return figures.group_runs(runs)[-1]


@pytest.mark.parametrize("measure", ["accuracy", "loss"])
def test_each_curve_is_its_data_set(small, measure):
    panel = figures.accuracy_curves(small, measure)  # type: ignore[arg-type]
    names = {"mem": "memory", "rsn_train": "reasoning train", "rsn_test": "reasoning test"}
    assert list(panel.curves) == list(names.values())
    for part, name in names.items():
        look = PARTS[part]
        assert look.line == ("--" if part == "rsn_test" else "-")
        wanted = [[line[measure][part] for line in run.metrics] for run in small.runs]
        np.testing.assert_array_equal(panel.curves[name].seeds, wanted)
        assert panel.curves[name].look is look


@pytest.mark.parametrize("log", [False, True])
def test_a_loss_axis_holds_every_seed_that_is_drawn(log):
    """One seed is far below the mean, and one that overflowed leaves a mean of none."""
    runs = [make_observations("emb-mlp", seed=s) for s in (0, 1, 2)]
    for line in runs[0].metrics[3:]:
        line["loss"] = dict.fromkeys(PARTS, 1e-3)
    for line in runs[1].metrics[5:]:
        line["loss"] = dict.fromkeys(PARTS)
    (setting,) = figures.group_runs(runs)
    panel = figures.accuracy_curves(setting, "loss", log=log)
    panel.singly = True
    ax = panel.plot().ax_
    low, high = ax.get_ylim()
    assert len(panel.curves) == len(PARTS)
    for curve in panel.curves.values():
        seen = curve.seeds[:, 1:][np.isfinite(curve.seeds[:, 1:])]
        assert low < seen.min() <= seen.max() < high


def test_the_level_of_what_is_not_learned_is_the_mean_over_memory_sequences():
    """Labels are out of 10 and out of 30; the second mapping has nine times as many combinations."""
    small = Mapping([1], Lookup(10, 19), "small")
    large = Mapping([2, 3, 4], Lookup(10, 39), "large")
    task = Task(keys=range(40, 50), n_anchors=2, length=3, vocab_size=50, mappings=[small, large])
    (level,) = unlearned_levels(task).values()
    assert level == pytest.approx((np.log(10) + 9 * np.log(30)) / 10)


def test_hollow_marks_are_those_of_a_look_that_is_hollow():
    for hollow, face in ((True, "white"), (False, "red")):
        curve = Curve([0, 1], np.ones((1, 2)), Look("red", "o", hollow=hollow))
        line = Curves("title", {"curve": curve}, "x", "y").plot().lines_["curve"]
        assert line.get_markerfacecolor() == face


@pytest.mark.parametrize(("start", "corner", "top"), [(9.9, "", None), (10.1, "start: 10", 3.0)])
def test_a_start_above_five_times_the_later_losses_is_cut_and_noted(start, corner, top):
    runs = [make_observations("emb-mlp", seed=s) for s in (0, 1)]
    for run in runs:
        for line in run.metrics:
            line["loss"] = dict.fromkeys(PARTS, 2.0 if line["epoch"] else start)
    (setting,) = figures.group_runs(runs)
    panel = figures.accuracy_curves(setting, "loss")
    assert (panel.corner, panel.ylim) == (corner, (0, top))


@pytest.mark.parametrize(("n_seeds", "shaded"), [(1, False), (2, False), (3, True), (5, True)])
def test_few_seeds_are_thin_lines_and_more_are_students_interval(n_seeds, shaded):
    seeds = np.random.default_rng(n_seeds).normal(size=(n_seeds, 4))
    panel = Curves("title", {"mean": Curve(range(4), seeds, Look("red"))}, "x", "y").plot()
    ax, line = panel.ax_, panel.lines_["mean"]
    np.testing.assert_allclose(line.get_ydata(), seeds.mean(axis=0))
    bands = [c for c in ax.collections if isinstance(c, PolyCollection)]
    assert len(bands) == shaded
    thin = [other for other in ax.lines if other is not line]
    assert len(thin) == (n_seeds if n_seeds == 2 else 0)
    for drawn_line, seed in zip(thin, seeds, strict=False):
        np.testing.assert_allclose(drawn_line.get_ydata(), seed)
    if shaded:
        low, high = stats.t.interval(0.95, n_seeds - 1, seeds.mean(axis=0), stats.sem(seeds, axis=0))
        corners = bands[0].get_paths()[0].vertices
        for x in range(4):
            ends = corners[corners[:, 0] == x][:, 1]
            assert (ends.min(), ends.max()) == pytest.approx((low[x], high[x]))
    assert ("interval" in marks_text([panel])) is shaded


@pytest.mark.parametrize("bars", [False, True])
def test_where_few_of_many_seeds_are_known_each_is_shown_and_no_interval(bars):
    """Others overflowed, or there are fewer at one of the settings that a curve joins."""
    seeds = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, np.nan], [1.8, 2.1, 3.2]])
    panel = Curves("title", {"mean": Curve([0, 1, 2], seeds, Look("red"))}, "x", "y", bars=bars).plot()
    if bars:
        (container,) = panel.ax_.containers
        _, _, (lines,) = container.lines
        shown = [len(ends) == 2 and bool(np.isfinite(ends).all()) for ends in lines.get_segments()]
    else:
        (band,) = (c for c in panel.ax_.collections if isinstance(c, PolyCollection))
        shown = [x in band.get_paths()[0].vertices[:, 0] for x in range(3)]
    assert shown == [True, True, False]
    drawn = [line.get_ydata() for line in panel.ax_.lines]
    assert all(any(np.array_equal(seed, own, equal_nan=True) for own in drawn) for seed in seeds)
    assert all(word in marks_text([panel]) for word in ("interval", "one seed each"))
    panel.inset = True
    (inset,) = panel.plot().ax_.child_axes
    np.testing.assert_allclose(inset.lines[0].get_ydata(), np.nanmean(seeds, axis=0))


def test_no_interval_is_explained_where_none_is_known():
    unknown = np.full((2, 3), np.nan)
    panel = Curves("t", {"r": Curve(range(3), np.ones((1, 3)), Look("red"), interval=unknown)}, "x", "y")
    assert marks_text([panel.plot()]) == ""


@pytest.mark.parametrize("panel_of", ["cosines", "ranks"])
def test_an_interval_wider_than_its_seeds_is_whole_within_the_axes(panel_of):
    seeds = np.array([[0.2, 0.9], [0.4, 0.5], [0.6, 0.1]])
    if panel_of == "ranks":
        panel = _ranks("W", {"γ = 0.8": Curve([1, 2], 9 * seeds, Look("red"), SIZE)}, "epoch")
    else:
        rows = np.stack([np.insert(seeds, 0, 1.0, axis=1)] * 3, axis=1)
        panel, *_ = rows_of((1, 2, 3), {"training": (rows, Look("red"))})
    ax = panel.plot().ax_
    (band,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    ends, (low, high) = band.get_paths()[0].vertices[:, 1], ax.get_ylim()
    assert low <= ends.min() < ends.max() <= high


@pytest.mark.parametrize(("epochs", "ticks"), [((0, 2, 4, 6), [0, 6]), ((0, 1, 50, 200), [0, 1, 10, 100])])
def test_an_axis_of_epochs_has_more_than_its_zero(epochs, ticks):
    """A few epochs evaluated seldom have no power of ten between the first and the last."""
    curve = Curve(epochs, np.ones((1, len(epochs))), Look("red"))
    ax = Curves("title", {"mean": curve}, "epoch", "y", "symlog").plot().ax_
    assert ax.get_xticks().tolist() == ticks
    assert [text.get_text() for text in ax.get_xticklabels()] == list(map(str, ticks))


def test_a_map_has_its_values_where_their_names_are():
    """The names on the axes are seen in test_paper.py."""
    values = np.arange(6.0).reshape(2, 3)
    panel = HeatMap("title", ("x", (10, 20, 30)), ("y", ("low", "high")), values).plot()
    assert len(panel.ax_.texts) == values.size
    for text in panel.ax_.texts:
        column, row = text.get_position()
        assert float(text.get_text()) == values[int(row), int(column)]
    assert panel.image_.cmap.name == SEQUENTIAL
    signed = HeatMap("t", ("x", (1, 2, 3)), ("y", (1, 2)), values - 2).plot().image_
    assert (signed.cmap.name, signed.get_clim()) == (DIVERGING, (-3.0, 3.0))


def test_a_cosine_map_is_the_mean_over_seeds_on_the_scale_of_cosines_or_a_dash(small):
    tokens = small.task.reasoning_anchors
    matrices = small.cosines(tokens, 9)
    panel = figures.cosine_map("observed", tokens, matrices)
    np.testing.assert_allclose(panel.values, matrices.mean(axis=0))
    assert panel.limits == (-1, 1)
    means = [float(theory.off_diagonal(m).mean()) for m in matrices]
    assert seeds_text(means, (-1, 1)) in panel.numbers
    panel = figures.cosine_map("never seen", (1, 2), np.full((1, 2, 2), np.nan))
    assert panel.title.endswith("mean –")


def test_rows_of_cosines_stand_beside_the_predictions_that_they_name(small):
    task, tokens = small.task, small.task.reasoning_anchors
    panels = figures.cosine_rows([Moment(small, 9)], tokens, ["P^s - u", "P^s - mean P"])
    marginal = theory.marginal_distribution(task, held_out=True)
    shifts = {"P^s - u": 1 / task.vocab_size, "P^s - mean P": marginal}
    table = theory.label_distribution(task, tokens, held_out=True)
    assert len(panels) == len(tokens)
    for i, panel in enumerate(panels):
        for name, shift in shifts.items():
            wanted = theory.cosine_matrix(table - shift)[i]
            wanted[i] = np.nan  # cos(s, s) = 1 would be a spike.
            np.testing.assert_allclose(panel.curves[looks()[name][0]].mean, wanted, atol=1e-12)
        observed = small.cosines(tokens, 9)[:, i]
        observed[:, i] = np.nan
        np.testing.assert_array_equal(panel.curves["training"].seeds, observed)
        others = np.arange(len(tokens)) != i
        predicted = panel.curves[looks()["P^s - u"][0]].mean[others]
        rmse = [float(np.sqrt(np.mean((row[others] - predicted) ** 2))) for row in observed]
        assert f"{looks()['P^s - u'][0]} {over_seeds(rmse, (0, np.inf))}" in panel.numbers


def test_label_curves_are_those_of_the_training_data(small):
    tokens = small.task.reasoning_anchors
    panel = figures.label_curves(small.task, tokens, "labels")
    wanted = theory.label_distribution(small.task, tokens, held_out=True) - 1 / small.task.vocab_size
    for (name, curve), s, row in zip(panel.curves.items(), tokens, wanted, strict=True):
        assert name.endswith(f"s = {s}")
        np.testing.assert_allclose(curve.seeds, [row])


def test_the_map_of_tokens_groups_them_by_kind_and_has_two_dimensions(small, monkeypatch):
    panel = figures.token_map(Moment(small, 9), "map")
    first, task = small.runs[0], small.task
    places = {s: i for i, s in enumerate(first.tokens)}
    coordinates = first.at("pca", 9)[:, :2]
    for name, tokens in (
        ("keys (dark to light)", task.keys),
        ("memory anchors", task.memory_anchors),
        ("reasoning anchors", task.reasoning_anchors),
    ):
        np.testing.assert_allclose(panel.groups[name].xy, coordinates[[places[s] for s in tokens]])
    given = type(small).array
    monkeypatch.setattr(type(small), "array", lambda setting, *which: 1e-14 * given(setting, *which))
    assert figures.token_map(Moment(small, 9), "map").title == panel.title  # At any initial scale.
    monkeypatch.setattr(type(small), "array", lambda *_: np.zeros((3, 9, 1)))
    with pytest.raises(InputError, match=r"^runs = .*one principal component"):
        figures.token_map(Moment(small, 9), "map")


@pytest.mark.parametrize(
    ("n", "turns", "named"), [(8, 1.0, "ring"), (100, 1.0, "ring"), (100, 2.0, "ring"), (100, 0.9, "arc")]
)
def test_points_that_fill_a_ring_once_are_a_ring(n, turns, named):
    """There is one step fewer than there are points."""
    angles = -2 * np.pi * turns * np.arange(n) / n
    assert ring(np.column_stack([3 * np.cos(angles), np.sin(angles) + 5])) == f"{named}, {turns} turns"


def test_errors_of_a_report_are_drawn_under_their_own_predictor(small):
    """Every predictor, group and epoch has a value that no other has."""
    names = ["P^s - u", "P^s - mean P", "eq. 14"]
    rows, wanted = [], {}
    for g, group in enumerate(("memory", "reasoning", "all anchors")):
        for n, name in enumerate(names):
            for epoch in (2, 9):
                rmse = 0.1 * g + 0.01 * n + 0.001 * epoch
                wanted[group, name, epoch] = rmse
                estimate = over_seeds([rmse - 1e-5, rmse, rmse + 1e-5])
                rows.append(Row(small.label, epoch, group, None, name, "rmse", estimate))
                rows.append(Row(small.label, epoch, group, None, name, "largest", over_seeds([9.0, 9.1])))
    (sheet,) = draw_errors([small], rows)
    groups = {"memory anchors": "memory", "reasoning anchors": "reasoning", "all anchors": "all anchors"}
    assert [row.title for row in sheet.rows] == list(groups)
    for group, (ax,) in zip(groups.values(), sheet.plot().axes_, strict=True):
        lines = {str(line.get_label()): line for line in ax.lines}
        for name in names:
            shown = dict(zip(lines[name].get_xdata(), lines[name].get_ydata(), strict=True))
            assert shown == pytest.approx({e: wanted[group, name, e] for e in (2, 9)})


def test_the_numbers_of_the_flow_name_their_setting(small):
    pairs = np.array([theory.off_diagonal(m) for m in small.cosines(small.task.anchors, 9)])
    names, one = ("narrow network", "P^s - u"), over_seeds([1.0, 1.0, 1.0])
    rows = [Aligned(0.5, name, one, one, one, 1.0) for name in names]
    level = Level(0.5, pairs, dict.fromkeys(names, pairs), rows)
    (sheet,) = draw_flows([small], {small.label: [level]})
    (line,) = sheet.summary()
    assert line.startswith(f"{small.label}, training accuracy 0.5; P^s - u: slope 1.00")


@pytest.mark.parametrize("name", ["$x^$", "a $\\nocommand$"])
def test_a_user_s_name_that_is_no_mathematics_is_shown_as_it_is(name):
    figure, ax = figures.new_axes()
    ax.plot([1, 2], label=f"of {name}")
    ax.set(title=f"{name} anchors", xlabel="$P^s$")
    ax.legend()
    for form in ("png", "svg"):
        figure.savefig(io.BytesIO(), format=form)
    assert ax.title.get_text() == f"{name} anchors"
    assert ax.xaxis.label.get_parse_math()
