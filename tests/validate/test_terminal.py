"""The commands in a terminal of 80 and 200 columns, in pipes, and in environments that are out of order."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.validate.pseudo_terminal import COMMAND, ENVIRONMENT, in_terminal
from tests.validate.test_cli import CONFIG

WIDTHS = [80, pytest.param(200, marks=pytest.mark.long)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(CONFIG)
    return tmp_path


def _epochs(n: int) -> list[str]:
    return ["train", "tiny.toml", "--out", "runs", "--workers", "1", "--training.epochs", str(n)]


def test_a_training_is_interrupted_and_resumed_in_a_terminal(forked: Any, folder: Path) -> None:
    stopped = in_terminal(forked, _epochs(1_000), folder, interrupt_at=r"epochs: [1-9]\d*/2000")
    assert stopped.code == 130, stopped.raw
    assert "continue them with the same command and --resume" in stopped.text
    assert "Traceback" not in stopped.raw
    arguments = ["train", "--resume", "runs", "--workers", "1"]
    resumed = in_terminal(forked, arguments, folder, interrupt_at=r"epochs: [1-9]\d*/\d+")
    assert resumed.code == 130, resumed.raw
    assert not re.search(r"epochs: \d+/2000", resumed.raw)  # What was done is not done again.


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_training_ends_with_a_table_in_a_terminal(forked: Any, folder: Path, columns: int) -> None:
    shown = in_terminal(forked, _epochs(20), folder, columns)
    assert shown.code == 0, shown.raw
    assert re.search(r"training epochs: \d+/40", shown.raw)
    assert "training epochs" not in shown.text  # The bar is gone.
    assert any(line.startswith("runs/gamma0.8_seed1") for line in shown.lines)
    assert max(map(len, shown.lines)) <= columns


@pytest.mark.parametrize(
    ("shell", "code", "words"),
    [
        ("| head -1", 0, ""),
        (">&-", 2, "standard output = 'closed': nothing can be printed"),
        (">/dev/full", 2, "standard output cannot be written: No space left on device"),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        ("2>&1 | head -1", 0, ""),
    ],
)
def test_streams_that_fail(folder: Path, shell: str, code: int, words: str) -> None:
    line = f"{shlex.join(COMMAND)} derive {shell}"
    command = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr + done.stdout) == (code, False)
    assert done.stderr.strip().removeprefix("anchorflow: ").startswith(words)
    assert len(done.stderr.splitlines()) == (1 if words else 0)


def test_a_closed_standard_error_is_closed_for_no_worker() -> None:
    code = "import subprocess; from validate.terminal.streams import prepare_streams; prepare_streams(); "
    code += "subprocess.run(['sh', '-c', ': >&2'], check=True)"
    line = ["bash", "-c", '"$0" -c "$1" 2>&-', COMMAND[0], code]
    assert subprocess.run(line, env=ENVIRONMENT, check=False).returncode == 0


@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_names_are_no_markup(folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """A path, a run and a mapping whose names would end or begin a style of rich."""
    monkeypatch.chdir(folder)
    text = CONFIG.replace('reasoning_anchors = "4..7"\nmemory_anchors = "1..3"', "")
    mapping = '[[task.mappings]]\nname = "[red]"\nanchors = "4..7"\nrule = "sum"\n'
    Path("[/]").mkdir(parents=True)
    Path("[/]/[bold].toml").write_text(text.replace("[model]", f"{mapping}\n[model]"))
    for arguments, shown in (
        (["train", "[/]/[bold].toml", "--out", "[/x]", "--workers", "1"], "[/x]/gamma0.8_seed1"),
        (["predict", "[/]/[bold].toml"], "[red] anchor"),
        (["compare", "[/x]", "--out", "[red]"], "[red]/report.html"),
    ):
        assert shown in cli(*arguments).out
    assert "[/y]" in cli("study", "[/y]", code=2).err
