"""Put the answer where it is read: python docs/update_claims.py.

The paragraph and the twelve rows go into README.md, between its markers, and every claim's verdicts into
docs/results/claims.json, from which the site's pages and figures name them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from command_line import without_arguments

from validate import judge_claims, ledger
from validate.judge.evidence import Evidence
from validate.judge.presentation import answer_rows, to_json

ROOT = Path(__file__).resolve().parent.parent
README, VERDICTS = ROOT / "README.md", ROOT / "docs" / "results" / "claims.json"
SIGNS = {"holds": "✓", "partly": "~", "fails": "✗", "undecided": "?", "censored": "?", "not tested": "–"}
KEPT = ("number", "name", "statement", "section", "opposing", "verdict", "verdicts")


def table(claims: list[dict[str, Any]]) -> str:
    """Return the twelve rows as a Markdown table: verdict, statement, number, settings at which it holds."""
    lines = ["| | statement | number [95 %] | holds in |", "|" + " --- |" * 4]
    for _, statement, value, _, verdict, where in answer_rows(claims):
        lines.append(f"| {SIGNS[verdict]} | {statement} | {value} | {where} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Judge the kept runs and write both files."""
    evidence = Evidence()
    claims = to_json(judge_claims(ledger(), evidence.find, evidence.absent))["claims"]
    kept = [{key: claim[key] for key in KEPT} for claim in claims]
    VERDICTS.write_text(json.dumps({"claims": kept}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    begin, end = "<!-- claims: begin -->\n", "<!-- claims: end -->"
    text = re.sub(f"{begin}.*?{end}", lambda _: begin + table(claims) + end, text, flags=re.DOTALL)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    without_arguments(__doc__)
    main()
