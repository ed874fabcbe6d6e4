"""The variants of a study: written out, or made by axes over keys of a configuration, γ, seed, q or N_Z."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sim.config.model import KINDS
from sim.config.presets import over_preset
from sim.config.run import DataConfig
from sim.config.task_files import task_table
from sim.config.training import OPTIMIZERS
from theory import InputError
from theory.edge.checks import as_integer
from theory.edge.errors import unknown_name
from theory.task.toml import TASK_KEYS, task_arguments, tokens_of

Overrides = dict[str, Any]
Point = tuple[str, Callable[[Mapping[str, Any]], Overrides]]
"""A point of an axis: its name, and a function from a configuration to the overrides of the point."""
_MEMBER = {"init_rate": "init_rates", "seed": "seeds"}
"""Axes over values that a configuration has as a list."""
ALIASES = {
    "gamma": "init_rate",
    "γ": "init_rate",
    "N_Z": "n_keys",
    "model": "kind",
    "optimiser": "optimizer",
}
"""Other names of axes."""
_OF_TASK = ("q", "n_keys")


def variants_of(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Overrides]:
    """Return a study's variants over a base: those that its file writes out, or those that its axes make.

    An axis is a list of values, or a table ``[axes.NAME]`` of overrides for each point. Variants are the
    product of the axes, or with ``combine = "zip"`` their rows. Where two axes set a value, the later one
    decides.
    """
    if "axes" not in data:
        if "combine" in data:
            raise InputError("combine", data["combine"], "without axes", "write [axes], or leave it out")
        variants: Any = data.get("variants", {})
        if not isinstance(variants, dict) or not all(isinstance(over, dict) for over in variants.values()):
            raise InputError("variants", variants, "not tables", "write [variants.NAME] for each")
        return variants
    if "variants" in data:
        raise InputError("axes", "axes", "the study has variants as well", "write one of the two")
    axes = data["axes"]
    if not isinstance(axes, dict) or not axes:
        raise InputError("axes", axes, "not a table of axes", "write NAME = [values] under [axes]")
    points = {name: _points(name, axis) for name, axis in axes.items()}
    named: dict[str, Overrides] = {}
    for parts in _combinations(points, data.get("combine", "product")):
        combined: Overrides = {}
        for _, change in parts:  # A point sees what the points before it changed.
            combined = over_preset(combined, change(over_preset(base, combined)))
        name = "-".join(point for point, _ in parts)
        if name in named:
            raise InputError("axes", list(axes), "give the same name to two variants", "list each value once")
        named[name] = combined
    return named


def _points(name: str, axis: Any) -> list[Point]:
    if isinstance(axis, list) and axis:
        # A word is itself the name of a point; a number follows the name of the axis.
        last = ALIASES.get(name, name).rpartition(".")[2].replace("_", "-")
        named = [value if isinstance(value, str) else f"{last}{str(value).lower()}" for value in axis]
        return [(point, partial(_override, name, value)) for point, value in zip(named, axis, strict=True)]
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
        raise InputError("axes", lengths, "differ in length", 'give equally many values, or use "product"')
    return zip(*points.values(), strict=True)


def _override(name: str, value: Any, base: Mapping[str, Any]) -> Overrides:
    """Return what an axis overrides in a base at one of its values; q and N_Z change the base's task."""
    name = ALIASES.get(name, name)
    if name in _MEMBER:
        return {_MEMBER[name]: [value]}
    section, _, key = ("task", "", name) if name in _OF_TASK else _path(name).partition(".")
    if section != "task":
        return {section: {key: value}}
    table = task_table(base.get("task", "emb-mlp"))  # A task given by its name has no keys to override.
    return {"task": {**table, **(_task_change(name, value, table) if name in _OF_TASK else {key: value})}}


def _path(name: str) -> str:
    """Return the dotted path of a setting, of any model or optimiser, that may lack its section."""
    keys = {"data": set(DataConfig.model_fields), "task": set(TASK_KEYS)}
    for section, kinds in (("model", KINDS.complete()), ("training", OPTIMIZERS.complete())):
        keys[section] = {key for kind in kinds.values() for key in kind.model_fields}
    known = sorted(f"{section}.{key}" for section, own in keys.items() for key in own)
    fitting = [path for path in known if name in (path, path.partition(".")[2])]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError("axes", name, f"stands for {' and '.join(fitting)}", "write one of these, in quotes")
    short = [path.partition(".")[2] for path in known]
    raise unknown_name("axis", name, [*short, *_MEMBER, *ALIASES, *_OF_TASK], "axes")


def _task_change(name: str, value: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    if type(value) is not int or value < 1:
        raise InputError(f"axes.{name}", value, "not a positive integer", "give whole numbers from 1 on")
    # A table that cannot be a task's is refused; another axis may set what is missing.
    task_arguments({"keys": [], "n_anchors": 0, "length": 0, "vocab_size": 0, **table})
    if name == "n_keys":
        keys = tokens_of("keys", table.get("keys"))
        if keys and keys == [*range(keys[0], keys[0] + len(keys))]:
            return {"keys": f"{keys[0]}..{keys[0] + value - 1}"}
        if value > len(keys):
            problem = f"the task has {len(keys)} keys, with gaps"
            raise InputError(f"axes.{name}", value, problem, "give fewer, or a task with more keys")
        return {"keys": keys[:value]}

    def fitting(part: Mapping[str, Any]) -> dict[str, Any]:
        """Drop held-out combinations whose length is not q, which cannot occur."""
        given = part.get("held_out", [])
        kept = [each for each in given if len(each) == value] if isinstance(given, list) else given
        return dict(part) | {"held_out": kept}

    length = max(as_integer("length", table.get("length")), value + 1)
    change = fitting(table) | {"n_anchors": value, "length": length}
    return change | ({"mappings": [*map(fitting, table["mappings"])]} if "mappings" in table else {})
