"""The one way in which this project refuses bad input, and work that does not fit into memory."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_LONGEST = 200
"""The most characters of a value that a message shows."""


class InputError(ValueError):
    """A ValueError whose message names the argument, the value and the remedy.

    The command line shows such a message as one sentence and exits with code 2; any other exception
    is a bug and keeps its traceback.
    """

    def __init__(self, argument: str, value: object, problem: str, remedy: str) -> None:
        self.argument, self.value, self.problem, self.remedy = argument, value, problem, remedy
        # All four, so that the error travels whole between processes.
        super().__init__(argument, value, problem, remedy)

    def __str__(self) -> str:
        """Return the message, written only when shown: writing a value out can take long."""
        # A command or option at the end is there to be copied, and a full stop would be copied with it.
        stop = "" if re.search(r"\.$|: (anchorflow|pip|dask|--\w+) [^;]*$", self.remedy) else "."
        return f"{self.argument} = {shown(self.value)}: {self.problem}; {self.remedy}{stop}"


class TooManyEntriesError(InputError):
    """A label distribution has no closed form, and too many pairs of key and combination to count."""


@contextmanager
def in_file(path: object) -> Iterator[None]:
    """Name the file in every ``InputError`` that is raised inside the block."""
    try:
        yield
    except InputError as error:
        if error.argument == "file" or f"{path}: " in error.argument:
            raise
        named = f"{path}: {error.argument}"
        raise type(error)(named, error.value, error.problem, error.remedy) from error.__cause__


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Give arguments that are refused inside the block other names, such as those of a command's options."""
    try:
        yield
    except InputError as error:
        if error.argument not in names:
            raise
        named = names[error.argument]
        raise type(error)(named, error.value, error.problem, error.remedy) from error.__cause__


def shown(value: object) -> str:
    """Return a value as a message shows it: on one line, and cut in the middle where it is long."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"an array of shape {tuple(shape)}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        # Python refuses to write out an integer of thousands of digits, and a foreign repr may fail.
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


def unknown_name(
    what: str,
    name: str,
    known: Iterable[str],
    argument: str | None = None,
    kind: type[InputError] = InputError,
) -> InputError:
    """Return the refusal of a name that is not one of ``known``, with the nearest that is.

    ``what`` says what is named, such as "command" or "key"; it is the default of ``argument``.
    """
    known = sorted(known)
    near = nearest(name, known)
    hint = f"did you mean {near!r}? known: " if near else "choose one of "
    return kind(argument or what, name, f"unknown {what}", hint + ", ".join(known))


def unknown_key(where: str, key: str, known: Iterable[str]) -> InputError:
    """Return the refusal of an unknown key of a table, with the nearest known one."""
    return unknown_name("key", key, known, where)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to the given one, or None if none is similar."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


class IntegrationError(RuntimeError):
    """An integrator gave up; the message gives its reason, the time reached and a remedy."""

    def __init__(self, flow: str, message: str, time: float, remedy: str) -> None:
        self.flow, self.message, self.time, self.remedy = flow, message, time, remedy
        super().__init__(flow, message, time, remedy)

    def __str__(self) -> str:
        return f"{self.flow} stopped at t = {self.time:.6g}: {self.message} {self.remedy}."


class GradientLimitError(IntegrationError):
    """An integrator would need more gradients of a population than it may take."""


@functools.cache
def machine_memory() -> int:
    """Return the bytes of memory that this machine has, or this container may use."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 * 2**30
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found = min(found, int(Path(file).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return found


def check_memory(argument: str, value: object, n_bytes: int, what: str, remedy: str) -> None:
    """Refuse ``what``, the subject of the sentence, if it needs more memory than this machine has."""
    there = machine_memory()
    if n_bytes > there:
        # An estimate of hundreds of digits does not fit into a float.
        needed = f"{n_bytes / 2**30:.3g} GiB" if n_bytes < 2**80 else "more than a billion GiB"
        problem = f"{what} needs about {needed} of memory and this machine has {there / 2**30:.3g} GiB"
        raise InputError(argument, value, problem, remedy)
