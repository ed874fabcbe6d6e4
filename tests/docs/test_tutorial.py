"""The tutorial: its files are written and its commands run."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from validate.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FAILS: set[str] = set()
"""The commands whose verdict is "fails": none."""
QUOTED = next(text for kind, text in BLOCKS if kind == "text")


def commands(block: str) -> list[str]:
    assert all(line.startswith("$ ") for line in block.splitlines())
    return [line.removeprefix("$ ") for line in block.splitlines()]


def write_file(block: str) -> None:
    name = re.match(r"# (\S+)\n", block)
    assert name is not None, "a file's block begins with its name"
    Path(name[1]).write_text(block)


def run_here(command: str) -> int:
    """Run a command of the page in this process, which spares it the start of Python and torch."""
    program, *arguments = shlex.split(command)
    if program == "anchorflow":
        return main(arguments)
    assert (program, len(arguments)) == ("python", 1)
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


@pytest.mark.slow
@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_every_command_runs_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("validate.cost.default_workers", lambda: 1)
    said = {}
    for kind, block in BLOCKS:
        if kind in ("toml", "python"):
            write_file(block)
        for command in commands(block) if kind == "console" else []:
            assert run_here(command) == int(command in FAILS), command
            said[command] = capsys.readouterr().out
    assert len(said) == 8
    words = QUOTED.splitlines()
    for command in ("anchorflow compare runs/mine --out runs/mine-report", "python my_task.py"):
        sentence, verdict = said[command].splitlines()[:2]
        assert numberless(sentence) == numberless(words[0])
        assert verdict.startswith(words[1].removesuffix("..."))
    alone = said["anchorflow compare runs/mine/gamma0.8_seed0"]
    assert "undecided" in alone
    assert "what is missing is there already; include it: anchorflow compare runs/mine\n" in alone
    assert (tmp_path / "runs" / "mine-report" / "report.html").exists()
    assert (tmp_path / "my_figure.png").stat().st_size > 10_000
    assert (tmp_path / "metrics.csv").read_text().startswith("run,model,init_rate,seed,")


def numberless(text: str) -> str:
    """Return a sentence without its estimates, whose last digits depend on the machine."""
    return re.sub(r"-?\d\.\d\d", "x", text)


@pytest.mark.long
def test_every_command_runs_as_it_is_typed(tmp_path: Path) -> None:
    """The same with a shell, the command ``anchorflow`` and a Python of its own for each."""
    scripts, folder = tmp_path / "bin", tmp_path / "empty"
    scripts.mkdir()
    folder.mkdir()
    # A link would be a Python without the packages of the virtual environment.
    (scripts / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (scripts / "python").chmod(0o755)
    # As pip writes it: worker processes import it again.
    guarded = 'if __name__ == "__main__":\n    sys.exit(main())\n'
    entry = f"#!{sys.executable}\nimport sys\nfrom anchorflow.__main__ import main\n{guarded}"
    (scripts / "anchorflow").write_text(entry)
    (scripts / "anchorflow").chmod(0o755)
    environment = os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for kind, block in BLOCKS:
        if kind in ("toml", "python"):
            name = block.split()[1]
            (folder / name).write_text(block)
        for command in commands(block) if kind == "console" else []:
            done = subprocess.run(
                command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == int(command in FAILS), done.stderr
