"""Configurations: defaults with a source, members, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from sim import RunConfig, TrainingConfig, make_run_config
from sim.config import make_member_config, sources
from theory import InputError, Task


def test_members_cover_every_rate_and_seed() -> None:
    members = RunConfig(init_rates=(0.3, 0.8), seeds=(0, 1)).members()
    assert [m.name for m in members] == [
        "gamma0.3_seed0",
        "gamma0.3_seed1",
        "gamma0.8_seed0",
        "gamma0.8_seed1",
    ]
    assert all(m.build_task() == Task.paper(length=3) for m in members)


def test_a_member_survives_json() -> None:
    member = RunConfig(task="paper").members()[0]
    assert make_member_config(member.model_dump(mode="json")) == member


def test_every_default_names_its_source() -> None:
    member = make_run_config({"training": {"epochs": 7}}).members()[0]
    found = sources(member)
    assert set(found.values()) == {"paper", "sibling", "chosen", "user"}
    assert found["training.epochs"] == "user"
    assert found["model.d_m"] == "paper"


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
        ({"training": {"snapshot_epochs": [-2]}}, ["snapshot_epochs has a negative epoch"]),
        ({"training": {"schedule": "warmup-cosine", "epochs": 5}}, ["leaves no room"]),
        ({"model": {"tensor_init_rates": {"W3": 1.0}}}, ["tensor_init_rates", "W3"]),
        ({"task": "papper"}, ["task = 'papper'", "emb-mlp"]),
        ({"task": {"keys": "1..2"}}, ["'n_anchors' is missing"]),
    ],
)
def test_nonsense_is_refused_by_name(data: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        make_run_config(data).members()
    shared = [word for word in words if word in str(caught.value)]
    assert len(shared) >= min(2, len(words)), str(caught.value)


def test_defaults_are_those_of_the_paper_where_it_states_them() -> None:
    training = TrainingConfig()
    assert (training.batch_size, training.clip_norm, training.optimizer) == (100, 1.0, "adamw")
