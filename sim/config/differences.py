"""In which keys two configurations differ, in words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

_MOST_NAMED = 3
_LONGEST = 40
_ABSENT = "not set"


def differences(own: BaseModel, other: BaseModel) -> str:
    """Return the first keys in which two configurations differ, each as "key = own, not other".

    The keys of a task come last, since one change of it is often many of its keys.
    """
    tables = [dict(_flat("", each.model_dump(mode="json"))) for each in (own, other)]
    keys = sorted(tables[0].keys() | tables[1].keys(), key=lambda key: (key.startswith("task"), key))
    values = {key: [table.get(key, _ABSENT) for table in tables] for key in keys}
    told = [f"{key} = {_short(a)}, not {_short(b)}" for key, (a, b) in values.items() if a != b]
    more = f"; and {len(told) - _MOST_NAMED} more" * (len(told) > _MOST_NAMED)
    return "; ".join(itertools.islice(told, _MOST_NAMED)) + more


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each value as JSON, behind its keys with dots; a list of tables counts its own from 0."""
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        value = {str(number): each for number, each in enumerate(value)}
    if not isinstance(value, dict):
        yield name, json.dumps(value, ensure_ascii=False)
        return
    for key, inner in value.items():
        yield from _flat(f"{name}.{key}" if name else key, inner)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
