"""Put the ledger's tables where they are read: python docs/update_claims.py [KEPT].

The verdicts, from the observations that are kept (or from another folder of them), go into README.md and,
as JSON, into docs/results/claims.json; the thresholds with their reasons go into docs/claims.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validate.claims import Claim, judge_claims, ledger
from validate.claims.evidence import Evidence
from validate.claims.presentation import markdown, to_json
from validate.observe import KEPT

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "claims.json"
PAGE = ROOT / "docs" / "claims.md"
VERDICTS, THRESHOLDS = "claims table", "thresholds"


def replaced(text: str, name: str, new: str) -> str:
    """Return a text with what stands between two markers replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for the {name}: put {begin} and {end} where it shall stand")
    return pattern.sub(lambda _: f"{begin}\n{new.rstrip()}\n{end}", text)


def thresholds(claims: Sequence[Claim]) -> str:
    """Return every condition with its threshold and reason, and its control, as a Markdown table."""
    lines = ["| | role | measure | runs | threshold | reason |", "| --- | --- | --- | --- | --- | --- |"]
    for claim in claims:
        lines.append(f"| **{claim.number}** | | **{_cell(claim.statement)}** ({claim.section}) | | | |")
        for c in claim.conditions:
            bound = "" if c.role == "note" else f"{c.relation} {c.threshold:g}"
            runs = str(c.needs) if c.needs else "computed"
            cells = (c.role, _cell(c.what), runs, bound, _cell(c.reason))
            lines.append(f"| | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def judged(folder: Path) -> dict[str, Any]:
    """Return the findings on what a folder keeps, as JSON."""
    return to_json(judge_claims(ledger(), Evidence(folder=folder).find))


def main(folder: Path) -> None:
    """Renew the kept verdicts, the README's table and the page's."""
    readme = ROOT / "README.md"
    found = judged(folder)
    text = replaced(readme.read_text(), VERDICTS, markdown(found["claims"]))
    RESULTS.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    readme.write_text(text)
    renew_page()


def renew_page() -> None:
    """Renew the table of thresholds alone."""
    PAGE.write_text(replaced(PAGE.read_text(), THRESHOLDS, thresholds(ledger())))


if __name__ == "__main__":
    if sys.argv[1:] == ["--thresholds"]:
        renew_page()
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT)
