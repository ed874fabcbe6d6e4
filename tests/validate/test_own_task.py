"""A task of one's own from its file to a verdict, from TOML and from Python; every way to name it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from sim import Run, RunConfig, train
from sim.config.presets import MOST_SEQUENCES, STEPS, experiment_for, load_preset, merge, sample_size
from sim.config.run import make_run_config
from sim.config.task_files import CONFIG_KEYS, as_task
from sim.runs.run import find_runs
from sim.training.trainer import Trainer
from tests.tiny_task import TASK
from theory import Lookup, Mapping, Task
from validate.commands import predict
from validate.commands.parsing import parse
from validate.commands.train import Options, configuration_of
from validate.compare.answer import answers
from validate.compare.rows import compare_runs
from validate.observe.groups import group_runs

SHORT = ["--workers", "1", "--training.epochs", "1", "--json"]


@pytest.fixture(autouse=True)
def _task_file(here):
    Path("my_task.toml").write_text(TASK)


def test_a_task_file_trains_a_whole_experiment(cli):
    printed = cli("train", "my_task.toml", "--out", "runs", *SHORT)
    assert "runs: 6, epochs in all: 6" in printed.err
    configs = [run["config"] for run in printed.json()]
    assert [(c["init_rate"], c["seed"]) for c in configs] == [(g, s) for g in (0.3, 0.8) for s in (0, 1, 2)]
    assert as_task(configs[0]["task"]) == Task.from_toml(TASK)


@pytest.mark.parametrize(
    "line",
    [
        "my_task.toml --init-rates 0.8 --seeds 7",
        "--task my_task.toml --init-rates 0.8 --seeds 7",
        "config.toml --task my_task.toml",
        "named.toml",
    ],
)
def test_every_way_to_name_a_task_trains_it(line, cli):
    for name, first in (("config.toml", ""), ("named.toml", 'task = "my_task.toml"\n')):
        Path(name).write_text(f"{first}seeds = [7]\n[model]\nd_m = 8\n")
    (run,) = cli("train", *line.split(), "--out", "runs", *SHORT).json()
    assert as_task(run["config"]["task"]) == Task.from_toml(TASK)
    assert (run["config"]["init_rate"], run["config"]["seed"]) == (0.8, 7)


def test_the_configuration_of_a_run_trains_its_control(cli):
    train = ["train", "--out", "runs", *SHORT]
    (first,) = cli(*train, "my_task.toml", "--init-rates", "0.8", "--seeds", "3").json()
    saved = str(Path(first["path"]) / "config.json")
    (control,) = cli(*train[:3], saved, "--init-rates", "0.3", "--workers", "1", "--json").json()
    assert control["config"] == first["config"] | {"init_rate": 0.3}


def test_the_experiment_for_a_task_is_of_the_demos_size_with_each_combination():
    assert set(RunConfig.model_fields) == set(CONFIG_KEYS)
    for task in (Task.from_toml(TASK), Task.paper(length=3)):
        members = make_run_config(experiment_for(task) | {"task": task}).members()
        assert {(m.init_rate, m.seed) for m in members} == {(g, s) for g in (0.3, 0.8) for s in (0, 1, 2)}
        training = members[0].training
        n_sequences = len(task.keys) * sum(task.n_combinations(m) for m in task.mappings)
        steps = training.epochs * -(-n_sequences // 100)
        assert STEPS <= steps < 1.02 * STEPS
        assert len(training.snapshot_epochs) == 9
        assert max(training.snapshot_epochs) < training.epochs
        assert 20 <= training.epochs / training.evaluate_every < 22
    noisy = make_run_config(experiment_for(Task.paper()) | {"task": Task.paper()})
    assert noisy.model.kind == "transformer"
    assert noisy.data.n_sequences % 200 == 0
    Trainer(noisy.members()[:1]).advance(1)
    many = Task(keys=range(100, 110), n_anchors=3, length=4, vocab_size=400, reasoning_anchors=range(1, 81))
    assert sample_size(many) == 80**3 > MOST_SEQUENCES
    assert predict._member(predict.Options(model="transformer"), many).data.n_sequences == 80**3


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("modular-addition", {(97, 96, 3): 2}),
        ("s5", {(120, 1, 0): 1, (120, 1, 1): 0, (120, 119, 119): 0}),
        ("sparse-parity", {(2, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0): 1}),
        ("composition", {(50, 3, 4): 44, (50, 4, 3): 40, (50, 1, 2): 56}),
        ("digits", {(10, 5, 7, 6, 6): 2, (10, 0, 9, 0, 1): 1}),
    ],
)
def test_published_tasks_have_names(name, labels):
    """Their labels by hand; a part is held out, and a file of the task is the same task."""
    task = as_task(name)
    (mapping,) = task.mappings
    for (key, *anchors), label in labels.items():
        assert mapping.rule.evaluate(task.domain(mapping), np.array([key]), np.array([anchors])) == label
    assert 0 < len(task.held_out) < task.n_combinations(mapping) / 2
    assert Task.from_toml(task.to_toml()) == task


def test_a_task_replaces_that_of_a_preset():
    """Its held-out combinations too: a task without any does not get those of the preset's."""
    mappings = TEXT.replace("held_out = [[2, 3]]", "")
    for text in (TASK, f"[task]{TASK}", mappings):
        Path("mine.toml").write_text(text)
        config = configuration_of(Options(config="mine.toml", preset="group-quarter"))
        assert config.build_task() == as_task("mine.toml")
        assert not any(mapping.held_out for mapping in config.build_task().mappings)
        assert config.model == make_run_config(load_preset("group-quarter")).model


def test_a_file_may_name_its_preset_and_an_option_another():
    Path("mine.toml").write_text('preset = "paper"\nseeds = [3]\n[training]\nepochs = 20\n')
    for argv, name in (([], "paper"), (["--preset", "group-quarter"], "group-quarter")):
        options = parse("train", Options, ["mine.toml", *argv])
        expected = merge(load_preset(name), {"seeds": [3], "training": {"epochs": 20}})
        assert configuration_of(options) == make_run_config(expected)


TEXT = """
keys = "30..39"
n_anchors = 2
length = 3
vocab_size = 60

[[mappings]]
name = "own"
anchors = "1..5"
label = "(a1 ** 3 - 2 * key * g(a2) + 5) % 53"
table = { 1 = 7, 2 = -3, 3 = 11, 4 = 0, 5 = -8 }
held_out = [[2, 3]]

[[mappings]]
name = "memory"
anchors = "6..9"
rule = "lookup"
"""
SHIFTS = {1: 7, 2: -3, 3: 11, 4: 0, 5: -8}
CONFIG: dict[str, Any] = {
    "model": {"d_m": 16, "d_f": 16},
    "training": {"epochs": 2, "batch_size": 50, "snapshot_epochs": [1]},
    "init_rates": [0.8],
    "seeds": [0, 1],
}


def function(z, a):
    """Return the same rule's label; tests/theory/test_rules.py has rules of other kinds."""
    return (a[0] ** 3 - 2 * z * SHIFTS[a[1]] + 5) % 53


def python_task():
    mappings = [Mapping(range(1, 6), function, "own", [(2, 3)]), Mapping(range(6, 10), Lookup(), "memory")]
    return Task(keys=range(30, 40), n_anchors=2, length=3, vocab_size=60, mappings=mappings)


def test_from_task_to_verdict(cli):
    Path("task.toml").write_text(TEXT)
    Path("config.toml").write_text(tomli_w.dumps({"task": "task.toml"} | CONFIG))
    trained = cli("train", "config.toml", "--out", "toml", "--workers", "1").out
    assert "rsn_" not in trained
    assert "own train" in trained
    by_toml = [Run.open(folder) for folder in find_runs("toml")]
    by_python = train(RunConfig(task=python_task(), **CONFIG), "python", workers=1)
    for one, other in zip(by_toml, by_python, strict=True):
        assert [line["loss"] for line in one.metrics] == [line["loss"] for line in other.metrics]
    assert set(by_toml[0].metrics[-1]["loss"]) == {"mem", "rsn_train", "rsn_test"}
    verdicts = [answers(group_runs(runs)) for runs in (by_toml, by_python)]
    assert [v.verdict for v in verdicts[0]] == [v.verdict for v in verdicts[1]] == ["censored"]
    assert verdicts[0][0].sentence == verdicts[1][0].sentence
    table = compare_runs(group_runs(by_python))
    assert {row.group for row in table} == {"own", "memory", "all anchors"}
    assert all(np.isfinite(r.estimate.mean) for r in table if (r.group, r.measure) == ("own", "rmse"))
    assert not any(row.predictor.startswith("eq. 14") for row in table)
    assert cli("compare", "python", "--json").json()["schema"].startswith("anchorflow/report/")
