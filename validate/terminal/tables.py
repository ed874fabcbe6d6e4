"""What the commands print: tables for people by rich, JSON for machines."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from validate.terminal.streams import filled, printable, terminal_width
from validate.terminal.streams import say as say
from validate.terminal.streams import tell as tell

_GAP = 2
_STYLES = {
    "holds in part": "yellow",
    "partly": "yellow",
    "holds": "green",
    "does not hold": "red",
    "fails": "red",
    "undecided": "yellow",
    "censored": "yellow",
    "undefined": "yellow",
    "part": "yellow",
    "open": "yellow",
    "not tested": "dim",
    "not met": "red",
    "met": "green",
    "void": "yellow",
}
"""How a verdict or a state looks, by how it begins; the words say it too."""


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    spare: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> None:
    """Print a table on standard output, in words that are never broken.

    In a terminal a column wraps between words. Where the columns do not fit, the spare ones are left out, and
    a line names them; if that is not enough, every row is a list of all its cells. Elsewhere each row is one
    line.

    Parameters
    ----------
    title : str
        Stands above.
    header : sequence of str
        The columns' names; verdicts are coloured, and cells under "verdict" and "state" that begin with one.
    rows : sequence of sequences of str
    spare : sequence of str
        Columns that are left out first, the last one first.
    notes : sequence of str
        What words and columns of the table mean, as "word: meaning", one line each below it.
    """
    width = terminal_width(sys.stdout) if sys.stdout is not None and sys.stdout.isatty() else None
    columns = {printable(name): [printable(row[i]) for row in rows] for i, name in enumerate(header)}
    shown, left_out = dict(columns), list[str]()
    for name in reversed(spare):
        if column_widths(shown, width) is None:
            left_out.insert(0, name)
            del shown[name]
    widths = column_widths(shown, width)
    console = Console(width=width or sum(widths or []) + _GAP * len(header) + 1, highlight=False)
    console.print(Text(printable(title), style="bold"), soft_wrap=width is None)
    if widths is None:
        left_out = []
        _print_lists(console, columns)
    else:
        console.print(_table(shown, widths))
    if left_out:
        notes = [f"not shown in {width} columns: {', '.join(left_out)}", *notes]
    # A note may explain a column that is left out.
    for note in (note for note in notes if note.partition(":")[0] not in left_out):
        text = printable(note)
        console.print(Text(text if width is None else filled(text, width)), soft_wrap=True)
    console.print()


def print_text(lines: Sequence[str]) -> None:
    """Print lines on standard output, wrapped between words in a terminal."""
    width = terminal_width(sys.stdout) if sys.stdout is not None and sys.stdout.isatty() else None
    for line in lines:
        text = printable(line)
        print(filled(text, width, indent="  ") if width else text)
    if lines:
        print()


def column_widths(columns: Mapping[str, Sequence[str]], width: int | None) -> list[int] | None:
    """Return each column's width, at least its longest word; None if these do not fit.

    Parameters
    ----------
    columns : mapping of str to sequences of str
        The cells under each column's name.
    width : int or None
        The columns of the terminal; None if each row shall be one line.
    """
    cells = [[name, *column] for name, column in columns.items()]
    full = [max(map(len, column)) for column in cells]
    if width is None:
        return full
    widths = [max(len(word) for cell in column for word in ["", *_words(cell)]) for column in cells]
    room = width - _GAP * (len(widths) - 1) - sum(widths)
    if room < 0:
        return None
    # One character at a time to the column with most text for its width, so that rows take few lines.
    for _ in range(room):
        wanting = [i for i in range(len(widths)) if widths[i] < full[i]]
        if not wanting:
            break
        widths[max(wanting, key=lambda i: full[i] / max(widths[i], 1))] += 1
    return widths


def _words(cell: str) -> list[str]:
    """Return what stays on one line: words, and what stands within brackets, such as an interval."""
    return re.findall(r"(?:\[[^\[\]]{0,24}\]|\S)+", cell)


def _lines(cell: str, width: int) -> str:
    """Return a cell broken between words, at most so wide if its longest word is not wider."""
    bound = " ".join(word.replace(" ", "\u00a0") for word in _words(cell))
    lines = textwrap.wrap(bound, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def _table(columns: Mapping[str, Sequence[str]], widths: Sequence[int]) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for name, width in zip(columns, widths, strict=True):
        table.add_column(Text(_lines(name, width)), width=width, overflow="fold")
    for row in zip(*columns.values(), strict=True):
        cells = zip(columns, row, widths, strict=True)
        table.add_row(*(_styled(name, _lines(cell, width)) for name, cell, width in cells))
    return table


def _print_lists(console: Console, columns: Mapping[str, Sequence[str]]) -> None:
    """Print every row as a list of its cells under their columns' names."""
    for row in zip(*columns.values(), strict=True):
        for i, (name, cell) in enumerate(zip(columns, row, strict=True)):
            label, indent = (f"{name}: " if name else ""), "  " * (i > 0)
            lines = textwrap.wrap(
                label + cell,
                console.width,
                initial_indent=indent,
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            console.print(Text("\n".join(lines), style=_styled(name, cell).style), soft_wrap=True)


def _styled(name: str, cell: str) -> Text:
    if name not in ("verdict", "state"):
        return Text(cell, style=_STYLES.get(cell, ""))
    words = " ".join(cell.split())
    return Text(cell, style=next((style for word, style in _STYLES.items() if words.startswith(word)), ""))
