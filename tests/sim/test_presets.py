"""Presets: found by name, overridden table by table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim.config.presets import load_preset, merge, over_preset, preset_names
from sim.config.run import make_run_config, sources
from sim.training.schedule import learning_rate
from theory import InputError


def test_a_preset_is_a_file_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("seeds = [3]\n[model]\nd_m = 8\n")
    (tmp_path / "other.toml").write_text("")
    assert preset_names(tmp_path) == ["other", "small"]
    assert load_preset("small", tmp_path) == {"seeds": [3], "model": {"d_m": 8}}
    with pytest.raises(InputError, match="did you mean 'small'"):
        load_preset("smal", tmp_path)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_of_the_package_says_where_each_of_its_values_comes_from(name: str) -> None:
    preset = load_preset(name)
    given = {
        f"{section}.{key}" for section in ("model", "data", "training") for key in preset.get(section, {})
    }
    assert set(preset["sources"]) == given
    for member in make_run_config(preset).members():
        assert "user" not in sources(member).values()


def test_a_preset_can_start_from_another(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        '[model]\nd_m = 8\nd_f = 9\n[sources]\n"model.d_m" = "paper"\n"model.d_f" = "paper"\n'
    )
    (tmp_path / "next.toml").write_text('preset = "base"\n[model]\nd_f = 7\n')
    (tmp_path / "loop.toml").write_text('preset = "loop"\n')
    expected = {"model": {"d_m": 8, "d_f": 7}, "sources": {"model.d_m": "paper"}}
    assert load_preset("next", tmp_path) == expected
    with pytest.raises(InputError, match=r"preset = 'loop'.*starts from itself"):
        load_preset("loop", tmp_path)


def test_the_groups_preset_is_what_their_public_code_has() -> None:
    config = make_run_config(load_preset("group-2024"))
    model: Any = config.model
    assert (model.norm, model.activation, model.read_out_bias, model.biases) == ("post", "relu", True, False)
    training = config.training
    rates = [learning_rate(training, 1980 * epoch, 1980) for epoch in (0, 10, 199)]
    assert rates == pytest.approx([1e-5, 2e-4, 1e-5])
    assert (training.weight_decay, training.clip_norm, training.epochs) == (0.01, 1.0, 200)
    later: Any = make_run_config(load_preset("group-pre")).model
    assert (later.norm, later.activation, later.biases) == ("pre-queries", "gelu", True)
    assert (later.scale_residual, later.bias_scale) == (True, 1.0)


def test_tables_merge_key_by_key_and_nothing_is_changed_in_place() -> None:
    base = {"seeds": [0], "training": {"epochs": 5, "batch_size": 10}}
    merged = merge(base, {"seeds": [1, 2], "training": {"epochs": 7}, "data": {"source": "draw"}})
    assert merged == {
        "seeds": [1, 2],
        "training": {"epochs": 7, "batch_size": 10},
        "data": {"source": "draw"},
    }
    assert base == {"seeds": [0], "training": {"epochs": 5, "batch_size": 10}}


def test_a_model_of_another_kind_replaces_the_one_below() -> None:
    transformer = {"model": {"kind": "transformer", "d_k": 4, "d_m": 8}}
    assert merge(transformer, {"model": {"kind": "emb-mlp", "d_m": 6}}) == {
        "model": {"kind": "emb-mlp", "d_m": 6}
    }
    assert merge(transformer, {"model": {"d_m": 6}})["model"] == {"kind": "transformer", "d_k": 4, "d_m": 6}
    # A model without a kind is an Emb-MLP.
    assert merge({"model": {"d_m": 8}}, {"model": {"kind": "emb-mlp"}})["model"] == {
        "kind": "emb-mlp",
        "d_m": 8,
    }


def test_a_named_task_is_replaced_by_a_table() -> None:
    assert merge({"task": "paper"}, {"task": {"length": 3}}) == {"task": {"length": 3}}


def test_a_users_task_replaces_the_presets_as_a_whole() -> None:
    preset = {"task": {"length": 5, "held_out": [[1, 2]]}, "model": {"d_m": 8, "d_f": 4}}
    own = {"task": {"length": 3}, "model": {"d_m": 6}}
    assert over_preset(preset, own) == {"task": {"length": 3}, "model": {"d_m": 6, "d_f": 4}}
    assert over_preset(preset, {"model": {"d_m": 6}})["task"] == preset["task"]
    assert merge(preset, own)["task"] == {"length": 3, "held_out": [[1, 2]]}
