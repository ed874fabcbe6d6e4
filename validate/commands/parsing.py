"""Options from types: a command's own, and one for every key of a configuration."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
import itertools
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

import tyro
from pydantic import BaseModel

from theory import InputError

Options = TypeVar("Options")


def parse(options: type[Options], command: str, arguments: Sequence[str], example: str) -> Options:
    """Parse a command's options; the example stands in its help.

    Raises
    ------
    InputError
        For an option that is unknown or of the wrong type.
    SystemExit
        With code 0 after ``--help``.
    """
    description = f"{inspect.cleandoc(options.__doc__ or '')}\n\nexample: {example}"
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(
                options,
                prog=f"anchorflow {command}",
                description=description,
                args=list(arguments),
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code:
            raise InputError(
                f"anchorflow {command}", " ".join(arguments), _problem(errors.getvalue()), "see its --help"
            ) from None
        raise


def _problem(box: str) -> str:
    """Return the problem that tyro drew a box around, as plain words.

    The box has a title, the problem, a rule and a hint; where the terminal knows no box characters, the
    title has a rule of its own below it.
    """
    parts: list[list[str]] = [[]]
    for line in box.splitlines():
        words = line.strip("│╰╯ ")
        if words.strip("─-") and not line.startswith("╭"):
            parts[-1].append(words)
        elif words:
            parts.append([])
    found = [" ".join(part) for part in parts if part]
    words = found[0 if box.startswith("╭") else min(1, len(found) - 1)] if found else "not understood"
    return words[:1].lower() + words[1:]


def positional(arguments: Sequence[str]) -> str | None:
    """Return the first argument, if it is no option: files come first on our command lines."""
    return arguments[0] if arguments and not arguments[0].startswith("-") else None


def value_of(option: str, arguments: Sequence[str]) -> str | None:
    """Return what an option is given, for the few that decide which other options there are."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:]):
        if argument == option:
            return following
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


def flags(values: BaseModel) -> type[Any]:
    """Return a dataclass with a field for every key of a configuration, nested alike.

    Its defaults are the values given. It checks types only: what the values mean is checked once, by the
    configuration, whether they came from a file or from the command line.
    """
    fields: list[tuple[str, Any, Any]] = []
    for name, field in type(values).model_fields.items():
        value = getattr(values, name)
        if isinstance(value, BaseModel):
            nested = flags(value)
            fields.append((name, nested, dataclasses.field(default_factory=nested)))
        else:
            kind: Any = field.rebuild_annotation()
            described = Annotated[kind, tyro.conf.arg(help=field.description or "")]
            fields.append((name, described, dataclasses.field(default_factory=partial(copy.copy, value))))
    made = dataclasses.make_dataclass(type(values).__name__, fields)
    made.__doc__ = type(values).__doc__
    return made


def as_dict(options: Any) -> dict[str, Any]:
    """Return parsed flags as plain data."""
    return dataclasses.asdict(options)
