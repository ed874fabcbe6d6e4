"""Standard streams that take any text and survive a lost reader, and sentences that fit the terminal."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
import textwrap
from functools import partial
from typing import Any, TextIO

from theory import InputError

NARROWEST, WIDEST, WIDEST_TEXT = 40, 500, 100
_wrapped = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)


class OutputError(Exception):
    """Standard output cannot be written, for instance because its disk is full."""


def is_live(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal that can redraw a line."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Return the width of the terminal, or COLUMNS if set, within the limits of the layout."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def printable(text: str) -> str:
    """Return text with "?" for characters that would control a terminal: a name may hold any.

    Bytes that Python could not decode, as in a file's name, stay.
    """
    return "".join(c if c.isprintable() or c in "\n\t" or "\udc80" <= c <= "\udcff" else "?" for c in text)


def say(text: str) -> None:
    """Print a line on standard error, in a terminal wrapped between words."""
    print(_fitted(text, sys.stderr), file=sys.stderr, flush=True)


def tell(text: str, indent: str = "") -> None:
    """Print lines on standard output, in a terminal wrapped between words."""
    print("\n".join(_fitted(line, sys.stdout, indent) for line in text.split("\n")))


def _fitted(line: str, stream: TextIO, indent: str = "") -> str:
    line = printable(line)
    return filled(line, terminal_width(), indent) if is_live(stream) else line


def filled(line: str, width: int, indent: str = "") -> str:
    """Return a line on several, broken between words; a command to be copied stays in one piece."""
    return broken(bound(line, r"\banchorflow [a-z][^;`\n]*"), width, later=indent)


def bound(text: str, pattern: str) -> str:
    """Return text whose matches of the pattern will not be broken."""
    return re.sub(pattern, lambda found: found[0].replace(" ", "\u00a0"), text)


def broken(text: str, width: int, first: str = "", later: str = "") -> str:
    """Return text that may be ``bound``, broken between words, with the given indents."""
    lines = _wrapped(text, max(width, 1), initial_indent=first, subsequent_indent=later)
    return "\n".join(lines).replace("\u00a0", " ")


class _Stream(io.FileIO):
    """A standard stream that discards its output once it cannot be written.

    After a broken pipe, as with ``| head``, the command thus runs to its end and keeps its own exit code. Any
    other failure of standard output is an ``OutputError``.
    """

    is_lost = False

    def write(self, data: Any) -> int:
        """Write, and return how many bytes need not be written again."""
        try:
            return len(data) if self.is_lost else super().write(data)
        except OSError as error:
            self.is_lost = True
            if error.errno != errno.EPIPE and self.fileno() == 1:
                raise OutputError(f"standard output cannot be written: {error.strerror}") from None
            return len(data)


def lenient(stream: TextIO) -> TextIO:
    """Return a replacement for a stream that escapes what its encoding lacks and survives a lost reader."""
    buffer = io.BufferedWriter(_Stream(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=True)


def prepare_streams() -> None:
    """Make the standard streams of this process fit for any text and any reader."""
    if sys.stderr is None:
        # The next file opened, here or in a worker, would else get the free descriptor and our messages.
        os.set_inheritable(os.dup2(os.open(os.devnull, os.O_WRONLY), 2), True)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = lenient(sys.stderr)
    if sys.stdout is None:
        raise InputError("standard output", "closed", "nothing can be printed", "redirect it to /dev/null")
    sys.stdout.flush()
    sys.stdout = lenient(sys.stdout)
