"""Print the oldest versions that pyproject.toml declares, as requirements for ``make test-oldest``.

Torch alone is the newest, as constraints.txt has it: an old one brings gigabytes of CUDA with it.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("ruff", "mypy", "scipy-stubs", "build", "transformers", "accelerate")
"""Tools that no test imports, and a library whose models are newer than the oldest version that is read."""
OF_THEIR_TIME = ("mpmath<1.4", "pyparsing<3.3")
"""Below these, SymPy and matplotlib of that time call what is deprecated now, and a warning is an error."""


def requirements() -> list[str]:
    """Return a requirement for each package that running the tests takes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    oldest = [entry.replace(">=", "==") for entry in declared if entry.split(">=")[0] not in LEFT_OUT]
    newest = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    others = {line for line in oldest if not line.startswith("torch==")}
    return sorted({*others, *(line for line in newest if line.startswith("torch==")), *OF_THEIR_TIME})


if __name__ == "__main__":
    print("\n".join(requirements()))
