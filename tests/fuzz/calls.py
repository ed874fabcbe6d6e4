"""One small valid call of every public callable, and the bad ones that differ from it in one argument.

An argument's value follows from its name; where a name means two things, ``otherwise`` says which of them a
function takes. A new function is called at once if its parameters have names that are known.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from tests.fuzz.driver import Case, Ending, called
from tests.fuzz.variants import ALLOWED, must_refuse, variants

Call = tuple[Callable[..., Any], dict[str, Any]]


def valid_calls(package: str) -> dict[str, Call]:
    """Return a package's public callables, but for results, with the values that their parameters have."""
    module, known = importlib.import_module(package), importlib.import_module(f"tests.fuzz.of_{package}")
    values, otherwise = known.arguments()
    public = (name for name in module.__all__ if callable(getattr(module, name)))
    found: dict[str, Call] = {}
    for name in sorted({*public, *otherwise} - known.RESULTS):
        function, given = attrgetter(name)(module), values | otherwise.get(name, {})
        named = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        used = {p.name: given[p.name] for p in named if p.name in given or p.default is p.empty}
        options = otherwise.get(name, {}) if len(named) < len(inspect.signature(function).parameters) else {}
        found[name] = function, used | options
    return found


def bad_calls(package: str, folder: Path) -> Iterator[Case]:
    """Call a package's public functions with one bad argument after another."""
    for name, (function, arguments) in valid_calls(package).items():
        for argument, value in arguments.items():
            for variant, bad in variants(value):
                case, changed = f"{name}({argument} = {variant})", arguments | {argument: bad}
                must = must_refuse(variant, value) and (name, argument) not in ALLOWED
                yield partial(_ending, case, partial(function, **changed), must)


def _ending(case: str, call: Callable[[], object], must: bool) -> Ending:
    ending = called(case, call)
    return ending.of(case, "taken" if must and ending.how == "accepted" else "")


calls_of_theory, calls_of_sim, calls_of_validate = (
    partial(bad_calls, package) for package in ("theory", "sim", "validate")
)
