"""The rules that a task's mappings can have, by name."""

from __future__ import annotations

from typing import Any

from theory.errors import InputError, unknown_key
from theory.task.additive import Shift, Sum
from theory.task.expression import Expression
from theory.task.function import Function, Tabulated
from theory.task.rule import Rule
from theory.task.tables import Lookup, Window

RULES: dict[str, type[Rule]] = {
    rule.kind: rule for rule in (Sum, Shift, Lookup, Window, Expression, Tabulated)
}
"""Every rule that a TOML file can name; a new one is added here."""
MAPPING_KEYS = ("name", "anchors", "rule", "held_out")


def rule_keys(kind: str) -> tuple[str, ...]:
    """Return the keys that a mapping with a rule can have in a TOML file."""
    return (*RULES[kind].toml_keys, *MAPPING_KEYS)


def make_rule(kind: object, parameters: dict[str, Any]) -> Rule:
    """Build a rule from its name and parameters, as a TOML file gives them."""
    if not isinstance(kind, str) or kind not in RULES:
        remedy = f"choose one of {', '.join(sorted(RULES))}, or write label = '(key + a1) % 97'"
        raise InputError("rule", kind, "unknown rule", remedy)
    rule = RULES[kind]
    for key in parameters:
        if key not in rule.toml_keys:
            raise unknown_key(f"key of a mapping with rule {kind!r}", key, rule_keys(kind))
    for key in rule.required:
        if key not in parameters:
            raise InputError("rule", kind, f"the key {key!r} is missing", f"add {key} = ...")
    return rule.from_toml(parameters)


def as_rule(rule: Any) -> Rule:
    """Return a rule, making one of a bare function; a class such as ``Sum`` is refused."""
    if isinstance(rule, type):
        raise InputError("rule", rule.__name__, "a class", f"give an instance, {rule.__name__}(...)")
    return rule if isinstance(rule, Rule) else Function(rule)
