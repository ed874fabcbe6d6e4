"""The output of commands: tables and sentences that fit the terminal, JSON, streams that take any text."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TextIO

from theory import InputError

NARROWEST, WIDEST, WIDEST_TEXT = 40, 500, 100
_wrapped = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)
Texts = Sequence[str]
_GAP = 2
_STYLES = {
    "holds": "green",
    "fails": "red",
    **dict.fromkeys(("partly", "undecided", "censored", "undefined"), "yellow"),
    "not tested": "dim",
}
"""The style of a verdict or a state, by how it begins; the words alone say the same."""


class Table(NamedTuple):
    """A table for the terminal and for a page: the arguments of ``print_table``."""

    title: str
    header: Texts
    rows: Sequence[Texts]
    spare: Texts = ()
    notes: Texts = ()


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(
    title: str, header: Texts, rows: Sequence[Texts], spare: Texts = (), notes: Texts = ()
) -> None:
    """Print a table on standard output, without breaking words.

    In a terminal a column wraps between words. Where the columns do not fit, the spare ones are left out, the
    last one first, and a line names them; if that is not enough, every row is printed as a list of its cells.
    Elsewhere each row is one line. Verdicts are coloured, and so are cells under "verdict" and "state" that
    begin with one. A note explains a word or a column of the table, as "word: meaning".
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = terminal_width() if sys.stdout.isatty() else None
    columns = {name: [_bound(row[i]) for row in rows] for i, name in enumerate(map(_bound, header))}
    shown, left_out = dict(columns), list[str]()
    while (widths := _widths(shown, width)) is None and len(left_out) < len(spare):
        left_out.insert(0, spare[-1 - len(left_out)])
        del shown[_bound(left_out[0])]
    console = Console(width=width or 10**6, height=25, highlight=False)  # Else TERM=dumb has 80 columns.
    console.print(Text(printable(title), style="bold"))
    if widths is None:
        left_out = []
        for row in zip(*columns.values(), strict=True):
            said = [(name, cell) for name, cell in zip(columns, row, strict=True) if cell]
            for i, (name, cell) in enumerate(said):
                lines = broken(f"{name}: {cell}" if name else cell, console.width, "  " * (i > 0), "    ")
                console.print(Text(lines, style=_style(name, cell)), soft_wrap=True)
    else:
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        for name, column_width in zip(shown, widths, strict=True):
            table.add_column(Text(broken(name, column_width)), width=column_width)
        for row in zip(*shown.values(), strict=True):
            cells = zip(shown, row, widths, strict=True)
            table.add_row(*(Text(broken(cell, w), style=_style(name, cell)) for name, cell, w in cells))
        console.print(table)
    if left_out:
        notes = [f"not shown in {width} columns: {', '.join(left_out)}", *notes]
    for note in notes:  # Notes on left-out columns alone are skipped.
        if not {*note.partition(":")[0].split(", ")} <= {*left_out}:
            tell(note)
    print()


def print_text(lines: Texts) -> None:
    """Print lines on standard output, wrapped between words in a terminal."""
    for line in lines:
        tell(line, indent="  ")
    if lines:
        print()


def _bound(cell: str) -> str:
    """Return a cell whose short brackets, such as an interval, will stay on one line."""
    return bound(printable(cell), r"\[[^\[\]]{0,24}\]")


def _widths(columns: Mapping[str, Texts], width: int | None) -> list[int] | None:
    """Return each column's width, at least that of its longest word; None if these do not fit.

    In a terminal, columns share the room: each gets as much as it needs, up to one common width.
    """
    from rich.cells import cell_len

    def length(text: str) -> int:
        # Characters of East Asia are two columns wide, and accents of their own none: textwrap counts one.
        return max(cell_len(text), len(text))

    cells = [[name, *column] for name, column in columns.items()]
    full = [max(map(length, column)) for column in cells]
    if width is None:
        return full
    words = [max(length(word) for cell in column for word in cell.split(" ")) for column in cells]
    room = width - _GAP * (len(full) - 1)
    for common in range(room, -1, -1):
        widths = [max(w, min(f, common)) for f, w in zip(full, words, strict=True)]
        if sum(widths) <= room:
            return widths
    return None


def _style(name: str, cell: str) -> str:
    if name in ("verdict", "state"):
        return next((style for word, style in _STYLES.items() if cell.startswith(word)), "")
    return _STYLES.get(cell, "")


# --- sentences ------------------------------------------------------------------------------------------


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


# --- standard streams -----------------------------------------------------------------------------------


class OutputError(Exception):
    """Standard output cannot be written, for instance because its disk is full."""


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
