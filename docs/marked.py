"""What the scripts that write pages share: text between markers, rows of a table, counted nouns."""

from __future__ import annotations

import re
from collections.abc import Iterable


def replaced(text: str, name: str, new: str) -> str:
    """Return a text with what stands between two markers replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for the {name}: put {begin} and {end} where it shall stand")
    return pattern.sub(lambda _: f"{begin}\n{new.rstrip()}\n{end}", text)


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def counted(n: int, noun: str) -> str:
    """Return a number and its noun: "1 run", "2 runs"."""
    return f"{n} {noun}{'s' * (n != 1)}"
