"""The README tells the truth: its example runs as printed, its table is the kept one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sim import Run
from tests.docs.pages import ROOT, blocks
from theory import Task, label_distribution

EXAMPLE = blocks("README.md", "python")[0]


def _printed(text: str) -> list[list[float]]:
    """Return the row of predicted and the row of observed cosines."""
    return [[float(n) for n in re.findall(r"-?\d+\.\d*", line)] for line in text.strip().split("\n", 1)]


def test_the_example_has_ten_lines_and_prints_the_cosines_of_its_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One epoch stands for the twenty, which the long suite trains."""
    assert len([line for line in EXAMPLE.splitlines() if line]) <= 10
    code, times = re.subn(r"\b20\b", "1", EXAMPLE)
    assert times == 2
    exec(compile(code, "README.md", "exec"), {})
    predicted, observed = _printed(capsys.readouterr().out)
    shapes = label_distribution(Task.paper(length=3), [*range(11, 21)], held_out=True)
    shapes = shapes - shapes.mean(axis=1, keepdims=True)
    vectors = Run.open(here / "runs" / "readme" / "gamma0.8_seed0").embedding(1)[11:21]
    for row, rows in ((predicted, shapes), (observed, vectors)):
        wanted = rows @ rows[4] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[4])
        np.testing.assert_allclose(row, wanted, atol=0.0051)


@pytest.mark.long
def test_the_example_runs_as_printed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXAMPLE],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    predicted, observed = _printed(done.stdout)
    # The threshold of claim 6; the anchor itself, with its cosine of 1, says nothing.
    assert np.corrcoef(np.delete([predicted, observed], 4, axis=1))[0, 1] >= 0.7


def test_every_file_that_it_links_to_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
