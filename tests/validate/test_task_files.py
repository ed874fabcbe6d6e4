"""A task is all that training needs: it is told from a configuration by its content, in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.config.presets import MOST_SEQUENCES, STEPS, experiment_for, load_preset, merge, sample_size
from sim.config.run import RunConfig, make_run_config
from sim.config.task_files import CONFIG_KEYS, as_task, read_description
from sim.training.trainer import Trainer
from tests.conftest import Cli
from tests.tiny_task import TASK
from theory import InputError, Task
from validate.commands.parsing import parse
from validate.commands.train import Options, configuration_of

TASK_OF_MAPPINGS = """
keys = "40..49"
n_anchors = 1
length = 2
vocab_size = 80

[[mappings]]
name = "memory"
anchors = "1..3"
rule = "lookup"
"""
SHORT = ["--workers", "1", "--training.epochs", "1", "--json"]


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    file = tmp_path / "my_task.toml"
    file.write_text(TASK)
    return file


def test_a_task_file_trains_a_whole_experiment(task_file: Path, tmp_path: Path, cli: Cli) -> None:
    printed = cli("train", str(task_file), "--out", str(tmp_path / "runs"), *SHORT)
    assert "runs: 6, epochs in all: 6" in printed.err
    configs = [run["config"] for run in printed.json()]
    assert [(c["init_rate"], c["seed"]) for c in configs] == [(g, s) for g in (0.3, 0.8) for s in (0, 1, 2)]
    assert as_task(configs[0]["task"]) == Task.from_toml(TASK)


@pytest.mark.parametrize(
    "form", ["file", "option", "option over a configuration", "named in a configuration"]
)
def test_every_way_to_name_a_task_trains_it(form: str, task_file: Path, tmp_path: Path, cli: Cli) -> None:
    config = tmp_path / "config.toml"
    name = 'task = "my_task.toml"\n' if form == "named in a configuration" else ""
    config.write_text(f"{name}seeds = [7]\n[model]\nd_m = 8\n")
    arguments = {
        "file": [str(task_file), "--init-rates", "0.8", "--seeds", "7"],
        "option": ["--task", str(task_file), "--init-rates", "0.8", "--seeds", "7"],
        "option over a configuration": [str(config), "--task", str(task_file)],
        "named in a configuration": [str(config)],
    }[form]
    (run,) = cli("train", *arguments, "--out", str(tmp_path / "runs"), *SHORT).json()
    assert as_task(run["config"]["task"]) == Task.from_toml(TASK)
    assert (run["config"]["init_rate"], run["config"]["seed"]) == (0.8, 7)


def test_the_configuration_of_a_run_trains_its_control(task_file: Path, tmp_path: Path, cli: Cli) -> None:
    out = ["--out", str(tmp_path / "runs")]
    (first,) = cli("train", str(task_file), *out, "--init-rates", "0.8", "--seeds", "3", *SHORT).json()
    saved = Path(first["path"]) / "config.json"
    (control,) = cli("train", str(saved), *out, "--init-rates", "0.3", "--workers", "1", "--json").json()
    assert control["config"] == first["config"] | {"init_rate": 0.3}
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match=r"not a run's config\.json"):
        read_description(tmp_path / "other.json")


def test_the_experiment_for_a_task_is_of_the_demos_size() -> None:
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


OWN = """
[task]
keys = "21..45"
reasoning_anchors = "11..16"
memory_anchors = "1..4"
n_anchors = 2
length = 4
vocab_size = 90
"""
"""A configuration whose task leaves out the held-out pairs: they are not those of a preset's own task."""


def test_a_task_replaces_that_of_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for text in OWN, OWN.partition("[task]")[2], TASK_OF_MAPPINGS:
        file.write_text(text)
        config = configuration_of(Options(config=str(file), preset="group-quarter"))
        assert config.build_task() == as_task(str(file))
        assert not any(mapping.held_out for mapping in config.build_task().mappings)
        assert config.model == make_run_config(load_preset("group-quarter")).model


def test_a_sample_has_each_combination_at_least_once() -> None:
    many = Task(keys=range(100, 110), n_anchors=3, length=4, vocab_size=400, reasoning_anchors=range(1, 81))
    assert sample_size(many) == 80**3 > MOST_SEQUENCES


def test_a_file_may_name_its_preset_and_an_option_another(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "paper"\nseeds = [3]\n[training]\nepochs = 20\n')
    for argv, name in (([], "paper"), (["--preset", "group-quarter"], "group-quarter")):
        options = parse("train", Options, [str(file), *argv])
        expected = merge(load_preset(name), {"seeds": [3], "training": {"epochs": 20}})
        assert configuration_of(options) == make_run_config(expected)
