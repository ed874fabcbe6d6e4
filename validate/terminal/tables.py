"""The output of commands: tables for people by rich, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from validate.terminal.streams import bound, broken, printable, terminal_width
from validate.terminal.streams import say as say
from validate.terminal.streams import tell as tell

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
            for i, (name, cell) in enumerate(zip(columns, row, strict=True)):
                text = f"{name}: {cell}" if name else cell
                lines = broken(text, console.width, "  " * (i > 0), "    ")
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
    from rich.cells import cell_len  # Characters of East Asia are two columns wide.

    cells = [[name, *column] for name, column in columns.items()]
    full = [max(map(cell_len, column)) for column in cells]
    if width is None:
        return full
    words = [max(cell_len(word) for cell in column for word in cell.split(" ")) for column in cells]
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
