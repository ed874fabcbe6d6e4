"""Put the twelve rows of the answer into README.md, between its markers: python docs/update_claims.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from claim_pages import answers, judge
from claim_pages import table as as_markdown
from command_line import without_arguments

from validate import Finding

README = Path(__file__).resolve().parent.parent / "README.md"
SIGNS = {"holds": "✓", "partly": "~", "fails": "✗", "undecided": "?", "censored": "?", "not tested": "–"}


def table(claims: Sequence[Finding]) -> str:
    """Return the twelve rows as a Markdown table, with what a number contrasts beside it."""
    head = ["", "statement", "γ 0.8", "γ 0.3", "number [interval]", "holds in"]
    rows = [
        [SIGNS[verdict], statement, *both, value, where]
        for (_, statement, value, _, verdict, where), both in answers(claims)
    ]
    return as_markdown([head, *rows])


if __name__ == "__main__":
    without_arguments(__doc__)
    begin, end = "<!-- claims: begin -->\n", "<!-- claims: end -->"
    rows = begin + table(judge()) + end
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(f"{begin}.*?{end}", lambda _: rows, text, flags=re.DOTALL), encoding="utf-8")
