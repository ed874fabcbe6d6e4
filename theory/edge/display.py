"""Tables for notebooks and for print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MOST_ROWS = 12


class Shown:
    """A result shown as a title and a table, printed or in a notebook, and as the title alone in a repr.

    A class defines ``_shown``. A dataclass also needs ``repr=False``: otherwise it gets a ``__repr__`` of its
    own, with every array in it.
    """

    def _shown(self) -> tuple[str, Sequence[object], Iterable[Sequence[object]]]:
        """Return the title, the table's header and its rows, all plain text or numbers."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()[0]})"

    def __str__(self) -> str:
        title, header, rows = self._shown()
        return f"{title}\n{text_table(_as_text(header), map(_as_text, rows))}"

    def _repr_html_(self) -> str:
        return html_table(*self._shown())


def _as_text(cells: Iterable[object]) -> list[str]:
    return [str(cell) for cell in cells]


def spread(n: int, most: int = _MOST_ROWS) -> list[int]:
    """Return the indices of the rows to show: all if they are few, else evenly spaced, with both ends."""
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]


def html_table(title: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in HTML; title and cells are plain text, and an empty header is left out."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    head = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as lines of text, its columns two spaces apart."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def ranges(numbers: Sequence[int]) -> str:
    """Return integers as short text: 1..10 if they are consecutive; if many, the first and the number."""
    listed = sorted(numbers)
    if len(listed) == listed[-1] - listed[0] + 1 and len(listed) > 2:
        return f"{listed[0]}..{listed[-1]}"
    return ", ".join(map(str, listed)) if len(listed) <= 6 else f"{listed[0]}, ... ({len(listed)} tokens)"
