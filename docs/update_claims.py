"""Put the twelve rows of the answer into README.md, between its markers: python docs/update_claims.py."""

from __future__ import annotations

import re
from pathlib import Path

from claim_pages import Claimed, judge
from command_line import without_arguments

from validate.judge.presentation import answer_rows

README = Path(__file__).resolve().parent.parent / "README.md"
SIGNS = {"holds": "✓", "partly": "~", "fails": "✗", "undecided": "?", "censored": "?", "not tested": "–"}


def table(claims: list[Claimed]) -> str:
    """Return the twelve rows as a Markdown table: verdict, statement, number, settings at which it holds."""
    lines = ["| | statement | number [95 %] | holds in |", "|" + " --- |" * 4]
    for _, statement, value, _, verdict, where in answer_rows(claims):
        lines.append(f"| {SIGNS[verdict]} | {statement} | {value} | {where} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    without_arguments(__doc__)
    begin, end = "<!-- claims: begin -->\n", "<!-- claims: end -->"
    rows = begin + table(judge()) + end
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(f"{begin}.*?{end}", lambda _: rows, text, flags=re.DOTALL), encoding="utf-8")
