"""What is said of two configurations that differ."""

from __future__ import annotations

from typing import Any

from sim.config.differences import differences
from sim.config.run import MemberConfig, make_member_config

TASK = {"n_anchors": 1, "length": 2, "vocab_size": 80, "memory_anchors": "1..3"}


def _member(keys: str = "40..49", **data: Any) -> MemberConfig:
    return make_member_config({"init_rate": 0.8, "seed": 0, "task": TASK | {"keys": keys}} | data)


def test_the_keys_that_differ_are_named_with_both_values() -> None:
    one = _member(training={"epochs": 5})
    assert differences(one, _member(training={"epochs": 9})) == "training.epochs = 5, not 9"
    assert differences(one, one) == ""


def test_the_first_of_many_keys_are_named_and_those_of_the_task_come_last() -> None:
    one = _member(training={"epochs": 5, "beta1": 0.5}, seed=3)
    text = differences(one, _member("40..52"))
    assert text.startswith(
        "seed = 3, not 0; training.beta1 = 0.5, not 0.9; training.epochs = 5, not 100; and"
    )
    assert text.endswith("; and 1 more")
    tasks = differences(_member(), _member("40..52"))
    assert tasks == 'task.keys = "40..49", not "40..52"'


def test_a_key_of_one_kind_of_model_alone_is_not_set_in_the_other() -> None:
    transformer = _member(model={"kind": "one-layer"})
    assert "not set" in differences(transformer, _member(init_rate=0.8))
