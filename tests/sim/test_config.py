"""Configurations: defaults with a source, members, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import (
    MemberConfig,
    RunConfig,
    TrainingConfig,
    TransformerConfig,
    build_dataset,
    make_run_config,
)
from sim.config.model_section import LAYER_MATRICES
from sim.config.presets import merge
from sim.config.run import make_member_config, sources
from sim.config.task_files import _read_once
from sim.models.initial import tensor_specs
from sim.training.schedule import learning_rate
from theory import InputError, Task
from theory.task.task import task_to_dict
from theory.task.toml import dump_toml

PAPER = Task.paper(length=3)


def test_members_cover_every_rate_and_seed() -> None:
    members = RunConfig(init_rates=(0.3, 0.8), seeds=(0, 1)).members()
    assert [m.name for m in members] == [
        "gamma0.3_seed0",
        "gamma0.3_seed1",
        "gamma0.8_seed0",
        "gamma0.8_seed1",
    ]
    assert all(m.build_task() == Task.paper(length=3) for m in members)


@pytest.mark.parametrize("task", [None, 3, ["paper"]])
def test_a_members_task_is_a_task(task: Any) -> None:
    with pytest.raises(InputError, match=r"^task = .*: no task; give one of paper, emb-mlp"):
        MemberConfig(task=task, init_rate=0.8, seed=0)


def test_a_member_parses_its_task_once_and_tasks_can_be_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    _read_once.cache_clear()
    monkeypatch.setattr("sim.config.task_files.task_from_dict", lambda table: parsed.append(table) or PAPER)
    member = make_member_config({"task": task_to_dict(PAPER), "init_rate": 0.8, "seed": 0})
    assert len(parsed) == 1
    assert member.build_task() is member.task is PAPER
    build_dataset(member)
    assert len(parsed) == 1
    assert {member.task: "known"}[Task.paper(length=3)] == "known"
    assert pickle.loads(pickle.dumps(member)) == member


def test_a_configuration_takes_a_task_as_a_name_a_table_a_file_or_itself(tmp_path: Path) -> None:
    file = tmp_path / "task.toml"
    file.write_text(dump_toml(task_to_dict(PAPER)))
    configs = [RunConfig(task=task) for task in ("emb-mlp", task_to_dict(PAPER), str(file), file, PAPER)]
    assert [config.build_task() for config in configs] == [PAPER] * 5
    assert all(isinstance(config.task, str | dict) for config in configs)


def test_a_member_survives_json() -> None:
    member = RunConfig(task="paper").members()[0]
    assert make_member_config(member.model_dump(mode="json")) == member


def test_a_configuration_saved_before_a_setting_existed_means_what_it_meant() -> None:
    """As run folders and kept runs hold it; a key that is new has to have the default of before."""
    member = RunConfig(model=TransformerConfig(norm="pre"), task="paper").members()[0]
    saved = member.model_dump(mode="json")
    for key in ("norm_biases", "read_out_bias", "bias_scale", "scale_residual"):
        del saved["model"][key]
    for key in ("schedule_every", "schedule_epochs"):
        del saved["training"][key]
    assert make_member_config(saved) == member
    assert not any("b_" in name or name.endswith(".b") for name in tensor_specs(member, 200))
    assert learning_rate(member.training, 10**6, 1980) == member.training.learning_rate


def test_every_default_names_its_source() -> None:
    member = make_run_config({"training": {"epochs": 7}}).members()[0]
    found = sources(member)
    assert set(found.values()) == {"paper", "sibling", "chosen", "user"}
    assert found["training.epochs"] == "user"
    assert found["model.d_m"] == "paper"


def test_a_value_comes_from_where_its_preset_says_until_somebody_replaces_it() -> None:
    preset = {
        "model": {"kind": "transformer", "norm": "post", "d_m": 32},
        "training": {"epochs": 7},
        "sources": {"model.norm": "paper", "model.d_m": "sibling", "training.epochs": "chosen"},
    }
    plain = make_run_config(preset).members()[0]
    found = sources(plain)
    assert [found[f"model.{key}"] for key in ("norm", "d_m")] == ["paper", "sibling"]
    assert found["training.epochs"] == "chosen"
    own = sources(make_run_config(merge(preset, {"model": {"d_m": 16}, "training": {"epochs": 7}})))
    assert [own[key] for key in ("model.norm", "model.d_m", "training.epochs")] == ["paper", "user", "user"]
    other = sources(make_run_config(merge(preset, {"model": {"kind": "emb-mlp", "d_m": 16}})))
    assert (other["model.d_m"], other["training.epochs"]) == ("user", "chosen")
    # What is trained is the same, and so is what is saved of it.
    untold = make_run_config({key: value for key, value in preset.items() if key != "sources"}).members()[0]
    assert plain == untold
    assert sources(untold)["model.d_m"] == "user"
    assert "sources" not in plain.model_dump()
    assert plain != make_run_config(merge(preset, {"training": {"epochs": 8}})).members()[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"training": {"epochs": 0}}, ["training.epochs = 0", "at least 1", "greater than or equal to 1"]),
        ({"training": {"epoch": 5}}, ["'epoch'", "did you mean 'epochs'"]),
        ({"trainin": {}}, ["'trainin'", "did you mean 'training'"]),
        ({"init_rates": ["large"]}, ["init_rates.0 = 'large'", "number"]),
        ({"init_rates": [float("nan")]}, ["init_rates.0 = nan", "finite"]),
        ({"init_rates": []}, ["init_rates = []"]),
        ({"init_rates": [0.8, 0.8]}, ["init_rates = [0.8, 0.8]", "twice"]),
        ({"seeds": [-1]}, ["seeds.0 = -1"]),
        ({"training": {"batch_size": 0}}, ["training.batch_size = 0"]),
        ({"training": {"optimizer": "adam"}}, ["training.optimizer = 'adam'", "adamw"]),
        (
            {"training": {"snapshot_epochs": [-2]}},
            ["training.snapshot_epochs.0 = -2", "at least 0", "or equal to 0"],
        ),
        (
            {"training": {"schedule": "warmup-cosine", "epochs": 5}},
            ["training.warmup_epochs = 10", "leaves no room"],
        ),
        (
            {"training": {"schedule": "warmup-cosine", "epochs": 50, "schedule_epochs": 10}},
            ["training.warmup_epochs = 10", "leaves no room in 10"],
        ),
        ({"sources": {"model.nrm": "paper"}}, ["sources = 'model.nrm'", "unknown"]),
        ({"sources": {"model.d_m": "nobody"}}, ["sources.model.d_m = 'nobody'", "'sibling'"]),
        ({"model": {"tensor_init_rates": {"W3": 1.0}}}, ["tensor_init_rates", "W3"]),
        ({"model": {"kind": "tranformer"}}, ["model.kind = 'tranformer'", "one-layer, transformer"]),
        ({"model": {"kind": ["x"]}}, ["model.kind = ['x']"]),
        ({"model": 3}, ["model = 3", "model"]),
        ({"model": {"n_heads": 2}}, ["'n_heads'", "model key"]),
        ({"model": {"kind": "transformer", "n_head": 2}}, ["'n_head'", "did you mean 'n_heads'"]),
        ({"model": {"kind": "one-layer", "d_m": 9}}, ["'d_m'", "known: activation, d_f, d_k"]),
        (
            {"model": {"kind": "transformer", "norm": "rms"}},
            ["model.norm = 'rms'", "'pre-queries' or 'none'"],
        ),
        ({"model": {"kind": "transformer", "n_layers": 0}}, ["model.n_layers = 0", "than or equal to 1"]),
        (
            {"model": {"kind": "transformer", "tensor_init_rates": {"2.W_Q": 1.0}}},
            ["model.tensor_init_rates", "'2.W_Q'", "unknown matrix; did you mean '0.W_Q'"],
        ),
        (
            {"model": {"kind": "transformer", "positions": "none", "tensor_init_rates": {"W_pos": 1.0}}},
            ["model.tensor_init_rates", "'W_pos'", "unknown matrix"],
        ),
        ({"data": {"fresh_noise": True}}, ["data.fresh_noise = True", "set source = 'draw'"]),
        (
            {"training": {"evaluations_per_epoch": 2}},
            ["training.evaluate_every = 5", "set evaluate_every = 1"],
        ),
        ({"model": {"d_m": True}}, ["model.d_m = True", "valid integer"]),
        ({"model": {"d_m": 0}}, ["model.d_m = 0", "greater than or equal to 1"]),
        ({"training": {"learning_rate": "1e-4"}}, ["training.learning_rate = '1e-4'", "valid number"]),
        ({"training": {"learning_rate": True}}, ["training.learning_rate = True", "valid number"]),
        ({"training": {"clip_norm": float("inf")}}, ["training.clip_norm = inf", "finite"]),
        ({"training": {"epochs": 10**20}}, ["training.epochs = 1", "less than or equal to 1000000000"]),
        ({"training": {"frozen": "W1"}}, ["training.frozen = 'W1'", 'not a list; write ["W1"].']),
        ({"seeds": 3}, ["seeds = 3: not a list; write [3]."]),
        ({"init_rates": 0.8}, ["init_rates = 0.8: not a list; write [0.8]."]),
        ({"seeds": {"a": 1}}, ["seeds = {'a': 1}: not a list; write [...]."]),
        ({"seeds": [10**5000]}, ["seeds.0 = a value of type int", "less than or equal to"]),
        ({"model": {"kind": "transformer", "n_layers": 10**6}}, ["model.n_layers", "or equal to 1000"]),
        ({"task": "papper"}, ["task = 'papper'", "emb-mlp"]),
        ({"task": {"keys": "1..2"}}, ["'n_anchors' is missing"]),
        ({"seeds": []}, ["seeds = []: no value", "give at least one"]),
        ({"init_rates": np.zeros((0, 2))}, ["init_rates = an array of shape (0, 2)", "give at least one"]),
    ],
)
def test_nonsense_is_refused_by_name(data: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        make_run_config(data).members()
    shared = [word for word in words if word in str(caught.value)]
    assert len(shared) >= min(2, len(words)), str(caught.value)


def test_a_key_that_is_missing_is_to_be_added() -> None:
    with pytest.raises(InputError, match=r"field required; add it\.$"):
        make_member_config({"init_rate": 0.8, "seed": 0})


def test_sgd_decays_nothing_unless_it_is_asked_to() -> None:
    """AdamW's 0.01 as L2 would halve all weights in 140 steps at a rate of 0.5."""
    plain, asked = TrainingConfig(optimizer="sgd"), TrainingConfig(optimizer="sgd", weight_decay=0.01)
    assert (plain.weight_decay, asked.weight_decay, TrainingConfig().weight_decay) == (0.0, 0.01, 0.01)
    tags = [sources(RunConfig(training=t))["training.weight_decay"] for t in (plain, asked, TrainingConfig())]
    assert tags == ["chosen", "user", "sibling"]


def test_defaults_are_those_of_the_paper_where_it_states_them() -> None:
    training = TrainingConfig()
    assert (training.batch_size, training.clip_norm, training.optimizer) == (100, 1.0, "adamw")


@pytest.mark.parametrize("kind", ["emb-mlp", "one-layer", "transformer"])
def test_every_kind_survives_json_and_knows_its_matrices(kind: str) -> None:
    member = make_run_config({"model": {"kind": kind, "tensor_init_rates": {}}}).members()[0]
    assert make_member_config(member.model_dump(mode="json")) == member
    assert member.model.kind == kind
    matrices = {n for n, spec in tensor_specs(member, 200).items() if spec.fan_in is not None}
    named = {name for name in member.model.matrix_names() if name not in LAYER_MATRICES}
    assert named == matrices


def test_a_transformer_starts_from_the_papers_sizes() -> None:
    model = TransformerConfig()
    assert (model.n_layers, model.n_heads, model.d_m, model.d_f, model.d_k) == (2, 1, 200, 512, 64)
    found = sources(make_run_config({"model": {"kind": "transformer"}}).members()[0])
    sizes = {"kind", "n_layers", "n_heads", "d_m", "d_f", "d_k", "positions", "loss", "initial_embedding"}
    ours = {key.removeprefix("model.") for key, tag in found.items() if tag == "paper"}
    assert {name for name in ours if "." not in name} == sizes
    assert {found[f"model.{name}"] for name in ("norm", "biases", "activation", "norm_epsilon")} == {"chosen"}
