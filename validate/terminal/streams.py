"""What is known of the terminal, or of the pipe, file or notebook in its place, and what it can show."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from typing import TextIO

from theory import InputError

NARROWEST, WIDEST, WIDEST_TEXT = 40, 500, 100
_ASCII = {
    "−": "-",
    "–": "-",
    "—": "-",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "±": "+-",
    "·": "*",
    "∂": "d",
    "→": "->",
    "≈": "~",
}


class OutputError(Exception):
    """Standard output cannot be written: the disk behind it is full, say."""


def is_live(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal that can redraw a line."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the columns of the terminal, COLUMNS first, within what can be laid out."""
    columns = os.environ.get("COLUMNS", "")
    try:
        width = int(columns) if columns.isdecimal() else os.get_terminal_size(stream.fileno()).columns  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        width = shutil.get_terminal_size().columns
    return min(max(width, NARROWEST), WIDEST)


def text_width() -> int:
    """Return the columns that running text is wrapped to."""
    return min(terminal_width(sys.stdout), WIDEST_TEXT)


def printable(text: str) -> str:
    """Return text without the characters that would steer a terminal: a name may hold any."""
    return "".join(c if c.isprintable() or c in "\n\t" or _is_byte(c) else "?" for c in text)


def say(text: str) -> None:
    """Print a line on standard error, between words on several where the terminal is too narrow."""
    print(_wrapped(text, sys.stderr), file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print lines on standard output, each between words on several where the terminal is too narrow."""
    print("\n".join(_wrapped(line, sys.stdout) for line in text.split("\n")))


def _wrapped(line: str, stream: TextIO) -> str:
    line = printable(line)
    return filled(line, terminal_width(stream)) if is_live(stream) else line


def filled(line: str, width: int, indent: str = "") -> str:
    """Return a line on several, broken between words; a command to be copied stays in one piece."""
    bound = re.sub(r"\banchorflow [a-z][^;`\n]*", lambda command: command[0].replace(" ", "\u00a0"), line)
    lines = textwrap.wrap(
        bound, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\u00a0", " ")


def _is_byte(character: str) -> bool:
    """Return whether a character stands for a byte that Python could not decode, as in a file's name."""
    return "\udc80" <= character <= "\udcff"


def in_ascii(character: str) -> str:
    """Return what stands for a character where only ASCII can be written: gamma for γ."""
    name = unicodedata.name(character, "")
    if name.startswith("GREEK") and " LETTER " in name:
        letter = name.split(" LETTER ")[1].split()[0]
        return letter.capitalize() if " CAPITAL " in name else letter.lower()
    if _is_byte(character):
        return f"\\x{ord(character) - 0xDC00:02x}"
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _ASCII.get(character) or plain or "?"


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(in_ascii, error.object[error.start : error.end])), error.end


codecs.register_error("anchorflow", _replace)


class Output(io.TextIOWrapper):
    """A standard stream that writes what its encoding lacks in ASCII, and whose reader may go away.

    After a broken pipe, as with ``| head``, what follows is dropped and the command runs to its end, so that
    its exit code is its own. Any other failure is an ``OutputError``.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            open(stream.fileno(), "wb", closefd=False),  # noqa: SIM115
            encoding=stream.encoding,
            errors="anchorflow",
            line_buffering=True,
        )

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return super().write(text)
        except OSError as error:
            self._lost(error)
            return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            super().flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        """Write to nowhere from now on, what is still buffered included."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        if error.errno != errno.EPIPE and self.fileno() == 1:
            raise OutputError(f"standard output cannot be written: {error.strerror}")


def prepare_streams() -> None:
    """Make the standard streams of this process fit for any text and any reader.

    Raises
    ------
    InputError
        If standard output is closed.
    """
    if sys.stderr is None:
        # A descriptor left free would become that of the next file opened, and receive our messages.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = Output(sys.stderr)
    if sys.stdout is None:
        raise InputError("standard output", "closed", "nothing can be printed", "redirect it to /dev/null")
    sys.stdout.flush()
    sys.stdout = Output(sys.stdout)
