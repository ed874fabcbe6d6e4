"""A task as TOML: read strictly, written so that reading gives an equal task back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomli_w

from theory.checked import MOST_ITEMS
from theory.errors import InputError, unknown_key
from theory.reading import load_toml as load_toml
from theory.reading import parse_toml
from theory.task.mapping import Mapping
from theory.task.rules import MAPPING_KEYS, RULES, make_rule, rule_keys

_SCALARS = ("n_anchors", "length", "vocab_size")
_SHORT = ("reasoning_anchors", "memory_anchors")
TASK_KEYS = ("keys", *_SCALARS, *_SHORT, "held_out", "mappings")
_RANGE = re.compile(r" *(-?[0-9]{1,18}) *\.\. *(-?[0-9]{1,18}) *")


def read_toml(source: str | Path) -> dict[str, Any]:
    """Read a TOML file (a ``Path``) or TOML text (a ``str``)."""
    if isinstance(source, Path):
        return load_toml(source)
    if isinstance(source, str):
        return parse_toml(source)
    raise InputError("source", source, "neither a path nor text", "give a Path, or a task as TOML text")


def task_arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``Task`` for what a TOML file holds; unknown keys are refused by name."""
    for key in data:
        if key not in TASK_KEYS:
            raise unknown_key("key of a task", key, TASK_KEYS)
    for key in ("keys", *_SCALARS):
        if key not in data:
            raise InputError("task", sorted(data), f"the key {key!r} is missing", f"add {key} = ...")
    arguments: dict[str, Any] = {key: data[key] for key in _SCALARS}
    arguments["keys"] = tokens_of("keys", data["keys"])
    for key in _SHORT:
        if key in data:
            arguments[key] = tokens_of(key, data[key])
    if "held_out" in data:
        arguments["held_out"] = _combinations(data["held_out"])
    if "mappings" in data:
        remedy = "write [[mappings]], or [[task.mappings]] below [task]"
        arguments["mappings"] = [_mapping(entry) for entry in _list("mappings", data["mappings"], remedy)]
    return arguments


def _mapping(data: object) -> Mapping:
    if not isinstance(data, dict):
        raise InputError("mappings", data, "not a table", "write [[mappings]] blocks")
    # An expression says what kind of rule it is.
    data = {"rule": "expression"} | data if "label" in data else data
    _check_mapping_keys(data)
    for key in ("anchors", "rule"):
        if key not in data:
            raise InputError("mappings", data, f"the key {key!r} is missing", f"add {key} = ...")
    parameters = {k: v for k, v in data.items() if k not in MAPPING_KEYS}
    return Mapping(
        anchors=tokens_of("anchors", data["anchors"]),
        rule=make_rule(data["rule"], parameters),
        name=data.get("name", ""),
        held_out=_combinations(data.get("held_out", [])),
    )


def _check_mapping_keys(data: dict[str, Any]) -> None:
    """Refuse a key that no mapping has, before any is missed: it may be the missing one, misspelt.

    An unknown rule, and the keys of another one, are refused with the rule.
    """
    known = {*MAPPING_KEYS, *(key for rule in RULES.values() for key in rule.toml_keys)}
    for key in data:
        if key in known:
            continue
        if "rule" not in data:
            raise unknown_key("key of a mapping", key, (*MAPPING_KEYS, "label"))
        if data["rule"] in [*RULES]:
            raise unknown_key(f"key of a mapping with rule {data['rule']!r}", key, rule_keys(data["rule"]))


def _list(argument: str, value: object, remedy: str = "write [...]") -> list[Any]:
    if not isinstance(value, list):
        raise InputError(argument, value, "not a list", remedy)
    return value


def _combinations(value: object) -> list[list[int]]:
    return [_list("held_out", combination) for combination in _list("held_out", value)]


def tokens_of(argument: str, value: object) -> list[int]:
    """Read "21..120" (both ends included) or a list of integers."""
    if not isinstance(value, str):
        return _list(argument, value)
    match = _RANGE.fullmatch(value)
    if match is None:
        raise InputError(argument, value, "not a range", 'write "first..last" or a list')
    first, last = int(match[1]), int(match[2])
    if last < first:
        raise InputError(argument, value, "a range that ends before it begins", f'write "{last}..{first}"')
    if last - first >= MOST_ITEMS:
        problem = f"{last - first + 1} tokens are too many"
        raise InputError(argument, value, problem, f"give at most {MOST_ITEMS}")
    return list(range(first, last + 1))


def tokens_to_toml(tokens: tuple[int, ...]) -> str | list[int]:
    """Return "first..last" for consecutive tokens, a list otherwise."""
    first, last = tokens[0], tokens[-1]
    return f"{first}..{last}" if last - first + 1 == len(tokens) else list(tokens)


def mapping_to_dict(mapping: Mapping) -> dict[str, Any]:
    """Return a mapping as plain data, as a [[mappings]] block holds it."""
    entry: dict[str, Any] = {
        "name": mapping.name,
        "anchors": tokens_to_toml(mapping.anchors),
        "rule": mapping.rule.kind,
    }
    entry |= mapping.rule.parameters()
    if mapping.held_out:
        entry["held_out"] = [list(c) for c in sorted(mapping.held_out)]
    return entry


def dump_toml(data: dict[str, Any]) -> str:
    """Return plain data as TOML text."""
    return tomli_w.dumps(data)
