"""Options from types: every field of a model is an option, its docstring the help, its type the check.

Pydantic knows the fields, argparse splits the command line. Texts become values here, so that a wrong one is
refused with the option's name, and the arguments are read once.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from theory import InputError
from theory.errors import nearest

_LONGEST_NAME = 255  # Bytes, of one component of a path: the limit of the common file systems.
_KINDS = {int: ("INT", "an integer"), float: ("FLOAT", "a number"), Path: ("PATH", "a path")}
"""How the help shows a type, and how a message names it."""


class CommandOptions(BaseModel):
    """What every command takes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    as_json: bool = Field(False, alias="json")
    """Print the result as JSON on standard output."""


@dataclass(frozen=True)
class Positional:
    """Marks a field that is given by its position, under the name that the help shows."""

    name: str
    is_file: bool = False


@dataclass(frozen=True)
class Option:
    """What can be given on a command line: one key, dotted if it belongs to a section."""

    key: str
    kind: Any
    help: str
    default: Any
    position: Positional | None = None
    required: bool = False

    @property
    def name(self) -> str:
        """The option as it is written, or the name of a positional."""
        return self.position.name if self.position else "--" + self.key.replace("_", "-")

    @property
    def many(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.kind) in (tuple, dict)

    @property
    def is_file(self) -> bool:
        """Whether its values are files or folders."""
        return Path in _members(self.kind) or (self.position is not None and self.position.is_file)

    @property
    def choices(self) -> list[str]:
        """The words among the values that it takes."""
        return [
            str(word)
            for kind in _members(self.kind)
            if get_origin(kind) is Literal
            for word in get_args(kind)
        ]

    @property
    def metavar(self) -> str:
        """The form of one value, as the help shows it."""
        if get_origin(self.kind) is dict:
            return "NAME VALUE" if get_args(self.kind)[1] is str else "NAME NUMBER"
        names = [
            _KINDS.get(kind, ("TEXT",))[0] for kind in _members(self.kind) if get_origin(kind) is not Literal
        ]
        return "|".join([*names, *self.choices])

    def value(self, given: Any) -> Any:
        """Return the value that the given text, or list of texts, stands for.

        Raises
        ------
        InputError
            If the text is of another type, or holds a control character.
        """
        if isinstance(given, bool):
            return given
        if get_origin(self.kind) is dict:
            return self._pairs(given)
        return tuple(self._one(text) for text in given) if self.many else self._one(given)

    def _one(self, text: str) -> Any:
        if any(not character.isprintable() and not "\ud800" <= character <= "\udfff" for character in text):
            raise InputError(self.name, text, "contains a control character", "leave it out")
        if Path in _members(self.kind) and any(_is_long(part) for part in Path(text).parts):
            raise InputError(self.name, f"{text[:20]}...", "a name longer than 255 bytes", "shorten it")
        for kind in _members(self.kind):
            try:
                return TypeAdapter(kind).validate_strings(text)
            except ValidationError:
                continue
        raise self._refusal(text)

    def _takes(self, text: str) -> bool:
        try:
            self._one(text)
        except InputError:
            return False
        return True

    def _refusal(self, text: str) -> InputError:
        parts = re.split("[,; ]+", text.strip("[]() "))
        if self.many and len(parts) > 1 and all(map(self._takes, parts)):
            apart = " ".join([self.name] * (self.position is None) + parts)
            return InputError(self.name, text, "several values in one", f"write them apart: {apart}")
        words = {kind: what for kind, (_, what) in _KINDS.items() if kind in _members(self.kind)}
        if not self.choices:
            what = next(iter(words.values()), "text")
            return InputError(self.name, text, f"not {what}", f"give {what}")
        near = nearest(text, self.choices)
        hint = f"did you mean {near!r}? choose" if near else "choose"
        known = ", ".join([*words.values(), *self.choices])
        return InputError(self.name, text, "not among the choices", f"{hint} one of {known}")

    def _pairs(self, given: Sequence[str]) -> dict[str, Any]:
        number = get_args(self.kind)[1]
        if len(given) % 2:
            raise InputError(self.name, " ".join(given), "not pairs", "give a value after each name")
        values = [Option(self.key, number, "", None)._one(text) for text in given[1::2]]
        return dict(zip(given[::2], values, strict=True))


def _is_long(name: str) -> bool:
    return len(name.encode(errors="surrogateescape")) > _LONGEST_NAME


def _members(kind: Any) -> list[Any]:
    """Return the types that one value may have: of a union, of a tuple's elements, without None."""
    if get_origin(kind) in (tuple, Annotated):
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for part in get_args(kind) for member in _members(part)]
    return [] if kind is type(None) else [kind]


def options_of(values: BaseModel | type[BaseModel], section: str = "") -> list[Option]:
    """Return an option for every field, those of nested models after their section's name.

    Parameters
    ----------
    values : BaseModel or type
        A model, whose values are then the defaults, or its class.
    section : str
        What stands before every key.
    """
    fields = (values if isinstance(values, type) else type(values)).model_fields
    found: list[Option] = []
    for name, field in fields.items():
        if field.exclude:  # No value of the configuration, but a remark on them.
            continue
        default = field.default if isinstance(values, type) else getattr(values, name)
        if isinstance(default, BaseModel):
            found += options_of(default, f"{section}{name}.")
            continue
        position = next((mark for mark in field.metadata if isinstance(mark, Positional)), None)
        found.append(
            Option(
                key=section + (field.alias or name),
                kind=field.annotation,
                help=field.description or "",
                default=default,
                position=position,
                required=field.is_required(),
            )
        )
    return found


def union(lists: Iterable[Sequence[Option]]) -> list[Option]:
    """Return the options of several lists, those of one key as one that takes what any of them takes."""
    found: dict[str, Option] = {}
    for option in (option for options in lists for option in options):
        same = found.get(option.key)
        if same is None:
            found[option.key] = option
        elif same.kind != option.kind:
            found[option.key] = replace(same, kind=same.kind | option.kind)
    return list(found.values())


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted keys as tables within tables."""
    tables: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
        table[last] = value
    return tables
