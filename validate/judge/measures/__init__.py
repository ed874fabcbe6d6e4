"""Measures: from a run, a seed's runs or a draw to one number. Claims name the measure, not the file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import Parameter, isfunction, signature, unwrap
from pkgutil import iter_modules
from typing import Any

from theory.edge.errors import unknown_name

KINDS = ("run", "seed", "runs", "draw")
"""The kinds of measure, by the name of the first parameter: of a run, of a seed's runs by cell, of the runs
of all seeds, or of a random draw's number. A measure without a positional parameter is a computed number."""


def measure_of(name: str) -> tuple[str, Callable[..., Any]]:
    """Return the kind of a measure, empty for one computed number, and the measure."""
    found = _all()
    if name not in found:
        raise unknown_name("measure", name, found)
    return found[name]


@cache
def _all() -> dict[str, tuple[str, Callable[..., Any]]]:
    """Return every public function of the modules here whose first parameter is one of the kinds, or none."""
    found = {}
    for module in iter_modules(__path__):
        for name, value in vars(import_module(f"{__name__}.{module.name}")).items():
            own = name[0] != "_" and str(getattr(value, "__module__", "")).startswith(__name__)
            if not own or not isfunction(unwrap(value)):
                continue
            parameters = signature(value).parameters.values()
            first = next((p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY), "")
            if first in ("", *KINDS):
                found[name] = first, value
    return found
