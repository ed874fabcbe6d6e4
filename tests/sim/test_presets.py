"""Presets: found by name, overridden table by table."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.config.presets import load_preset, merge, preset_names
from sim.config.run import make_run_config
from theory import InputError


def test_a_preset_is_a_file_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("seeds = [3]\n[model]\nd_m = 8\n")
    (tmp_path / "other.toml").write_text("")
    assert preset_names(tmp_path) == ["other", "small"]
    assert load_preset("small", tmp_path) == {"seeds": [3], "model": {"d_m": 8}}
    with pytest.raises(InputError, match="did you mean 'small'"):
        load_preset("smal", tmp_path)


def test_every_preset_of_the_package_is_a_configuration() -> None:
    for name in preset_names():
        assert make_run_config(load_preset(name)).members()


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
