"""Arguments checked against a function's annotations: types, ranges, and that numbers are finite.

A public function is decorated with ``checked`` and says in its signature what it takes:
``tokens: Integer[ArrayLike, " n"]``, ``tolerance: Positive``. Axes with the same name have the same
length in all its arguments. Other checks that involve two arguments are in its body.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, cast

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import AbstractArray
from theory.edge.checks import SCALARS, Between, Check, Entries, refuse_masks
from theory.edge.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
MOST_ITEMS = 10_000_000
"""The longest list that a function reads: beyond it even the refusal would take minutes."""
Size = Annotated[int, Between(1)]
"""A count: a whole number, at least 1."""
Positive = Annotated[float, Between(0, open=True)]
Share = Annotated[float, Between(0, 1, open=True)]
"""A probability or a part of a whole, neither 0 nor 1."""
Decay = Annotated[float, Between(0, 1e6)]
"""Weight decay: the limit is far above any used in training, and safe as a factor in an exponent."""
Rate = Annotated[float, Between(0, 5)]
"""γ: the limit is far above any used in an initialisation, and safe as an exponent."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that it refuses arguments that its annotations do not allow.

    It understands classes, ``int``, ``float``, ``bool``, ``str``, ``Literal``, arrays, unions, iterables of
    these, and ``Annotated`` with checks. True is not a number, nor are NaN and infinity; an int is accepted
    as a float. Other annotations are not checked. Arrays must have the axes of their annotations, with one
    length for each name throughout the call; ``_``, ``...`` and ``{expressions}`` stand for any.

    Raises
    ------
    InputError
        From the decorated function, before it does anything.
    """
    parameters = inspect.signature(function).parameters.values()
    by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    @functools.cache
    def checks() -> tuple[dict[str, Check], dict[str, list[str]]]:
        # Resolved at the first call: an annotation may name something that its module defines further down.
        hints = typing.get_type_hints(function, include_extras=True)
        taken = {p.name: hints[p.name] for p in parameters if p.name in hints}
        axes = {name: axes for name, hint in taken.items() if (axes := _axes_of(hint)) is not None}
        return {name: _check_of(hint) for name, hint in taken.items()}, axes

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        known, axes = checks()
        # ``Signature.bind`` would take longer than most checks, and the function refuses the same calls.
        positional: Any = list(args)
        for name, value in (*zip(by_position, args, strict=False), *kwargs.items()):
            refuse_masks(name, value)
        for place, (name, value) in enumerate(zip(by_position, args, strict=False)):
            if name in known:
                positional[place] = known[name](name, value)
        named: Any = {n: known[n](n, value) if n in known else value for n, value in kwargs.items()}
        if axes:
            _hold_to_axes(axes, dict(zip(by_position, positional, strict=False)) | named)
        return function(*positional, **named)

    return cast("Callable[P, R]", call)


def checked_fields(cls: type[R]) -> type[R]:
    """Decorate a dataclass so that it refuses fields that their annotations do not allow."""
    cls.__init__ = checked(cls.__init__)  # type: ignore[method-assign]
    return cls


def _axes_of(hint: Any) -> list[str] | None:
    """Return the names of an array's axes; None for anything that need not be an array."""
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return str(hint.dim_str).split()
    members = [member for member in typing.get_args(hint) if member is not types.NoneType]
    optional = typing.get_origin(hint) in (Union, types.UnionType) and len(members) == 1
    return _axes_of(members[0]) if optional or typing.get_origin(hint) is Annotated else None


def _hold_to_axes(axes: dict[str, list[str]], given: dict[str, Any]) -> None:
    """Refuse an array whose axes do not fit its annotation or the arguments before it."""
    sizes: dict[str, int] = {}
    for argument, names in axes.items():
        if given.get(argument) is None:
            continue
        value = np.asarray(given[argument])
        shape = value.shape
        open_end = next((k for k, name in enumerate(names) if name.startswith(("*", "..."))), None)
        single = [name for k, name in enumerate(names) if k != open_end]
        spare = len(shape) - len(single)
        lengths = shape if open_end is None else shape[:open_end] + shape[open_end + max(spare, 0) :]
        known = zip(single, lengths, strict=False)
        named = [(name, n) for name, n in known if not name.startswith(("_", "{"))]
        if (spare if open_end is None else spare < 0) or any(
            (int(name) if name.isdigit() else sizes.setdefault(name, n)) != n for name, n in named
        ):
            wanted = ", ".join(str(sizes.get(name, name.strip("{}"))) for name in names)
            raise InputError(argument, value, "of the wrong shape", f"give shape ({wanted})")


def _check_of(hint: Any) -> Check:
    """Return the check that an annotation stands for."""
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if hint is Any:
        return _anything
    if hint == npt.ArrayLike:
        return Entries()
    if origin is np.ndarray:
        (scalar,) = typing.get_args(members[1])
        return _anything if scalar is np.bool_ else Entries(integers=issubclass(scalar, np.integer))
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return Entries(integers=all("int" in dtype for dtype in hint.dtypes))
    if origin is Annotated:
        added = [check for check in members[1:] if callable(check)]
        # ``Entries`` in an annotation replaces the check of entries that all arrays have.
        of_type = [] if any(isinstance(check, Entries) for check in added) else [_check_of(members[0])]
        return functools.partial(_all, [*of_type, *added])
    if origin in (Union, types.UnionType):
        return functools.partial(_any, [_check_of(member) for member in members])
    if origin is Literal:
        return functools.partial(_one_of, members)
    if origin is tuple and Ellipsis not in members:
        return functools.partial(_exactly, [_check_of(member) for member in members])
    if inspect.isclass(origin) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        return functools.partial(_each, _check_of(members[0]))
    wanted = origin or hint
    return functools.partial(_instance, wanted) if inspect.isclass(wanted) else _anything


def _anything(_: str, value: Any) -> Any:
    return value


def _all(checks: list[Check], argument: str, value: Any) -> Any:
    for check in checks:
        value = check(argument, value)
    return value


def _any(checks: list[Check], argument: str, value: Any) -> Any:
    """Return the result of the first check that accepts the value, or refuse it as the first check does."""
    refusals = []
    for check in checks:
        try:
            return check(argument, value)
        except InputError as error:
            refusals.append(error)
    raise refusals[0]


def _one_of(choices: tuple[Any, ...], argument: str, value: Any) -> Any:
    kind = str if isinstance(value, str) else type(value)  # NumPy has a str type of its own.
    if not any(kind is type(choice) and value == choice for choice in choices):
        raise InputError(argument, value, "unknown", f"choose one of {', '.join(map(str, choices))}")
    return value


def _instance(wanted: type, argument: str, value: Any) -> Any:
    if not isinstance(value, wanted):
        raise InputError(argument, value, f"not of type {wanted.__name__}", "give one of that type")
    return value


def _each(check: Check, argument: str, value: Any) -> Any:
    is_scalar = getattr(value, "ndim", 1) == 0
    if is_scalar or not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise InputError(argument, value, "not a list", "give a list, a tuple or a range")
    items = list(itertools.islice(value, MOST_ITEMS + 1))
    if len(items) > MOST_ITEMS:
        raise InputError(argument, value, "too many items", f"give at most {MOST_ITEMS}")
    # The function gets the items read: an iterator can be read only once, and an array has no truth value.
    read = [check(argument, item) for item in items]
    if isinstance(value, Sequence) and all(map(operator.is_, items, read)):
        return value
    return tuple(read) if isinstance(value, tuple) else read


def _exactly(checks: list[Check], argument: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != len(checks):
        raise InputError(argument, value, f"not {len(checks)} values", f"give a tuple of {len(checks)}")
    return tuple(check(argument, item) for check, item in zip(checks, value, strict=True))
