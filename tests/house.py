"""``make house``: lines, files and words of the project beside their budget; exit code 1 if one is over."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

LINES = {"theory": 12_500, "sim": 7_200, "validate": 13_500, "tests": 20_000, "docs": 2_500}
PACKAGES, FILES, WORDS = 33_000, 260, 45_000


def measure() -> list[tuple[str, int, int]]:
    """Return (what, how much, budget) of everything that has a budget."""
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    paths = [Path(name) for name in tracked if name and Path(name).is_file()]
    python = [p for p in paths if p.suffix == ".py"]

    def lines(folder: str) -> int:
        return sum(len(p.read_text().splitlines()) for p in python if p.parts[0] == folder)

    packages = [p for p in python if p.parts[0] in ("theory", "sim", "validate")]
    words = sum(len(p.read_text().split()) for p in paths if p.parts[0] == "docs" and p.suffix == ".md")
    return [
        *((f"{folder}/, lines of Python", lines(folder), budget) for folder, budget in LINES.items()),
        ("the three packages, lines", sum(lines(p) for p in ("theory", "sim", "validate")), PACKAGES),
        ("the three packages, files", len(packages), FILES),
        ("docs/, words of pages", words, WORDS),
    ]


if __name__ == "__main__":
    rows = measure()
    table = Table("", "today", "budget", "")
    for name, value, budget in rows:
        table.add_row(name, f"{value:,}", f"{budget:,}", "" if value <= budget else "over")
    Console().print(table)
    sys.exit(any(value > budget for _, value, budget in rows))
