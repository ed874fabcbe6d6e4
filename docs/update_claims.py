"""Put the twelve rows of the answer into README.md, between its markers: python docs/update_claims.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from claim_pages import judge
from claim_pages import table as as_markdown
from command_line import without_arguments

from validate import Finding
from validate.judge.presentation import answer_rows

README = Path(__file__).resolve().parent.parent / "README.md"
SIGNS = {"holds": "✓", "partly": "~", "fails": "✗", "undecided": "?", "censored": "?", "not tested": "–"}


def table(claims: Sequence[Finding]) -> str:
    """Return the twelve rows as a Markdown table, each with its number in the prose."""
    rows = [
        [SIGNS[verdict], str(number), statement, value, where]
        for number, (_, statement, value, _, verdict, where) in enumerate(answer_rows(claims), 1)
    ]
    return as_markdown([["", "row", "statement", "number [interval]", "holds in"], *rows])


if __name__ == "__main__":
    without_arguments(__doc__)
    begin, end = "<!-- claims: begin -->\n", "<!-- claims: end -->"
    rows = begin + table(judge()) + end
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(f"{begin}.*?{end}", lambda _: rows, text, flags=re.DOTALL), encoding="utf-8")
