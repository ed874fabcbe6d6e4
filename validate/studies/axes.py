"""A study over axes: a variant for every combination of what the axes offer, or for each row of a list.

An axis varies what its name says: a key of a configuration, γ, the seed, q or N_Z.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sim.config.model import KINDS
from sim.config.presets import merge
from sim.config.run import DataConfig, TrainingConfig
from sim.config.task_files import task_table
from theory import InputError
from theory.errors import unknown_name
from theory.task.toml import TASK_KEYS, tokens_of

Overrides = dict[str, Any]
Point = tuple[str, Callable[[Mapping[str, Any]], Overrides]]
"""A point of an axis: its name, and from a configuration to what it overrides there."""
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


def variants_of(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Overrides]:
    """Return a study's variants over a base: those that its file writes out, or those that its axes make.

    An axis is a list of values, ``learning_rate = [1e-4, 1e-3]`` under ``[axes]``, or a table
    ``[axes.NAME]`` of overrides for each point. Variants are the product of the axes; with
    ``combine = "zip"`` the first one has the first point of every axis, and so on. A variant is named by its
    points in the order of the axes, joined by "-"; where two axes set the same value, the later one decides.
    """
    if "axes" not in data:
        variants = data.get("variants", {})
        if not isinstance(variants, dict):
            raise InputError("variants", variants, "not a table", "write [variants.NAME] for each")
        for name, over in variants.items():
            if not isinstance(over, dict):
                raise InputError("variants", name, "not a table", f"write [variants.{name}]")
        return variants
    if "variants" in data:
        raise InputError("axes", "axes", "the study has variants as well", "write one of the two")
    axes = data["axes"]
    if not isinstance(axes, dict) or not axes:
        raise InputError("axes", axes, "no table of axes", "write NAME = [values] under [axes]")
    points = {name: _points(name, axis) for name, axis in axes.items()}
    named: dict[str, Overrides] = {}
    for parts in _combinations(points, data.get("combine", "product")):
        combined: Overrides = {}
        for _, change in parts:  # A point sees what the points before it changed.
            combined = merge(combined, change(merge(base, combined)))
        name = "-".join(point for point, _ in parts)
        if name in named:
            problem = "give the same name to two variants"
            raise InputError("axes", list(axes), problem, "list each value once")
        named[name] = combined
    return named


def _points(name: str, axis: Any) -> list[Point]:
    """Return the points of one axis."""
    if isinstance(axis, list) and axis:
        return [(point_name(name, value), partial(override, name, value)) for value in axis]
    if isinstance(axis, dict) and axis and all(isinstance(over, dict) for over in axis.values()):
        return [(point, partial(lambda over, base: over, over)) for point, over in axis.items()]
    problem = "neither a list of values nor a table of overrides"
    raise InputError(f"axes.{name}", axis, problem, "write NAME = [values], or POINT = { ... } for each")


def _combinations(points: Mapping[str, list[Point]], combine: Any) -> Iterable[Sequence[Point]]:
    if combine == "product":
        return itertools.product(*points.values())
    if combine != "zip":
        raise InputError("combine", combine, "unknown", 'write "product" or "zip"')
    lengths = {name: len(axis) for name, axis in points.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("axes", lengths, "differ in length", 'give as many values each, or use "product"')
    return zip(*points.values(), strict=True)


def point_name(name: str, value: Any) -> str:
    """Return the name of a point: a word as it is, a number after the axis's name."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    last = _ALIASES.get(name, name).rpartition(".")[2].replace("_", "-")
    return text if isinstance(value, str) else f"{last}{text}"


def override(name: str, value: Any, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an axis sets at one of its values over a base, whose task q and N_Z change.

    Axes are "init_rate" (or "gamma"), "seed", "q", "n_keys" (or "N_Z"), a key of a section such as
    "learning_rate", or a dotted path such as "training.learning_rate" or "task.vocab_size".
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
        first = tokens_of("keys", table["keys"])[0]
        return {"keys": f"{first}..{first + value - 1}"}

    def fitting(part: Mapping[str, Any]) -> dict[str, Any]:
        """Drop held-out combinations of another length than q, which cannot occur."""
        return dict(part) | {"held_out": [each for each in part.get("held_out", []) if len(each) == value]}

    change = {"n_anchors": value, "length": max(table["length"], value + 1)}
    if "held_out" in table:
        change["held_out"] = fitting(table)["held_out"]
    return change | ({"mappings": [*map(fitting, table["mappings"])]} if "mappings" in table else {})
