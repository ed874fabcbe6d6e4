"""Write docs/equations.md and validate/equations.json: equation, function, derivation, largest error seen.

    python -m pytest --equation-errors=docs/equation_errors.json
    python docs/make_equations.py

The rows stand in docs/equations.toml; the errors are those that the tests recorded. The page is for readers,
the JSON file goes with the package: reports print the rows of the equations that they used.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "equations.md"
PACKAGED = DOCS.parent / "validate" / "equations.json"
HEAD = """# Equations

Equation → function → derivation → test → largest error seen. The errors are the largest that any test
recorded; what such an error means (exact, or asymptotic at a finite scale) stands beside it. Generated:

```console
$ python -m pytest --equation-errors=docs/equation_errors.json
$ python docs/make_equations.py
```

| equation | says | function | derivation | test | largest error | standing |
| --- | --- | --- | --- | --- | --- | --- |
"""


def rows() -> list[dict[str, Any]]:
    """Return the rows as docs/equations.toml has them."""
    found: list[dict[str, Any]] = tomllib.loads((DOCS / "equations.toml").read_text())["row"]
    return found


def errors() -> dict[str, float]:
    """Return the largest error that the tests recorded for each key."""
    found: dict[str, float] = json.loads((DOCS / "equation_errors.json").read_text())
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
            "largest_error": max((recorded[key] for key in row["errors"]), default=None),
            "standing": row["standing"],
        }
        for row in rows()
    ]
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _line(row: dict[str, Any], recorded: dict[str, float]) -> str:
    largest = [recorded[key] for key in row["errors"]]
    derivation = f'`derive "{row["derivation"]}"`' if "derivation" in row else "–"
    cells = [
        row["equation"],
        row["says"],
        ", ".join(f"`{f}`" for f in row["functions"]),
        derivation,
        ", ".join(f"`{Path(t).name}`" for t in row["tests"]),
        f"{max(largest):.1e}" if largest else "–",
        row["standing"],
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page())
    PACKAGED.write_text(packaged())
