"""Shapes checked: every public function of theory is held to the axes that its annotations name.

A checker that came first would refuse a wrong shape before the function could, and hide that the function
lets it pass. So what was given and what was returned are compared after the call: a call that returned must
agree with its signature.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numpy as np
from beartype.door import is_bearable
from jaxtyping import AbstractArray, jaxtyped

from theory import Task

LONGEST = 100
"""The entries of a longer list are not compared with those of earlier calls."""


class ShapeError(AssertionError):
    """An array has other axes, or other entries, than the annotation of its place says."""


def held_to_its_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which then raises ShapeError after a call that its annotations do not describe.

    Whether they do depends on shapes and types alone: those that agreed once agree again.
    """
    signature = inspect.signature(function)
    agreed: set[Any] = set()

    @functools.cache
    def hints() -> dict[str, Any]:
        found = typing.get_type_hints(function)
        return {name: hint for name, hint in found.items() if names_axes(hint)}

    # jaxtyped reads the arguments, for axes such as {vocab_size}, and forgets all axes after the call.
    @jaxtyped(typechecker=None)
    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in (bound.arguments | {"return": results.pop()}).items():
            if name in hints():
                _compare(f"{function.__qualname__}: {name}", value, hints()[name])

    results: list[Any] = []

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not hints() and not array_fields(type(result)):
            return result
        shapes = shapes_of((args, tuple(kwargs.items()), result))
        if shapes is None or shapes not in agreed:
            results.append(result)
            compare(*args, **kwargs)
            _check_fields(result)
            agreed.add(shapes)
        return result

    call.__dict__["held"] = True
    return call


def shapes_of(value: Any) -> Any:
    """Return all that an annotation's axes can depend on, as a key; None where that cannot be told."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype) if value.dtype.kind in "biufc" else None
    if value is None or isinstance(value, (bool, int, np.integer, str, Task)):
        return type(value), value
    if isinstance(value, (float, np.generic)):
        return (type(value),)
    if isinstance(value, (tuple, list)):
        return _shapes_of_all(type(value), value) if len(value) <= LONGEST else None
    if isinstance(value, range):
        return range, len(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _shapes_of_all(type(value), [getattr(value, field.name) for field in fields(value)])
    return None


def _shapes_of_all(kind: type, values: Sequence[Any]) -> Any:
    parts = tuple(map(shapes_of, values))
    return None if None in parts else (kind, parts)


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


def names_axes(hint: Any) -> bool:
    """Return whether an annotation, or a part of it, names the axes of an array."""
    parts = typing.get_args(hint)
    return any(map(names_axes, parts)) if parts else inspect.isclass(hint) and issubclass(hint, AbstractArray)


def _compare(where: str, value: Any, hint: Any) -> None:
    """Raise ShapeError unless a value, or the array that NumPy makes of it, has the axes that it should."""
    if not _agrees(value, hint) and not _agrees(_as_array(value), hint):
        raise ShapeError(f"{where} has shape {np.shape(value)}, which is not {hint}")


def _agrees(value: Any, hint: Any) -> bool:
    # beartype writes and compiles a function for each annotation; an array alone needs none.
    return isinstance(value, hint) if inspect.isclass(hint) else is_bearable(value, hint)


def _as_array(value: Any) -> Any:
    return value if value is None else np.asarray(value)


@functools.cache
def array_fields(cls: type) -> dict[str, Any]:
    """Return the annotations of a dataclass that name axes; none of any other class."""
    if not is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if names_axes(hints[field.name])}


@jaxtyped(typechecker=None)
def _check_fields(result: Any) -> None:
    """Hold the arrays of a dataclass to its annotations; its axes have names of their own."""
    for name, hint in array_fields(type(result)).items():
        _compare(f"{type(result).__name__}.{name}", getattr(result, name), hint)
