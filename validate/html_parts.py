"""Pieces of HTML that every section of the report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def heading(place: str, title: str) -> str:
    """Return a section's heading, with the place that the contents link to."""
    return f'<h2 id="{place}">{escape(title)}</h2>'


def note(text: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0, cards: bool = False
) -> str:
    """Return a table of cells that are HTML already.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str
    numbers : int, optional
        How many of the last columns are aligned as numbers.
    cards : bool, optional
        Whether a phone shows each row as a card with labelled lines. A table of numbers scrolls sideways
        there; any other wraps.
    """
    first = len(header) - numbers
    lines = ["".join(_cell(c, header[i], i >= first) for i, c in enumerate(row)) for row in rows]
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in header)
    kind = "cards" if cards else "wide" if numbers else "plain"
    content = f"<thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{content}</table></div>'


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0, cards: bool = False
) -> str:
    """Return a table of plain text; parameters are those of ``table``."""
    return table(header, [[escape(cell) for cell in row] for row in rows], numbers=numbers, cards=cards)


def details(title: str, content: str) -> str:
    """Return something that opens at a click; the content is HTML already."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _cell(content: str, label: str, number: bool) -> str:
    kind = ' class="number"' if number else ""
    return f'<td{kind} data-label="{escape(label)}">{content}</td>'
