"""``make house``: the size of the project beside its budget, and what holds the rest; exit code 1 if over."""

import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

LINES = {"theory": 12_900, "sim": 7_400, "validate": 14_800, "tests": 20_000, "docs": 2_500}
PACKAGES, FILES, WORDS = 35_100, 260, 45_000
JUDGE, ENGINE = 4_800, 2_200
"""The judge with its claims and measures, and without them."""
HELD_BY = {
    "sim": {
        "advise on anyone's model": ["sim/modules/advise.py"],
        "what anyone's model says when called": [
            f"sim/modules/{n}.py" for n in ("called", "library", "norms")
        ],
        "records of a folder from a stranger": ["sim/runs/records.py"],
        "SLURM and Dask": ["sim/training/engines/on_slurm.py", "sim/training/engines/on_dask.py"],
        "PrOntoQA": ["sim/data/prontoqa.py"],
        "compiled kernels": ["sim/training/kernels.py"],
        "steps recorded on a GPU": ["sim/training/device_steps.py"],
    },
    "validate": {
        "language models observed, judged and drawn": [
            "validate/*/language.py",
            "validate/*/*/language.py",
            "validate/commands/corpus_runs.py",
        ],
        "audit of any module's scales": ["validate/scales/*.py", "validate/commands/advise.py"],
        "Recorder for anybody's loop": ["validate/record/*.py"],
        "pivots of sweeps": ["validate/pivot.py"],
        "the optimiser's flow beside P^s": ["validate/compare/flow.py", "validate/predict/course.py"],
        "learning times and guesses of them": [
            "validate/judge/measures/learning_times.py",
            "validate/predict/learning.py",
        ],
        "series and files of checkpoints": ["validate/corpus/series.py", "validate/corpus/checkpoint.py"],
        "two corpora compared": ["validate/corpus/comparison.py"],
        "rivals ranked, error budget": ["validate/compare/ranking.py"],
        "what a model without order can learn": ["validate/predict/ceiling.py"],
        "times as bounds": ["validate/observe/bounds.py"],
    },
    "tests": {
        "random calls and command lines": ["tests/fuzz/*.py"],
        "recorded numbers": ["tests/golden/*.py"],
        "random mutants": ["tests/mutants.py"],
        "benchmarks": ["tests/bench/*.py"],
        "real SLURM and Dask": ["tests/slurm.py", "tests/validate/sweeps/test_engines.py"],
        "other machines and versions": ["tests/machines.py", "tests/oldest.py"],
        "pages followed to the letter": [
            f"tests/docs/test_{n}.py" for n in ("code_blocks", "followed", "explorer")
        ],
        "kills, damage and resuming": [
            "tests/sim/test_nothing_is_lost.py",
            "tests/sim/test_resuming.py",
            "tests/sim/test_folder_machine.py",
            "tests/sim/test_kill.py",
        ],
        "modules as other people write them": ["tests/sim/test_untouched.py"],
    },
}
"""What goes beyond a folder's budget: capabilities that a user would miss, and the files that hold them."""


def count(files: list[Path]) -> int:
    return sum(len(p.read_text().splitlines()) for p in files)


def matching(patterns: list[str]) -> list[Path]:
    """Return the files that match, of which each pattern has to have one."""
    found = [sorted(Path().glob(pattern)) for pattern in patterns]
    assert all(found), patterns
    return [file for files in found for file in files]


def measure() -> list[tuple[str, int, int]]:
    """Return (what, how much, budget) of everything that has a budget."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout
    paths = [path for path in map(Path, listed.splitlines()) if path.is_file()]

    def below(folder: str) -> list[Path]:
        return [p for p in paths if p.suffix == ".py" and p.as_posix().startswith(f"{folder}/")]

    packages = [p for folder in ("theory", "sim", "validate") for p in below(folder)]
    judge = below("validate/judge")
    engine = [p for p in judge if p.parent.name == "judge"]
    words = sum(len(p.read_text().split()) for p in paths if p.parts[0] == "docs" and p.suffix == ".md")
    return [
        *((f"{folder}/, lines of Python", count(below(folder)), budget) for folder, budget in LINES.items()),
        ("the three packages, lines", count(packages), PACKAGES),
        ("the three packages, files", len(packages), FILES),
        ("validate/judge/, lines, claims included", count(judge), JUDGE),
        ("its engine, without claims and measures", count(engine), ENGINE),
        ("its engine, files", len([p for p in engine if p.name != "__init__.py"]), 12),
        ("its engine, floors", floors(engine), 4),
        ("docs/, words of pages", words, WORDS),
    ]


def floors(files: list[Path]) -> int:
    """Return the length of the longest chain of imports among some files; a hidden import counts too."""
    imports = {p.stem: re.findall(r"from validate\.judge\.(\w+) import", p.read_text()) for p in files}

    def floor(name: str) -> int:
        return 1 + max((floor(other) for other in imports[name] if other in imports), default=0)

    return max(map(floor, imports))


if __name__ == "__main__":
    rows = measure()
    table = Table("", "today", "budget", "")
    for name, value, budget in rows:
        table.add_row(name, f"{value:,}", f"{budget:,}", "" if value <= budget else "over")
    console = Console()
    console.print(table)
    for folder, held in HELD_BY.items():
        over = next(value - budget for name, value, budget in rows if name.startswith(f"{folder}/,"))
        if over > 0:
            counts = {name: count(matching(patterns)) for name, patterns in held.items()}
            told = ", ".join(f"{name} {n:,}" for name, n in counts.items())
            held_lines = sum(counts.values())
            rest = f"; {over - held_lines:,} are in nothing of the kind" if over > held_lines else ""
            text = f"{folder}/ is {over:,} over; {held_lines:,} are in {told}{rest}"
            console.print(text, highlight=False)
    held_files = sum(len(matching(patterns)) for f in ("sim", "validate") for patterns in HELD_BY[f].values())
    console.print(f"{held_files} of the packages' files hold what is named here.", highlight=False)
    sys.exit(any(value > budget for _, value, budget in rows))
