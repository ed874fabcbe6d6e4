"""What sections of a configuration have in common: strict types, refusals by name, kinds, differences."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from theory import InputError
from theory.edge.errors import unknown_key

MANY = 1_000_000_000
"""The largest allowed count; sizes that exceed memory are refused with an estimate (``check_size``)."""
Item = TypeVar("Item")
Several = Annotated[tuple[Item, ...], Strict(False)]
"""A tuple, or the list that a TOML file has instead; its items are checked as strictly as any value."""
Count = Annotated[int, Field(ge=1, le=MANY)]
Width = Annotated[int, Field(ge=1, le=10_000_000)]
_MOST_NAMED = 3
_LONGEST = 40


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys, wrong types, NaN and infinity.

    Instead of pydantic's report it raises an InputError: the first problem, in one sentence.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    gone: ClassVar[Mapping[str, Any]] = {}
    """Keys that saved runs of earlier versions have, and the value with which they changed nothing."""

    if not TYPE_CHECKING:  # The fields are the signature.

        def __init__(self, /, **data: Any) -> None:
            data = {
                key: value for key, value in data.items() if key not in self.gone or value != self.gone[key]
            }
            try:
                super().__init__(**{name: _plain(value) for name, value in data.items()})
            except ValidationError as error:
                raise _first_problem(error, type(self)) from None

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what is shown: the kind, and the settings that are not the default."""
        for name, value in super().__repr_args__():
            field = type(self).model_fields.get(name or "")
            if name == "kind" or field is None or value != field.get_default(call_default_factory=True):
                yield name, value


def _plain(value: Any) -> Any:
    """Return NumPy numbers and arrays, and paths, as a file would hold them; anything else unchanged."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def tagged(source: str, default: Any, **checks: Any) -> Any:
    """Return a field with a default and the default's source: paper, sibling or chosen."""
    return Field(default, json_schema_extra={"source": source}, **checks)


def _first_problem(error: ValidationError, section: type[BaseModel]) -> InputError:
    """Turn the first problem of a pydantic report into one sentence with a remedy."""
    problem, *others = error.errors(include_url=False)
    # Without the union members that pydantic adds: the user never wrote those.
    added = re.compile(r"literal\[|constrained-|function-|int$|str$|dict\[")
    first, *rest = (str(part) for part in problem["loc"] or ("",))
    position = re.sub(r"\.\d+$", "", ".".join([first, *(part for part in rest if not added.match(part))]))
    value = problem["input"]
    inner = problem.get("ctx", {}).get("error")
    if isinstance(inner, InputError):
        # A nested section, or a check across fields, has said it already; only the section's name is missing.
        separator = " " if inner.argument == "key" else "."
        named = inner.argument == position or ": " in inner.argument  # Behind a file's name.
        argument = inner.argument if named else separator.join(filter(None, (position, inner.argument)))
        return InputError(argument, inner.value, inner.problem, inner.remedy)
    if problem["type"] == "extra_forbidden":
        return unknown_key("key", position, section.model_fields)
    if problem["type"] == "too_short" and problem["ctx"]["actual_length"] == 0:
        return InputError(position, value, "no value", "give at least one")
    if problem["type"] == "tuple_type":
        remedy = f"write [{json.dumps(value)}]" if isinstance(value, str | int | float) else "write [...]"
        return InputError(position, value, "not a list", remedy)
    message = problem["msg"].removeprefix("Value error, ")
    alike = [e for e in others if e["type"] == "literal_error" and e["loc"][:-1] == problem["loc"][:-1]]
    message += "".join(f", or {e['ctx']['expected']}" for e in alike)
    # The value may have come from a file, an option or Python; the message says what is allowed.
    remedy = "add it" if problem["type"] == "missing" else "give another value"
    return InputError(position or "configuration", value, message[0].lower() + message[1:], remedy)


Kind = TypeVar("Kind", bound=Section)


class Registry(dict[str, type[Kind]]):
    """Sections by the default of the one ``field`` that tells them apart, as far as they are registered.

    The files of a folder, ``package``, register theirs when they are imported, apart from those ``but`` whose
    sections are elsewhere. A table without the field is of the ``usual`` kind.
    """

    def __init__(self, base: Any, field: str, usual: str, package: str, but: Collection[str] = ()) -> None:
        super().__init__()
        self.base, self.field, self.usual, self.package, self.but = base, field, usual, package, but

    def add(self, section: type[Kind]) -> type[Kind]:
        """Add a section; refuse one of another type, without a name, or with another's; a decorator."""
        if not (isinstance(section, type) and issubclass(section, self.base)):
            problem, remedy = f"not a subclass of {self.base.__name__}", "derive one from it"
            raise InputError(self.field, section, problem, remedy)
        name = section.model_fields[self.field].default
        if not (isinstance(name, str) and name):
            problem = f"a section's {self.field} needs a default"
            raise InputError(self.field, name, problem, f'write {self.field}: Literal["x"] = "x"')
        names = [f"{kind.__module__}.{kind.__qualname__}" for kind in (self.get(name, section), section)]
        if names[0] != names[1]:
            raise InputError(self.field, name, f"{names[0]} has that name", "choose another")
        self[name] = section
        return section

    def complete(self) -> Registry[Kind]:
        """Return the registry once every file of the folder is imported."""
        for module in pkgutil.iter_modules(importlib.import_module(self.package).__path__):
            if module.name not in self.but:
                importlib.import_module(f"{self.package}.{module.name}")
        return self

    def named_in(self, table: Mapping[str, Any]) -> type[Kind]:
        """Return the section that a table of settings names."""
        name, known = table.get(self.field, self.usual), self.complete()
        if not isinstance(name, str) or name not in known:
            remedy = f"choose one of {', '.join(known)}"
            raise InputError(self.field, name, f"unknown {self.field}", remedy)
        return known[name]


def differences(one: BaseModel, other: BaseModel) -> str:
    """Return the first keys in which two configurations differ, each as "key = one, not other".

    The keys of a task come last, since one change of it often changes many keys.
    """
    tables = [dict(flattened("", config.model_dump(mode="json"))) for config in (one, other)]
    keys = sorted(tables[0].keys() | tables[1].keys(), key=lambda key: (key.startswith("task"), key))
    values = {key: [table.get(key, "not set") for table in tables] for key in keys}
    changes = [f"{key} = {_short(a)}, not {_short(b)}" for key, (a, b) in values.items() if a != b]
    more = f"; and {len(changes) - _MOST_NAMED} more" * (len(changes) > _MOST_NAMED)
    return "; ".join(changes[:_MOST_NAMED]) + more


def flattened(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each value as JSON, after its dotted key; tables in a list are numbered from 0."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        value = {str(number): item for number, item in enumerate(value)}
    if not isinstance(value, dict):
        yield name, json.dumps(value, ensure_ascii=False)
        return
    for key, inner in value.items():
        yield from flattened(f"{name}.{key}" if name else key, inner)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
