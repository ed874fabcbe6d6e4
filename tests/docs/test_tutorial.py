"""The tutorial: its files are written and its commands run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import blocks, follow

PAGE = "docs/tutorial.md"


@pytest.mark.slow
@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_every_command_runs_from_an_empty_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sim.training.execution.default_workers", lambda: 1)
    ended = follow(PAGE, capsys)
    said = {command: out for command, (_, out) in ended.items()}
    assert {command: code for command, (code, _) in ended.items() if code} == {}
    assert len(said) == 8
    words = blocks(PAGE, "text")[0].splitlines()
    for command in ("anchorflow compare runs/mine --out runs/mine-report", "python my_task.py"):
        sentence, verdict = said[command].splitlines()[:2]
        assert numberless(sentence) == numberless(words[0])
        assert verdict.startswith(words[1].removesuffix("..."))
    alone = said["anchorflow compare runs/mine/gamma0.8_seed0"]
    assert "undecided" in alone
    assert "what is missing is there already; include it: anchorflow compare runs/mine\n" in alone
    assert (here / "runs" / "mine-report" / "report.html").exists()
    assert (here / "my_figure.png").stat().st_size > 10_000
    assert (here / "metrics.csv").read_text().startswith("run,model,init_rate,seed,")


def numberless(text: str) -> str:
    """Return a sentence without its estimates, which depend on the machine, and its snapshots' epochs."""
    return re.sub(r"-?\d\.\d\d|epochs? \d+( to \d+)?", "x", text)
