"""Each artist of the paper's figures carries the array that it names; other runs are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Literal
from unittest.mock import Mock

import numpy as np
import pytest

from sim import ModelSection, train
from sim.config.model import OneLayerConfig
from sim.config.run import make_member_config, make_run_config
from tests.validate.conftest import TASK as TINY
from tests.validate.figures import synthetic
from theory import InputError
from validate.figures import Curves, HeatMap, Points
from validate.figures.footnote import about
from validate.figures.moments import by_mechanism, moments
from validate.figures.paper import FIGURES, draw_figure, kept_of, runs_behind
from validate.figures.runs import ATTENTION, of_kind, shown_epochs
from validate.observe import NoRunsError, Observations
from validate.observe.groups import group_runs

NUMBERS = sorted(FIGURES)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_line_map_legend_and_axis_carries_the_array_that_it_names(number):
    sheet = synthetic.drawn(number)
    assert sheet.name.startswith(f"fig{number:02d}_")
    for part, row, axes in zip(sheet.figure_.subfigs, sheet.rows, sheet.axes_, strict=True):
        named: set[str] = set()
        for ax, panel in zip(axes, row.panels, strict=True):
            assert " ".join(ax.get_title().split()) == " ".join(panel.title.split())
            assert ax.get_xlabel()
            if isinstance(panel, Curves):
                by_name = {str(line.get_label()): line for line in ax.lines}
                for name, curve in panel.curves.items():
                    np.testing.assert_allclose(by_name[name].get_xdata(), curve.x)
                    np.testing.assert_allclose(by_name[name].get_ydata(), curve.mean)
                    assert by_name[name].get_color() == curve.look.colour
                for name, level in panel.levels.items():
                    value = level[0] if isinstance(level, tuple) else level
                    np.testing.assert_equal(by_name[name].get_ydata()[0], value)
                assert ax.get_xlabel() == panel.xlabel
                assert ax.get_ylabel() == (panel.ylabel if ax is axes[0] or not row.share_y else "")
                assert ax.get_ylim()[0] < ax.get_ylim()[1]
                named |= {*panel.curves, *panel.levels}
            elif isinstance(panel, HeatMap):
                np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), np.nan), panel.values)
                assert (ax.get_xlabel(), ax.get_ylabel()) == (panel.x[0], panel.y[0])
                for axis, (_, values) in ((ax.xaxis, panel.x), (ax.yaxis, panel.y)):
                    for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True):
                        assert label.get_text() == str(values[int(place)])
            elif isinstance(panel, Points):
                for group, scatter in zip(panel.groups.values(), ax.collections, strict=True):
                    np.testing.assert_array_equal(scatter.get_offsets(), group.xy)
                named |= set(panel.groups)
            else:
                named |= set(panel.lines_)
        shown = [text.get_text() for legend in part.legends for text in legend.get_texts()]
        assert len(shown) == len(set(shown))
        assert set(shown) == {name for name in named if not name.startswith("_") and row.legend}
        bars = [ax for ax in part.axes if ax.get_label() == "<colorbar>"]
        maps = [ax.images[0] for ax in axes if ax.images]
        assert [bar.get_ylabel() for bar in bars] == [row.bar] * bool(maps)
        assert all(bar.get_ylim() == image.get_clim() for bar in bars for image in maps)
        assert len({image.cmap.name for image in maps}) <= 1


def test_every_scale_has_a_row_with_a_letter_and_a_line_however_many_there_are():
    run, rates = synthetic.make_observations(), [round(0.1 * i, 1) for i in range(1, 11)]
    runs = [replace(run, config=run.config.model_copy(update={"init_rate": rate})) for rate in rates]
    rows = FIGURES[17].sheet(runs).rows
    assert [row.title[0] for row in rows] == list("ABCDEFGHIJK")
    lines = [list(panel.curves) for panel in rows[0].panels if isinstance(panel, Curves)]
    assert lines == [[f"γ = {rate:g}" for rate in rates]] * 3


def test_of_a_single_singular_value_the_second_is_zero():
    run = synthetic.make_observations()
    arrays = {**run.arrays, "singular/0.W_V": run.arrays["singular/0.W_V"][..., :1]}
    (row,) = [r for r in FIGURES[6].sheet([replace(run, arrays=arrays)]).rows if r.title.startswith("C")]
    assert row.says == r"$\sigma_2/\sigma_1$ at γ = 0.8: 0.000, 0.000."


def mapping(anchors, rule):
    return {"name": rule, "anchors": anchors, "rule": rule}


@pytest.mark.parametrize("model", ["emb-mlp", "transformer"])
@pytest.mark.parametrize(
    "task",
    [
        {"mappings": [mapping([1, 2], "lookup"), mapping([3, 4], "sum")]},
        {"keys": "40..40", "mappings": [mapping([1, 2, 3], "lookup"), mapping([4, 5, 6], "sum")]},
        {"mappings": [mapping([1, 2, 3], "lookup")]},
        {"mappings": [mapping([1, 2, 3], "sum")]},
        {"mappings": [mapping([1, 2, 3], "sum"), mapping([4, 5, 6], "sum") | {"name": "other"}]},
        {"mappings": [mapping([1, 2, 3], "lookup"), mapping([4, 5, 6], "sum") | {"held_out": [[4]]}]},
    ],
    ids=["two anchors each", "one key", "memory alone", "a rule alone", "two rules", "an anchor never seen"],
)
def test_a_figure_of_any_task_is_refused_or_has_all_that_its_caption_says(model, task):
    runs = [synthetic.make_observations(model, gamma, task=synthetic.RANGES | task) for gamma in (0.3, 0.8)]
    n_drawn = 0
    for figure in FIGURES.values():
        try:
            sheet = figure.sheet(runs)
        except InputError:
            continue
        n_drawn += 1
        assert all(row.panels for row in sheet.rows)
        assert ("Last: one row" in sheet.caption) == any("training, one row" in r.title for r in sheet.rows)
        panels = [panel for row in sheet.rows for panel in row.panels]
        observed = [p for p in panels if isinstance(p, Points) and p.title.startswith("training")]
        assert ("beside those of training" in sheet.caption) == bool(observed)
        for panel in panels:
            if isinstance(panel, Curves) and "v_1(W_V)" in panel.ylabel:
                assert [word in panel.xlabel for word in ("memory", "reasoning")] == [
                    bool(runs[0].task.memory_anchors),
                    bool(runs[0].task.reasoning_anchors),
                ]
    assert n_drawn


@pytest.mark.parametrize("number", [10, 11, 12, 14])
def test_settings_of_one_scale_have_titles_of_their_own(number):
    runs = synthetic.runs_for(number)
    other = runs[0].config.training.model_copy(update={"learning_rate": 0.5})
    runs += [replace(run, config=run.config.model_copy(update={"training": other})) for run in runs]
    rows = FIGURES[number].sheet(runs).rows
    titles = [(row.title, panel.title) for row in rows for panel in row.panels if panel.title]
    assert len(titles) == len(set(titles)) > 1


def test_a_matrix_looks_alike_in_all_panels_of_one_legend():
    """The runs at further γ keep only some matrices."""
    runs = synthetic.several()
    for gamma in (0.3, 0.5, 0.8):
        run = synthetic.make_observations("no-norm", gamma)
        some = {name: array for name, array in run.arrays.items() if "/0." not in name and "sing" not in name}
        runs.append(replace(run, arrays=some))
    row = FIGURES[13].sheet(runs).rows[-1]
    assert "in other runs" in row.title
    panels = [panel for each in FIGURES[13].sheet(runs).rows[-2:] for panel in each.panels]
    looks = {(name, c.look) for p in panels if isinstance(p, Curves) for name, c in p.curves.items()}
    assert len(looks) == len({name for name, _ in looks})


class Own(ModelSection):
    """A kind of model that no figure knows."""

    embedding = "body.W_emb"
    kind: Literal["own"] = "own"
    d_m: int = 16

    def matrix_names(self):
        return []


def test_the_matrices_of_a_model_of_ones_own_have_their_names():
    runs = []
    for gamma in (0.3, 0.8):
        run = synthetic.make_observations("emb-mlp", gamma)
        arrays = {name.replace("/W", "/body.W"): array for name, array in run.arrays.items()}
        runs.append(replace(run, config=run.config.model_copy(update={"model": Own()}), arrays=arrays))
    sheet = FIGURES[13].sheet(runs)
    assert sheet.about.startswith("own, γ = 0.3, 0.8")
    assert sheet.rows[0].title.startswith("A  Singular values; own, ")
    assert all(row.panels for row in sheet.rows)
    assert "body.W1" in {panel.title.strip("$") for row in sheet.rows for panel in row.panels}


def test_figures_about_anchors_show_runs_of_any_model_that_follow_a_language_models():
    run = synthetic.make_observations("emb-mlp", task=synthetic.RANGES)
    own = replace(run, config=run.config.model_copy(update={"model": Own()}))
    sequences, labels = (FIGURES[n].sheet([*synthetic.several_language(), own]).rows for n in (2, 8))
    assert [row.title[3:].split(":")[0] for row in sequences] == ["range1", "range2"]
    assert "B  own, γ = 0.8" in labels[-1].title


def test_each_task_of_a_network_has_its_own_row():
    tasks = [synthetic.MEMORIES | {"vocab_size": size} for size in (80, 90)]
    runs = [synthetic.make_observations("emb-mlp", task=task) for task in tasks]
    assert len(FIGURES[8].sheet(runs).rows) == 2


def test_the_footnote_has_the_width_of_the_one_layer_model():
    """It is that of the vocabulary, and no key of the model."""
    run = synthetic.make_observations()
    one = replace(run, config=run.config.model_copy(update={"model": OneLayerConfig()}))
    assert f"d_m {run.task.vocab_size} (printed: 200)" in about(group_runs([one]))


def test_matrices_that_are_left_out_are_counted():
    runs = synthetic.several()
    names = [f"{kind}/{{}}.W_Q" for kind in ("singular", "effective_rank")]
    for i, run in enumerate(runs):
        more = {name.format(layer): run.arrays[name.format(0)] for name in names for layer in (2, 10)}
        runs[i] = replace(run, arrays={**run.arrays, **more})
    sheet = FIGURES[13].sheet(runs)
    assert "16 of 17 matrices" in sheet.caption
    assert "These runs lack the paper's γ = 0.5." in sheet.caption
    assert "lack" not in synthetic.drawn(13).caption
    (over_epochs,) = (row for row in sheet.rows if row.title.startswith("B  "))
    assert all(getattr(p, "singly", False) for p in over_epochs.panels)  # Seeds may learn in two ways.
    lines = {name for row in sheet.rows for p in row.panels for name in getattr(p, "curves", ())}
    assert any("layer 3" in name for name in lines)
    assert not any("layer 11" in name for name in lines)


def test_a_run_that_ended_sooner_or_has_only_begun_is_shown_under_its_own_epoch():
    short, whole = (synthetic.make_observations(gamma=gamma) for gamma in (0.3, 0.8))
    row = FIGURES[12].sheet([short.until(3), whole]).rows[-1]
    for panel in row.panels:
        assert isinstance(panel, Curves)
        assert list(panel.curves)[:3] == ["epoch 0", "epoch 2", "epoch 2 or 9"]
    sheet = FIGURES[8].sheet([synthetic.make_observations("emb-mlp", task=synthetic.RANGES).until(0)])
    assert "outputs at epoch 0" in sheet.rows[0].title


def test_only_runs_alike_but_for_their_scale_make_a_curve_over_it():
    runs = synthetic.several_language()
    other = runs[0].config.training.model_copy(update={"learning_rate": 0.5})
    runs.append(replace(runs[0], config=runs[0].config.model_copy(update={"training": other})))
    panels = FIGURES[7].sheet(runs).rows[0].panels
    assert {tuple(c.x) for p in panels for c in p.curves.values()} == {(0.3, 0.5, 0.8)}  # type: ignore[attr-defined]


@pytest.mark.parametrize("epochs", [(0,), (0, 6)])
@pytest.mark.parametrize(
    ("changed", "drawn_too"),
    [
        ({"training": {"optimizer": "sgd", "learning_rate": 0.5}}, True),
        ({"training": {"patience": 2.0, "dtype": "float64", "snapshot_epochs": [1]}}, True),
        *(
            ({"training": one}, False)
            for one in ({"weight_decay": 1.0}, {"batch_size": 50}, {"beta2": 0.99}, {"frozen": ["W1"]})
        ),
        ({"data": {"source": "draw"}}, False),
        ({"model": {"d_m": 100}}, False),
        ({"task": "paper"}, False),
    ],
    ids=str,
)
def test_predicted_curves_stand_beside_runs_of_all_that_they_are_computed_from(epochs, changed, drawn_too):
    config = make_member_config({"task": "emb-mlp", "init_rate": 0.8, "seed": 0} | changed)
    parts = dict.fromkeys(("mem", "rsn_train", "rsn_test"), 0.5)
    lines = [
        {"epoch": e, "step": 198 * e, "sum_learning_rate": 1e-4 * e, "loss": parts, "accuracy": parts}
        for e in epochs
    ]
    sheet = FIGURES[3].sheet([Observations(config, dict(synthetic.PROVENANCE), lines, epochs, {})])
    (panel,) = sheet.rows[0].panels
    assert isinstance(panel, Curves)
    assert ("predicted, same colours" in panel.curves) is drawn_too is ("Dots in A" in sheet.caption)
    assert ("6 epochs apart" in sheet.caption) is (drawn_too and epochs == (0, 6))


@pytest.mark.parametrize("number", [3, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (7, 13, 15))])
def test_figures_are_written_and_unchanged_ones_are_unchanged_files(number, tmp_path):
    (first,), (again,) = (synthetic.drawn(number).write(tmp_path / name, ("svg",)) for name in "ab")
    assert first.stat().st_size > 5000
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_kept_has_all_that_a_figure_shows(number):
    """A study keeps only some observables, and each figure needs its own."""
    runs, missing = kept_of(FIGURES[number])
    assert missing == []
    sheet = FIGURES[number].build(runs)
    assert sheet.rows
    assert not any("\n" in line for line in sheet.summary())
    text = runs_behind(number)
    runs = [*{run.source: run for run in runs}.values()]  # A longer run is given cut and whole.
    assert f"{len(runs)} run" in text or (number == 2 and text.startswith("no runs"))
    if runs:
        assert f"{sum(run.seconds for run in runs) / 3600:.2f} hours" in text
        assert f"{max(run.provenance['peak_memory_mib'] for run in runs):.0f} MiB" in text


@pytest.mark.parametrize(
    ("number", "given", "problem"),
    [
        (3, [], r"^observations = \[\]: none for Fig. 3"),
        (4, ["transformer"], "about the Emb-MLP"),
        (8, ["emb-mlp"], "none has several memory mappings"),
        (16, ["transformer"], r"about Transformers without norm \(--model\.norm none\)"),
        (17, ["transformer", "no-norm"], "differ in more than γ and learning rate"),
    ],
)
def test_runs_that_cannot_make_a_figure_are_refused(number, given, problem):
    runs = [synthetic.make_observations(model, learning_rate=10**-i) for i, model in enumerate(given, 3)]
    with pytest.raises(InputError, match=problem):
        draw_figure(number, runs)


@pytest.mark.usefixtures("blank_pictures")
def test_missing_studies_name_the_command(cli, monkeypatch, tmp_path):
    def read(study):
        if study == "emb-mlp":
            return synthetic.several("emb-mlp")
        raise NoRunsError("study", study, "no runs", f"make them: anchorflow study {study} --run --keep")

    damaged = Mock(side_effect=InputError("kept observations", "x", "is not what was kept", "restore it"))
    found, missing = kept_of(FIGURES[3], read)
    assert len(found) == 4
    assert [m.value for m in missing] == ["group-2024"]
    with pytest.raises(InputError, match="restore it"):
        kept_of(FIGURES[3], damaged)
    monkeypatch.setattr("validate.observe.kept", read)
    refused = cli("figures", "5", "--out", str(tmp_path), code=2).err
    assert "anchorflow study group-2024 --run --keep" in refused
    printed = cli("figures", "--out", str(tmp_path), "--json")
    made = printed.json()["figures"]
    assert [figure["figure"] for figure in made] == [2, 3, 4, 10]
    assert "Fig. 3 drawn in part" in printed.err


@pytest.mark.usefixtures("blank_pictures")
def test_any_run_folders_make_figures_and_one_that_cannot_stops_no_other(runs, tmp_path, cli):
    own = {
        "task": TINY | {"length": 4},
        "model": {"kind": "transformer", "d_m": 16, "d_f": 16, "d_k": 8},
        "data": {"source": "draw", "n_sequences": 750},
        "training": {"epochs": 2, "snapshot_epochs": [1], "snapshot_tensors": "all"},
        "init_rates": [0.5, 0.8],
    }
    train(make_run_config(own), tmp_path / "runs")
    given = ["--runs", str(tmp_path / "runs"), str(runs[0].path), "--out", str(tmp_path), "--json"]
    made = cli("figures", "3", "6", "15", "3", *given, "--format", "png", "pdf").json()["figures"]
    assert [figure["figure"] for figure in made] == [3, 6, 15]
    files = {str(file) for file in tmp_path.glob("fig*.p*")}
    assert {file for figure in made for file in figure["files"]} == files
    assert len(files) == 6
    printed = cli("figures", "3", "16", *given, code=2)
    assert [figure["figure"] for figure in printed.json()["figures"]] == [3]
    assert "Fig. 16 not drawn: runs = 3: Fig. 16 is about Transformers without norm" in printed.err
    cli("figures", "8", *given, code=2)


def test_seeds_that_learn_in_two_ways_and_those_that_go_on_are_drawn_apart():
    """The rule is attention on the key at epoch 10; the epochs are the paper's."""
    runs, _ = kept_of(FIGURES[6])
    (setting,) = [s for s in of_kind(runs, ATTENTION) if s.init_rate == 0.8]
    assert shown_epochs(setting) == (200,)
    on_key, others = by_mechanism(setting).values()
    assert (on_key.seeds, others.seeds) == ([2, 3, 4], [0, 1, 5])
    *_, last = moments(runs, setting)
    late = last.setting
    assert (late.seeds, last.epoch, late.epochs()[-1]) == ([0], 900, 1000)
    drawn = [p for row in FIGURES[5].sheet(runs).rows for p in row.panels if isinstance(p, Curves)]
    early, panel = (p for p in drawn if p.title.startswith("cos(15"))
    assert [*early.curves][-2:] == ["mean course", "training, 6 seeds"]
    for name, part, epoch in (
        ("training, on the key (3 seeds)", on_key, 200),
        ("training, on the anchors (3 seeds)", others, 200),
        ("training, epoch 900, 1 seed", late, 900),
    ):
        wanted = part.cosines(part.task.reasoning_anchors, epoch)[:, 4]
        wanted[:, 4] = np.nan
        np.testing.assert_array_equal(panel.curves[name].seeds, wanted)
    # Elsewhere nothing is split: of other settings nothing says what epoch 10 is.
    (other,) = group_runs(synthetic.make_observations())
    assert list(by_mechanism(other)) == [""]


def test_captions_are_written_beside_figures_and_printed(here, cli):
    said = cli("figures", "2", "--captions").out
    text = Path("figures/fig02_sequences.txt").read_text()
    assert text.startswith("Fig. 2: ")
    assert FIGURES[2].sheet([]).caption in text
    assert FIGURES[2].sheet([]).caption in said
