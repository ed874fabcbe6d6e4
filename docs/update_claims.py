"""Put the answer into README.md and docs/claims.md, between their markers: python docs/update_claims.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from claim_pages import judge
from claim_pages import table as as_markdown
from command_line import without_arguments

from validate import Finding
from validate.judge.presentation import SIGNS, answer_rows, paragraph

README = Path(__file__).resolve().parent.parent / "README.md"
PAGE = Path(__file__).resolve().parent / "claims.md"


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
    claims = judge()
    told = fill(paragraph(claims), 128, break_on_hyphens=False)
    for page, answer in ((README, f"{told}\n\n{table(claims)}"), (PAGE, f"{told}\n")):
        before, _, rest = page.read_text(encoding="utf-8").partition(begin)
        page.write_text(f"{before}{begin}{answer}{end}{rest.partition(end)[2]}", encoding="utf-8")
