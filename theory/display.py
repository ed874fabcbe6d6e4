"""Tables that a notebook or print shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


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
    """Return integers in a few words: 1..10 where they are consecutive, else the first and how many."""
    listed = sorted(numbers)
    if len(listed) == listed[-1] - listed[0] + 1 and len(listed) > 2:
        return f"{listed[0]}..{listed[-1]}"
    return ", ".join(map(str, listed)) if len(listed) <= 6 else f"{listed[0]}, ... ({len(listed)} tokens)"
