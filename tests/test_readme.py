"""The README tells the truth: its example runs as printed, its table is the kept one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs_script import load_script

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_printed(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line]) <= 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code[1]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    predicted, observed = (re.findall(r"-?\d+\.\d*", line) for line in done.stdout.strip().split("\n", 1))
    assert len(predicted) == 10
    assert float(observed[4]) == 1


def test_the_table_is_the_one_that_the_demo_made() -> None:
    module = load_script("update_readme")
    kept = json.loads(module.KEPT.read_text())
    assert module.replaced(README, module.table(kept)) == README
    assert module.PICTURE.exists()


def test_every_file_that_it_links_to_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
