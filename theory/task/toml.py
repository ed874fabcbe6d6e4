"""A task as TOML: read strictly, and written so that reading it back gives an equal task."""

from __future__ import annotations

import re
from typing import Any

from theory.edge.checked import MOST_ITEMS
from theory.edge.errors import InputError, nearest, unknown_key
from theory.task.held_out import plain_sets
from theory.task.mapping import Mapping
from theory.task.rule import RULES, Rule

_SCALARS = ("n_anchors", "length", "vocab_size")
_SHORT = ("reasoning_anchors", "memory_anchors")
TASK_KEYS = ("keys", *_SCALARS, *_SHORT, "held_out", "mappings")
MAPPING_KEYS = ("name", "anchors", "rule", "held_out")
_RANGE = re.compile(r" *(-?[0-9]{1,18}) *\.\. *(-?[0-9]{1,18}) *")


def task_arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``Task`` from the contents of a TOML file; unknown keys are refused by name."""
    for key in data:
        if key not in TASK_KEYS:
            raise unknown_key("key of a task", key, TASK_KEYS)
    _check_present("task", data, ("keys", *_SCALARS))
    arguments: dict[str, Any] = {key: data[key] for key in _SCALARS}
    for key in ("keys", *_SHORT):
        if key in data:
            arguments[key] = tokens_of(key, data[key])
    if "held_out" in data:
        arguments["held_out"] = _held_out(data["held_out"])
    if "mappings" in data:
        remedy = "write [[mappings]], or [[task.mappings]] below [task]"
        arguments["mappings"] = [_mapping(entry) for entry in _list("mappings", data["mappings"], remedy)]
    return arguments


def mapping_to_dict(mapping: Mapping) -> dict[str, Any]:
    """Return a mapping as plain data, in the form of a [[mappings]] block."""
    entry: dict[str, Any] = {
        "name": mapping.name,
        "anchors": tokens_to_toml(mapping.anchors),
        "rule": mapping.rule.kind,
    }
    entry |= mapping.rule.parameters()
    if mapping.sets:
        entry["held_out"] = plain_sets(mapping.sets)
    return entry


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


def _mapping(data: object) -> Mapping:
    if not isinstance(data, dict):
        raise InputError("mappings", data, "not a table", "write [[mappings]] blocks")
    # A label makes the rule an expression.
    data = {"rule": "expression"} | data if "label" in data else data
    # Checked before missing keys are reported: the key may be there, misspelt.
    known = {*MAPPING_KEYS, *(key for rule in RULES.values() for key in rule.toml_keys)}
    for key in data:
        if key not in known and "rule" not in data:
            raise unknown_key("key of a mapping", key, (*MAPPING_KEYS, "label"))
    _check_present("mappings", data, ("rule",))
    rule = _rule(data)
    _check_present("mappings", data, ("anchors",))
    return Mapping(
        anchors=tokens_of("anchors", data["anchors"]),
        rule=rule,
        name=data.get("name", ""),
        held_out=_held_out(data.get("held_out", [])),
    )


def _rule(data: dict[str, Any]) -> Rule:
    """Build a rule from its name and parameters."""
    kind = data["rule"]
    if not isinstance(kind, str) or kind not in RULES:
        near = nearest(str(kind), RULES)
        hint = f"did you mean {near!r}? choose" if near else "choose"
        remedy = f"{hint} one of {', '.join(sorted(RULES))}, or write label = '(key + a1) % 97'"
        raise InputError("rule", kind, "unknown rule", remedy)
    rule = RULES[kind]
    parameters = {key: value for key, value in data.items() if key not in MAPPING_KEYS}
    for key in parameters:
        if key not in rule.toml_keys:
            raise unknown_key(f"key of a mapping with rule {kind!r}", key, (*rule.toml_keys, *MAPPING_KEYS))
    _check_present(f"rule {kind!r}", parameters, rule.required)
    return rule.from_toml(parameters)  # type: ignore[no-any-return]


def _check_present(argument: str, data: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in data:
            raise InputError(argument, sorted(data), f"the key {key!r} is missing", f"add {key} = ...")


def _list(argument: str, value: object, remedy: str = "write [...]") -> list[Any]:
    if not isinstance(value, list):
        raise InputError(argument, value, "not a list", remedy)
    return value


def _held_out(value: object) -> Any:
    if isinstance(value, (str, dict)):
        return value
    remedy = "write combinations, as in [[2, 5]], or a share of them, as in { fraction = 0.3 }"
    return [_list("held_out", combination, remedy) for combination in _list("held_out", value, remedy)]
