"""Every public function of the theory: its defaults and ranges, and what it returns for small arguments."""

import inspect
import typing
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

import theory
from tests.fuzz.calls import valid_calls
from theory.edge.checks import Between
from theory.edge.display import Shown

LEFT_OUT = ("derivations", "find_derivation")
"""Symbols; tests/theory/derive/test_numbers.py evaluates them."""


def entries() -> Iterator[tuple[str, Any]]:
    for name in theory.__all__:
        public = getattr(theory, name)
        methods = vars(public).items() if inspect.isclass(public) else ()
        found = {name: public} | {f"{name}.{key}": f for key, f in methods if key[0] != "_"}
        for path, function in found.items():
            if ".derive" not in getattr(function, "__module__", ".derive") and callable(function):
                # As text, in which 1 beside infinity is still a 1.
                yield f"{path}: defaults and ranges", str(limits(function))
    warnings.simplefilter("ignore", theory.OutsideValidityWarning)
    for name, (function, arguments) in valid_calls("theory").items():
        fresh = {"rng": np.random.default_rng(0)} if "rng" in arguments else {}
        if name not in LEFT_OUT:
            yield f"{name}: result", seen(function(**arguments | fresh))


def limits(function: Any) -> list[tuple[str, Any]]:
    init = function.__init__ if inspect.isclass(function) else function
    hints = typing.get_type_hints(init, include_extras=True)
    given, kinds = inspect.signature(init).parameters.values(), (bool, int, float, str, tuple)
    defaults = [(p.name, p.default) for p in given if isinstance(p.default, kinds)]
    return defaults + [(name, list(ranges(hint))) for name, hint in sorted(hints.items())]


def ranges(hint: Any) -> Iterator[Between]:
    if isinstance(hint, Between):
        yield hint
    for part in typing.get_args(hint):
        yield from ranges(part)


def seen(result: Any) -> Any:
    """Return what a user sees of a result: its numbers, and its tables as text and in HTML."""
    if isinstance(result, Shown):
        return [result, str(result), result._repr_html_()]
    if isinstance(result, LinearOperator):
        return theory.as_matrix(result)
    if isinstance(result, (theory.Activation, theory.Expression, theory.Function, theory.Task)):
        return getattr(result, "text", getattr(result, "name", str(result)))
    return result
