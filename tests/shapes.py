"""Shapes checked: every public function of theory is held to the axes that its annotations name.

A checker that came first would refuse a wrong shape before the function could, and hide that the function
lets it pass. So arguments and results are compared after the call: a call that returned must agree with its
signature.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
from beartype.door import is_bearable
from jaxtyping import AbstractArray, jaxtyped


class ShapeError(AssertionError):
    """An array has other axes, or other entries, than the annotation of its place says."""


def hold_to_shapes(package: ModuleType) -> None:
    """Replace the public functions of a package, wherever one of its modules knows them, by checked ones."""
    functions = numerical_functions(package)  # asked for first: this loads the modules
    modules = [module for name, module in sys.modules.items() if name.startswith(package.__name__)]
    for function in functions:
        checked = held_to_its_shapes(function)
        for module in modules:
            if vars(module).get(function.__name__) is function:
                setattr(module, function.__name__, checked)


def numerical_functions(package: ModuleType) -> list[Callable[..., Any]]:
    """Return the public functions of a package; derivations in symbols have no arrays."""
    public = [getattr(package, name) for name in package.__all__]
    return [f for f in public if inspect.isfunction(f) and ".derive." not in f.__module__]


def held_to_its_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which then raises ShapeError after a call that its annotations do not describe."""
    signature = inspect.signature(function)
    results: list[Any] = []

    # jaxtyped reads the arguments, for axes such as {vocab_size}, and forgets all axes after the call.
    @jaxtyped(typechecker=None)
    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments | {"return": results.pop()}
        for name, hint in _hints(function).items():
            if name in values:
                _compare(f"{function.__qualname__}: {name}", values[name], hint)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        results.append(result)
        compare(*args, **kwargs)
        if is_dataclass(type(result)):
            _compare_fields(result)
        return result

    call.__dict__["held"] = True
    return call


def names_axes(hint: Any) -> bool:
    """Return whether an annotation, or a part of it, names the axes of an array."""
    parts = typing.get_args(hint)
    return any(map(names_axes, parts)) if parts else inspect.isclass(hint) and issubclass(hint, AbstractArray)


@functools.cache
def _hints(owner: Any) -> dict[str, Any]:
    """Return the annotations of a function or a dataclass that name axes."""
    return {name: hint for name, hint in typing.get_type_hints(owner).items() if names_axes(hint)}


@jaxtyped(typechecker=None)
def _compare_fields(result: Any) -> None:
    """Hold the arrays of a dataclass to its annotations; its axes have names of their own."""
    names = {field.name for field in fields(result)}
    for name, hint in _hints(type(result)).items():
        if name in names:
            _compare(f"{type(result).__name__}.{name}", getattr(result, name), hint)


def _compare(where: str, value: Any, hint: Any) -> None:
    """Raise ShapeError unless a value, or the array that NumPy makes of it, has the axes that it should."""
    value = value.item() if isinstance(value, np.generic) else value  # NumPy's integers are integers
    # beartype writes and compiles a function for each annotation; an array alone needs none.
    agrees = isinstance if inspect.isclass(hint) else is_bearable
    if not agrees(value, hint) and (value is None or not agrees(np.asarray(value), hint)):
        raise ShapeError(f"{where} has shape {np.shape(value)}, which is not {hint}")
