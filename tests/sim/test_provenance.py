"""What a run's record says of the code that trained it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sim.runs import provenance
from sim.runs.provenance import uncommitted


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A committed checkout with one file of the code that trains, and one of other code."""
    for name in ("theory", "sim", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text("a = 1\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first")
    return tmp_path


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def test_changes_to_the_code_that_trains_are_kept_staged_or_not(checkout: Path) -> None:
    (checkout / "sim/one.py").write_text("a = 2\n")
    (checkout / "theory/one.py").write_text("a = 3\n")
    _git(checkout, "add", "theory")
    found = uncommitted(checkout)
    assert found["dirty"] is True
    assert "-a = 1\n+a = 2" in found["diff"]
    assert "-a = 1\n+a = 3" in found["diff"]


def test_a_long_diff_is_cut(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "LARGEST_DIFF", 10)
    (checkout / "sim/one.py").write_text("a = 2\n" * 100)
    diff = uncommitted(checkout)["diff"]
    assert diff.startswith("diff --git"[:10])
    assert diff.endswith("\n(cut)")
