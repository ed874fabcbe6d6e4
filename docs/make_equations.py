"""The table of equations: ``make docs`` builds the page, this script the rows that reports print.

    python -m pytest --equation-errors=docs/equation_errors.json
    python docs/make_equations.py

The rows are in docs/equations.toml; the first command records the largest error of every test that names an
equation, the second writes validate/report/equations.json.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from command_line import without_arguments

DOCS = Path(__file__).resolve().parent
PACKAGED = DOCS.parent / "validate" / "report" / "equations.json"
Recorded = dict[str, dict[str, float]]
HEAD = """# Equations

Equation → function → derivation → test → largest error seen. A row's tests are those that recorded an error
for it, and its error is the largest of theirs; what such an error means (exact, or asymptotic at a finite
scale) stands beside it.

| equation | says | function | derivation | test | largest error | standing |
| --- | --- | --- | --- | --- | --- | --- |
"""


def rows() -> list[dict[str, Any]]:
    """Return the rows as docs/equations.toml has them."""
    found: list[dict[str, Any]] = tomllib.loads((DOCS / "equations.toml").read_text())["row"]
    return found


def errors() -> Recorded:
    """Return the largest error that each test file recorded for each key."""
    found: Recorded = json.loads((DOCS / "equation_errors.json").read_text())
    return found


def page() -> str:
    """Return the whole page."""
    recorded = errors()
    lines = [_line(row, recorded) for row in rows()]
    return HEAD + "\n".join(lines) + "\n"


def packaged() -> str:
    """Return what goes with the package: each row with its largest error, as JSON."""
    recorded = errors()
    found = [
        {
            "equation": row["equation"],
            "says": row["says"],
            "functions": row["functions"],
            "derivation": row.get("derivation"),
            "largest_error": max(recorded_by(row, recorded).values(), default=None),
            "standing": row["standing"],
        }
        for row in rows()
    ]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def recorded_by(row: dict[str, Any], recorded: Recorded) -> dict[str, float]:
    """Return the test files that recorded an error for a row, each with its largest."""
    found: dict[str, float] = {}
    for key in row["errors"]:
        for file, error in recorded[key].items():
            found[file] = max(error, found.get(file, 0.0))
    return found


def _line(row: dict[str, Any], recorded: Recorded) -> str:
    found = recorded_by(row, recorded)
    derivation = f'`derive "{row["derivation"]}"`' if "derivation" in row else "–"
    cells = [
        row["equation"],
        row["says"],
        ", ".join(f"`{f}`" for f in row["functions"]),
        derivation,
        ", ".join(f"`{Path(file).name}`" for file in sorted(found)) or "–",
        f"{max(found.values()):.1e}" if found else "–",
        row["standing"],
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    without_arguments(__doc__)
    PACKAGED.write_text(packaged())
