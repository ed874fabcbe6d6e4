"""Measures: from a run, a seed's runs or a draw to one number. Claims name them; the file does not matter."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pkgutil import iter_modules
from typing import Any

from theory.errors import unknown_name

KINDS = ("run", "seed", "runs", "draw")
"""What a measure is taken of, as its first parameter is called: a run, a seed's runs by cell, the runs of all
seeds, a number of a random draw. A measure without a positional parameter is one computed number."""


def measure_of(name: str) -> tuple[str, Callable[..., Any]]:
    """Return what a measure is taken of, empty for one computed number, and the measure.

    Raises
    ------
    InputError
        If there is no measure of that name, with the nearest ones.
    """
    found = _all()
    if name not in found:
        raise unknown_name("measure", name, found)
    parameters = list(signature(found[name]).parameters.values())
    positional = [p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    return (positional[0] if positional else ""), found[name]


@cache
def _all() -> dict[str, Callable[..., Any]]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return {
        key: value
        for module in modules
        for key, value in vars(module).items()
        if key[0] != "_" and _is_measure(value)
    }


def _is_measure(value: Any) -> bool:
    if not callable(value) or not str(getattr(value, "__module__", "")).startswith(__name__):
        return False
    try:
        first = next(iter(signature(value).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    return first is None or first.kind is Parameter.KEYWORD_ONLY or first.name in KINDS
