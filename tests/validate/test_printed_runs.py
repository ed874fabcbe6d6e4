"""What a command that trains prints of its runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validate.commands.train import print_runs


def _run(name: str, loss: dict[str, float | None]) -> Any:
    final = {"accuracy": dict.fromkeys(loss, 0.5), "loss": loss}
    return SimpleNamespace(path=Path(name), metrics=[final], snapshot_epochs=[0, 2])


def test_a_loss_that_overflowed_or_is_not_there_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [_run("a", {"mem": 1.25, "rsn_test": None}), _run("b", {"mem": 2.0})]
    print_runs(runs, "anchorflow compare runs", as_json=False)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:2] in ("a ", "b ")]
    assert rows == [["a", "0.500", "0.500", "1.250", "–"], ["b", "0.500", "–", "2.000", "–"]]
