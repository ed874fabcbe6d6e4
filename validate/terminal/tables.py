"""What the commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from validate.terminal.streams import printable, terminal_width
from validate.terminal.streams import say as say
from validate.terminal.streams import tell as tell

_GAP = 2
_STYLES = {
    "holds in part": "yellow",
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
    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = terminal_width(sys.stdout) if terminal else None
    header, rows = [printable(name) for name in header], [[printable(cell) for cell in row] for row in rows]
    shown = _fitting(header, rows, spare, width)
    left_out = [name for name in header if name not in shown]
    header, rows = _chosen(shown, header, rows)
    widths = column_widths(header, rows, width)
    console = Console(width=width or max(sum(widths or []) + _GAP * len(header), 1), highlight=False)
    console.print(Text(printable(title), style="bold"), soft_wrap=width is None)
    if widths is None:
        _print_lists(console, header, rows)
    else:
        console.print(_table(header, rows, widths))
    own = [f"not shown in {width} columns: {', '.join(left_out)}"] if left_out else []
    # A note may explain a column that is left out.
    for note in [*own, *(note for note in notes if note.partition(":")[0] not in left_out)]:
        console.print(Text(printable(note)), soft_wrap=width is None)
    console.print()


def print_text(lines: Sequence[str]) -> None:
    """Print lines on standard output, wrapped between words in a terminal."""
    width = terminal_width(sys.stdout) if sys.stdout is not None and sys.stdout.isatty() else None
    for line in lines:
        text = printable(line)
        print(textwrap.fill(text, width, subsequent_indent="  ", break_on_hyphens=False) if width else text)
    if lines:
        print()


def column_widths(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> list[int] | None:
    """Return each column's width, at least its longest word; None if these do not fit.

    Parameters
    ----------
    header, rows : sequences of str
        The cells.
    width : int or None
        The columns of the terminal; None if each row shall be one line.
    """
    columns = list(zip(header, *rows, strict=True))
    full = [max(map(len, column)) for column in columns]
    if width is None:
        return full
    needed = [max(len(word) for cell in column for word in ["", *_words(cell)]) for column in columns]
    room = width - _GAP * (len(columns) - 1) - sum(needed)
    if room < 0:
        return None
    found = list(needed)
    # One character at a time to the column with most text for its width, so that rows take few lines.
    for _ in range(room):
        wanting = [i for i in range(len(columns)) if found[i] < full[i]]
        if not wanting:
            break
        found[max(wanting, key=lambda i: full[i] / max(found[i], 1))] += 1
    return found


def _words(cell: str) -> list[str]:
    """Return what stays on one line: words, and what stands within brackets, such as an interval."""
    return re.findall(r"(?:\[[^\[\]]{0,24}\]|\S)+", cell)


def _lines(cell: str, width: int) -> str:
    """Return a cell broken between words, at most so wide if its longest word is not wider."""
    bound = " ".join(word.replace(" ", "\u00a0") for word in _words(cell))
    lines = textwrap.wrap(bound, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for name, width in zip(header, widths, strict=True):
        table.add_column(Text(_lines(name, width)), width=width, overflow="fold")
    for row in rows:
        cells = zip(header, row, widths, strict=True)
        table.add_row(*(_styled(name, _lines(cell, width)) for name, cell, width in cells))
    return table


def _print_lists(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print every row as a list of its cells under their columns' names."""
    for row in rows:
        for i, (name, cell) in enumerate(zip(header, row, strict=True)):
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


def _fitting(
    header: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], width: int | None
) -> list[str]:
    """Return the columns that are shown: all but the fewest spare ones, or all where no fewer fit."""
    shown = list(header)
    for name in (None, *reversed(spare)):
        shown = [other for other in shown if other != name]
        if column_widths(*_chosen(shown, header, rows), width) is not None:
            return shown
    return list(header)


def _chosen(
    shown: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    kept = [i for i, name in enumerate(header) if name in shown]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]
