"""Options from types: every field of a model is an option, its docstring the help, its type the check.

The classes at the end have the options that many commands share.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

import sim
from theory import InputError
from theory.edge.errors import nearest
from theory.edge.reading import as_path

_KINDS = {int: ("INT", "an integer"), float: ("FLOAT", "a number"), Path: ("PATH", "a path")}
"""How the help shows a type, and how a message names it."""
_SHORT = {
    "training.learning_rate": ("--lr",),
    "learning_rate": ("--lr",),
    "training.epochs": ("--epochs",),
    "init_rates": ("--gammas", "--gamma"),
    "init_rate": ("--gamma",),
    "rate": ("--gamma",),
}
"""Shorter names of options, by key."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_RANGE = re.compile(r"([0-9]{1,9})(?:-|_|\.\.)([0-9]{1,9})")


class Positional(str):
    """Marks a field that is given by its position; the text is its name in the help."""


@dataclass(frozen=True)
class Option:
    """An option of a command line: its key is dotted if it belongs to a section."""

    key: str
    kind: Any
    help: str = ""
    default: Any = None
    position: Positional | None = None
    required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The option as it is written, or the name of a positional; then shorter names."""
        name = self.position or "--" + self.key.replace("_", "-")
        return (name, *_SHORT.get(self.key, ()))

    @property
    def many(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.kind) in (tuple, dict)

    @property
    def choices(self) -> list[str]:
        """The words among the allowed values."""
        return [str(w) for kind in members(self.kind) if get_origin(kind) is Literal for w in get_args(kind)]

    @property
    def metavar(self) -> str:
        """The form of one value, as the help shows it."""
        if get_origin(self.kind) is dict:
            return "NAME VALUE" if get_args(self.kind)[1] is str else "NAME NUMBER"
        kinds = [kind for kind in members(self.kind) if get_origin(kind) is not Literal]
        return "|".join([*(_KINDS.get(kind, ("TEXT",))[0] for kind in kinds), *self.choices])

    def value(self, given: Any) -> Any:
        """Return the value that the given text, or list of texts, stands for."""
        if isinstance(given, bool):
            return given
        if get_origin(self.kind) is dict:
            if len(given) % 2:
                raise InputError(self.names[0], " ".join(given), "not pairs", "give a value after each name")
            each = Option(self.key, get_args(self.kind)[1])
            return {name: each._one(text) for name, text in zip(given[::2], given[1::2], strict=True)}
        if not self.many:
            return self._one(given)
        if members(self.kind) == [int]:  # Also as 0,1,2; in other numbers a comma may be the decimal point.
            given = [part for text in given for part in text.split(",")]
        return tuple(self._one(text) for text in given)

    def _one(self, text: str) -> Any:
        kinds, choices = members(self.kind), self.choices
        for kind in kinds:
            if kind is int and not _INTEGER.fullmatch(text):
                continue  # Pydantic reads "0-2" as -2 and "0_2" as 2.
            with suppress(ValidationError):
                value = TypeAdapter(kind).validate_strings(text)
                return as_path(self.names[0], text or ".") if kind is Path else value
        near, wanted = nearest(text, choices), [*(_KINDS[k][1] for k in kinds if k in _KINDS), *choices]
        hint = f"did you mean {near!r}? " if near else ""
        among = "one of " * (len(wanted) > 1) + ", ".join(wanted)
        apart = ", several with spaces between them" * self.many
        if self.many and int in kinds and (ends := _RANGE.fullmatch(text)):
            first, last = map(int, ends.groups())
            hint = f"a range is written out, {first} {first + 1} ... {last}; " * (last > first + 1)
        raise InputError(self.names[0], text, "not an allowed value", f"{hint}give {among}{apart}")


def members(kind: Any) -> list[Any]:
    """Return the types that one value may have: those of a union or of a tuple's elements, without None."""
    if get_origin(kind) in (tuple, Annotated):
        return members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for part in get_args(kind) for member in members(part)]
    return [] if kind is type(None) else [kind]


def options_of(values: BaseModel | type[BaseModel], section: str = "") -> list[Option]:
    """Return an option for every field of a model, with its values as defaults, or of a class of models.

    The keys of nested models begin with the name of their section.
    """
    options: list[Option] = []
    for name, field in (values if isinstance(values, type) else type(values)).model_fields.items():
        if field.exclude:  # It only describes the other fields.
            continue
        default = field.default if isinstance(values, type) else getattr(values, name)
        if isinstance(default, BaseModel):
            options += options_of(default, f"{section}{name}.")
            continue
        position = next((mark for mark in field.metadata if isinstance(mark, Positional)), None)
        key, text = section + (field.alias or name), field.description or ""
        options.append(Option(key, field.annotation, text, default, position, field.is_required()))
    return options


def union(lists: Iterable[Sequence[Option]]) -> list[Option]:
    """Return the options of several lists; those of one key become one that takes the values of all."""
    by_key: dict[str, Option] = {}
    for option in (option for options in lists for option in options):
        same = by_key.setdefault(option.key, option)
        if same.kind != option.kind:
            by_key[option.key] = replace(same, kind=same.kind | option.kind)
    return list(by_key.values())


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with dotted keys as nested tables."""
    tables: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
        table[last] = value
    return tables


class CommandOptions(BaseModel):
    """The options of every command; the docstring is its help, and ends with an example."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    as_json: bool = Field(default=False, alias="json")
    """Print the result as JSON on standard output."""
    import_first: str | None = Field(default=None, alias="import")
    """A Python file or module to import first, which registers models or rules of your own."""
    keys: dict[str, Any] = Field(default={}, exclude=True)
    """The given keys of a configuration, dotted, if the command takes any."""

    @classmethod
    def known_keys(cls) -> list[Option]:
        """Return an option for every key of a configuration that the command takes."""
        return []

    @classmethod
    def shown_keys(cls, given: dict[str, Any], keys: dict[str, Any]) -> list[Option]:
        """Return the keys that the help shows, which may depend on the given options and keys."""
        return cls.known_keys()

    def refuse_without(self, other: str, *names: str) -> None:
        """Refuse options that were given without the one they belong to."""
        for name in names:
            if name in self.model_fields_set and not getattr(self, other):
                problem, remedy = f"applies to --{other} only", f"add --{other}, or leave it out"
                raise InputError(name, getattr(self, name), problem, remedy)


class EngineOptions(CommandOptions):
    """The options of every command that trains runs."""

    workers: int = 0
    """Runs at a time; 0 means one per core of this machine."""
    engine: Literal["local", "dask", "slurm"] = "local"
    """What trains the runs: this program, Dask distributed, or SLURM through submitit."""
    scheduler: str | None = None
    """The address of a running Dask cluster, such as tcp://host:8786; implies --engine dask."""
    slurm: dict[str, str] = Field(
        default={}, description="Submitit's parameters, for instance timeout_min 600 slurm_partition cpu."
    )

    def execution(self, **fields: Any) -> sim.Execution:
        """Return how to train the runs: by the options of this command, and by further fields."""
        from sim.training.execution import process_count

        engine = "dask" if self.scheduler and "engine" not in self.model_fields_set else self.engine
        for name, wanted in (("scheduler", "dask"), ("slurm", "slurm")):
            if name in self.model_fields_set and engine != wanted:
                problem, remedy = f"is for the engine {wanted}", f"add --engine {wanted}, or leave it out"
                raise InputError(name, getattr(self, name), problem, remedy)
        slurm = {name: int(text) if text.isdecimal() else text for name, text in self.slurm.items()}
        names = ("device", "kernels", "resume", "overwrite")
        of_command = {name: getattr(self, name) for name in names if name in type(self).model_fields}
        return sim.Execution(
            workers=process_count(self.workers),
            engine=engine,
            engine_options={"scheduler": self.scheduler} if self.scheduler else slurm,
            **of_command,
            **fields,
        )


class TrainingOptions(EngineOptions):
    """The options of every command that trains into the user's own run folders."""

    resume: bool = False
    """Continue existing runs; skip complete ones."""
    overwrite: bool = False
    """Replace existing runs."""
