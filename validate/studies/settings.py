"""What an axis may vary by its name alone: a key of a configuration, γ, the seed, q and N_Z."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.config.model import KINDS
from sim.config.run import DataConfig, TrainingConfig
from sim.config.task_files import task_table
from theory import InputError
from theory.errors import unknown_name
from theory.task.toml import TASK_KEYS
from theory.task.toml import tokens_of as tokens_of_table

_MEMBER = {"init_rate": "init_rates", "seed": "seeds"}
"""Axes over what a configuration lists."""
_ALIASES = {
    "gamma": "init_rate",
    "γ": "init_rate",
    "N_Z": "n_keys",
    "model": "kind",
    "optimiser": "optimizer",
}
_OF_TASK = ("q", "n_keys")


def override(name: str, value: Any, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an axis sets at one of its values.

    Parameters
    ----------
    name : str
        "init_rate" (or "gamma"), "seed", "q", "n_keys" (or "N_Z"), a key of a section such as
        "learning_rate", or a dotted path such as "training.learning_rate" or "task.vocab_size".
    value : object
    base : mapping
        The configuration; q and N_Z change its task.

    Raises
    ------
    InputError
        If the name is unknown, or is that of keys in two sections.
    """
    name = _ALIASES.get(name, name)
    if name in _MEMBER:
        return {_MEMBER[name]: [value]}
    if name in _OF_TASK:
        table = task_table(base.get("task", "emb-mlp"))
        return {"task": {**table, **_task_change(name, value, table)}}
    section, _, key = _path(name).partition(".")
    # A preset's name is no table to override a key of.
    below = task_table(base.get("task", "emb-mlp")) if section == "task" else {}
    return {section: {**below, key: value}}


def point_name(name: str, value: Any) -> str:
    """Return the name of a point: a word as it is, a number after the axis's name."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    last = _ALIASES.get(name, name).rpartition(".")[2].replace("_", "-")
    return text if isinstance(value, str) else f"{last}{text}"


def keys_of_sections() -> list[str]:
    """Return the dotted path of every key of a configuration, over all kinds of models."""
    found = {"data": set(DataConfig.model_fields), "training": set(TrainingConfig.model_fields)}
    found["model"] = {key for kind in KINDS.values() for key in kind.model_fields}
    found["task"] = set(TASK_KEYS)
    return sorted(f"{section}.{key}" for section, keys in found.items() for key in keys)


def _path(name: str) -> str:
    """Return the dotted path of a setting that may be given without its section."""
    known = keys_of_sections()
    if name in known:
        return name
    fitting = [path for path in known if path.partition(".")[2] == name]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError("axes", name, f"is a key of {' and of '.join(fitting)}", "write the section too")
    short = [path.partition(".")[2] for path in known]
    raise unknown_name("axis", name, [*short, *_MEMBER, *_ALIASES, *_OF_TASK], "axes")


def _task_change(name: str, value: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a task that change with q or N_Z."""
    if type(value) is not int or value < 1:
        raise InputError(f"axes.{name}", value, "not a positive integer", "give whole numbers from 1 on")
    if name == "n_keys":
        first = tokens_of_table("keys", table["keys"])[0]
        return {"keys": f"{first}..{first + value - 1}"}
    change: dict[str, Any] = {"n_anchors": value, "length": max(table["length"], value + 1)}
    # Combinations of another length than q cannot occur.
    if "held_out" in table:
        change["held_out"] = _of_length(table["held_out"], value)
    if "mappings" in table:
        held_out = [_of_length(entry.get("held_out", []), value) for entry in table["mappings"]]
        pairs = zip(table["mappings"], held_out, strict=True)
        change["mappings"] = [dict(entry) | {"held_out": kept} for entry, kept in pairs]
    return change


def _of_length(combinations: list[list[int]], q: int) -> list[list[int]]:
    return [combination for combination in combinations if len(combination) == q]
