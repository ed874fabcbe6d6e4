"""What a run's record says of the code that trained it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sim.runs import provenance
from sim.runs.provenance import uncommitted


def test_changes_to_the_code_that_trains_are_kept_staged_or_not_and_cut_where_they_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)

    for name in ("theory", "sim", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text("a = 1\n")
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first")
    (tmp_path / "docs/one.py").write_text("a = 4\n")
    assert uncommitted(tmp_path) == {"dirty": False, "diff": None}
    (tmp_path / "sim/one.py").write_text("a = 2\n")
    (tmp_path / "theory/one.py").write_text("a = 3\n")
    (tmp_path / "sim/new.py").write_text("")
    git("add", "theory")
    found = uncommitted(tmp_path)
    assert found["dirty"] is True
    for change in ("-a = 1\n+a = 2", "-a = 1\n+a = 3", "?? sim/new.py"):
        assert change in found["diff"]
    monkeypatch.setattr(provenance, "LARGEST_DIFF", 10)
    assert uncommitted(tmp_path)["diff"] == found["diff"][:10] + "\n(cut)"
