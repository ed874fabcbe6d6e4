"""A sweep over two axes: every cell against pandas and SciPy, and how gaps and bounds are told apart."""

import itertools
import math

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import stats

from sim import AdamW, make_run_config, train_members
from sim.config.model import EmbMLPConfig
from sim.runs.table import axes_of, long_records, settings_of
from tests.validate.sweeps.toy import toy_text, write_toy
from theory import InputError
from validate.observe.bounds import Bound
from validate.pivot import MEASURES, Cell, Measure, pivot_of, statistic
from validate.sweeps import load_sweep

PARTS = ("mem", "rsn_train", "rsn_test")


@pytest.fixture
def members(tmp_path):
    """The toy's runs with three seeds, by γ, seed and learning rate."""
    sweep = load_sweep(write_toy(tmp_path, seeds="[0, 1, 2]"))
    return {(m.init_rate, m.seed, m.training.learning_rate): m for m in sweep.members.values()}


@pytest.fixture
def runs(members):
    """Runs of two evaluations in which every number is another one."""
    rng = np.random.default_rng(0)
    return [(config, [line(epoch, rng.uniform(size=6)) for epoch in (0, 1)]) for config in members.values()]


def line(epoch, values):
    loss, accuracy = (dict(zip(PARTS, map(float, part), strict=True)) for part in (values[:3], values[3:]))
    return {"epoch": epoch, "step": epoch, "sum_learning_rate": 1.0, "loss": loss, "accuracy": accuracy}


@pytest.mark.parametrize(
    ("x", "y"), [("init_rate", "seed"), ("seed", "learning_rate"), ("learning_rate", "init_rate")]
)
@pytest.mark.parametrize(
    ("chosen", "bounds"),
    [
        (("accuracy", "rsn_test", "", None), (0, 1)),
        (("loss", "mem", "", 0.0), (0, math.inf)),
        (("accuracy", "rsn_train", "mem", 1.0), (-1, 1)),
        (("loss", "rsn_test", "rsn_train", None), (-math.inf, math.inf)),
    ],
)
def test_every_cell_is_the_mean_of_pandas_with_the_interval_of_student(chosen, bounds, x, y, runs):
    name, part, minus, epoch = chosen
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(long_records([(str(i), *run) for i, run in enumerate(runs)]))
    frame = frame[(frame.statistic == name) & (frame.epoch == (1 if epoch is None else epoch))]
    keys = ["run", "init_rate", "seed", "learning_rate"]
    values = frame[frame.data_set == part].set_index(keys)["value"]
    if minus:
        values = values - frame[frame.data_set == minus].set_index(keys)["value"]
    shown = pivot_of(runs, statistic(*chosen), x, y)
    expected = values.reset_index().pivot_table(index=y, columns=x, values="value")
    assert (list(shown.x[1]), list(shown.y[1])) == (list(expected.columns), list(expected.index))
    said = shown.as_dict()
    np.testing.assert_allclose(np.array(said["values"], float), expected, rtol=1e-12)
    for row, column in itertools.product(range(len(expected.index)), range(len(expected.columns))):
        at = values.reset_index()
        at = at[(at[y] == expected.index[row]) & (at[x] == expected.columns[column])]
        means = at.groupby("seed")["value"].mean()
        assert said["seeds"][row][column] == len(means)
        low, high = said["interval_low"][row][column], said["interval_high"][row][column]
        if len(means) == 1:
            assert (low, high) == (None, None)
        else:
            by_scipy = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
            np.testing.assert_allclose([low, high], np.clip(by_scipy, *bounds), rtol=1e-9)


def test_the_ledgers_measures_are_shown(members):
    """Σ learning rate 0 to 2; test minus memory is 0, 1, 1, whose mean over the run is 3/4."""
    config = members[0.3, 0, 1e-3]
    lines = [
        line(i, [0.0] * 3 + values) | {"sum_learning_rate": float(i)}
        for i, values in enumerate([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    ]
    cells = {name: pivot_of([(config, lines)], m, "seed", "optimizer") for name, m in MEASURES.items()}
    numbers = {name: shown.cells[0][0].number for name, shown in cells.items()}
    assert numbers == {"bias": 0.75, "highest_test_accuracy": 1.0, "matched_test_accuracy": 0.5}


@pytest.mark.parametrize(
    ("values", "text", "full"),
    [
        ((1.0, 2.0), "1.50", "1.500 [–] n=2"),
        ((-0.004,), "0.00", "-0.004 [–] n=2"),
        ((1.0, math.nan), "1.00*", "1.000* [–] n=2"),
        ((math.nan, math.nan), "undefined", "undefined"),
        ((1.0, Bound(low=3.0)), "≥2.00", "≥2.000 [–] n=2"),
        ((Bound(high=-1.0), math.nan), "≤-1.00*", "≤-1.000* [–] n=2"),
        ((Bound(low=1.0), Bound(high=0.0)), "?", "? [–] n=2"),
        ((), "–", "–"),
    ],
)
def test_a_cell_keeps_numbers_bounds_and_gaps_apart(values, text, full):
    assert Cell(values, 2).text() == text
    assert Cell(values, 2).text(full=True) == full


@pytest.mark.parametrize(
    ("values", "left_out", "n", "has_interval"),
    [
        ((1.0, 2.0, 4.0), None, 3, True),
        ((1.0, math.nan, 4.0), None, 2, True),
        ((1.0, math.nan, math.nan), None, 1, False),
        ((1.0, 2.0, Bound(low=4.0)), None, 3, False),
        # One seed lacks a learning rate: the difference would count as scatter.
        ((1.0, 2.0, 4.0), (0.3, 1, 2e-3), 3, False),
    ],
)
def test_an_interval_needs_seeds_with_numbers_at_the_same_settings(
    values, left_out, n, has_interval, members
):
    runs = [(config, [line(0, range(6))]) for at, config in members.items() if at != left_out]
    measure = Measure("made up", lambda run: values[run.config.seed], ())
    cell = pivot_of(runs, measure, "init_rate", "optimizer").cells[0][0]
    assert (cell.seeds, cell.low is not None, cell.high is not None) == (n, has_interval, has_interval)
    assert ("[–]" in cell.text(full=True)) is not has_interval


def test_a_loss_that_overflowed_is_undefined_and_no_run_is_blank(members):
    runs = [(members[0.3, 0, 1e-3], [line(0, range(6))]), (members[0.8, 1, 1e-3], [line(0, range(6))])]
    runs[1][1][0]["loss"]["mem"] = None
    shown = pivot_of(runs, statistic("loss", "rsn_train", "mem"), "init_rate", "seed")
    assert shown.texts == [["1.000 [–] n=1", "–"], ["–", "undefined"]]
    assert [note.partition(":")[0] for note in shown.notes] == ["undefined", "–", "[–]"]
    assert shown.as_dict()["values"] == [[1.0, None], [None, None]]
    panel = shown.panel.plot()
    assert [p.get_xy() for p in panel.ax_.patches if isinstance(p, Rectangle)] == [(0.5, 0.5)]
    assert [text.get_text() for text in panel.ax_.texts] == ["1.00"]


def test_the_kind_of_model_is_an_axis_under_its_name_in_the_table(runs):
    shown = pivot_of(runs, statistic("loss", "mem"), "model", "gamma")
    assert (shown.x, shown.y) == (("model", ["emb-mlp"]), ("init_rate", [0.3, 0.8]))


@pytest.mark.parametrize(
    ("measure", "x", "named"),
    [
        (MEASURES["bias"], "sed", r"axis = 'sed'.*did you mean 'seed'"),
        (statistic("accuracy", "rsn"), "seed", "data_set = 'rsn'"),
        (statistic("accuracy", "mem", "rest"), "seed", "minus = 'rest'"),
        (statistic("loss", "mem", epoch=7.0), "seed", "no run was evaluated then"),
    ],
)
def test_what_is_not_there_is_refused(measure, x, named, runs):
    with pytest.raises(InputError, match=named):
        pivot_of(runs, measure, x, "init_rate")


def test_runs_that_are_named_twice_or_lack_a_data_set_are_refused(runs):
    """Otherwise the seed of one would weigh twice in the mean, and once in the interval."""
    with pytest.raises(InputError, match="seed = 0: two runs of one configuration"):
        pivot_of([*runs, runs[0]], statistic("loss", "mem"), "learning_rate", "init_rate")
    for evaluation in (evaluation for _, metrics in runs for evaluation in metrics):
        del evaluation["accuracy"]["mem"]
    with pytest.raises(InputError, match="measure = 'bias': needs the data set mem"):
        pivot_of(runs, MEASURES["bias"], "seed", "init_rate")


@pytest.mark.parametrize(
    ("old", "new"),
    [("[[11, 12]]", "[[11, 13]]"), ("[40, 44]", "[41, 45]"), ("[40, 44]", "[40, 45]")],
    ids=["held-out combinations", "first key", "gaps between keys"],
)
def test_tasks_that_differ_in_anything_are_told_apart(old, new, tmp_path):
    """Otherwise their runs would be pooled in one cell."""
    configs = []
    for text in (toy_text(), toy_text().replace(old, new)):
        (tmp_path / "toy.toml").write_text(text)
        configs.append(next(iter(load_sweep(tmp_path / "toy.toml").members.values())))
    assert axes_of(configs) == ["init_rate", "seed", "task"]


def test_every_setting_of_a_run_is_a_number_or_a_text():
    model = {"kind": "emb-mlp", "tensor_init_rates": {"W2": 0.5}}
    config = make_run_config({"training": {"snapshot_epochs": [1, 2]}, "model": model})
    found = settings_of(config.members()[0])
    assert (found["snapshot_epochs"], found["tensor_init_rates"]) == ("[1, 2]", '{"W2": 0.5}')
    assert {type(value) for value in found.values()} <= {int, float, str, bool, type(None)}


def test_a_setting_of_the_user_s_own_hides_none_of_the_run_s():
    class Seeded(EmbMLPConfig):
        seed: int = 99
        length: int = 98
        epoch: int = 97

    class Kinds(AdamW):
        kind: int = 96
        model: int = 95

    member = make_run_config({"seeds": [3]}).members()[0]
    found = settings_of(member.model_copy(update={"model": Seeded(), "training": Kinds()}))
    assert (found["seed"], found["length"], found["model"]) == (3, member.task.length, "emb-mlp")
    assert (found["kind"], found["training.model"]) == (96, 95)
    assert [found[f"model.{key}"] for key in ("seed", "length", "epoch")] == [99, 98, 97]
    assert "epoch" not in found


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_shows_draws_and_says_what_it_leaves_out(tmp_path, cli):
    members = load_sweep(write_toy(tmp_path)).members
    some = [name for name, member in members.items() if member.init_rate == 0.8]
    train_members([members[name] for name in some], [tmp_path / name for name in some])
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.json").write_text((tmp_path / some[0] / "config.json").read_text())
    command = ["sweep", "show", str(tmp_path), "--y", "seed", "--statistic", "loss"]
    printed = cli(*command, "--json")
    said = printed.json()
    assert (said["x"], said["y"], said["figure"]) == ([0.8], [0, 1], None)
    assert said["runs"] == [[2], [2]]
    lines = cli(*command).table("seed \\ init_rate", "0.8", n=2)
    assert [line["seed \\ init_rate"] for line in lines] == ["0", "1"]
    shown = [float(line["0.8"].split()[0]) for line in lines]
    assert shown == pytest.approx([mean for (mean,) in said["values"]], rel=1e-2)
    assert "left out: 1 of 5 runs" in printed.err
    out = tmp_path / "new" / "map.svg"
    assert "each cell is a mean over its values of learning_rate\n" in cli(*command, "--out", str(out)).out
    assert out.read_text().startswith("<?xml")
    cli(*command, "--out", str(out), code=2)
    for options, refused in (
        (["--measure", "bais"], "did you mean 'bias'"),
        (["--measure", "bias", "--data-set", "mem"], "data_set = 'mem'"),
        (["--x", "seed"], "y = 'seed'"),
        (["--out", str(tmp_path / "map.txt")], "format = 'txt': unknown format"),
    ):
        assert refused in cli(*command[:5], *options, code=2).err
    twice = cli("sweep", "show", str(tmp_path), "--x", "gamma", "--y", "init_rate", code=2)
    assert "y = 'init_rate': is also x" in twice.err
    assert "no run there is complete" in cli("sweep", "show", str(tmp_path / "begun"), code=2).err
