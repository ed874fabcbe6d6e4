"""How far it is from the command to a step: what a reader follows from function to function."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sim import Trainer
from tests.tiny_task import TASK, TINY
from validate.cli import main

MOST = 5


def test_a_step_is_five_calls_from_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted on the stack of the last step, from ``run`` of the command, without decorators."""
    stack: list[str] = []
    step = Trainer.step

    def seen(trainer: Trainer, *batch: Any) -> None:
        stack.clear()
        frame: Any = sys._getframe(1)
        while frame is not None:
            module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
            if module.split(".")[0] in ("sim", "validate"):
                stack.append(f"{module}:{function}")
            frame = frame.f_back
        step(trainer, *batch)

    monkeypatch.setattr(Trainer, "step", seen)
    (tmp_path / "task.toml").write_text(TASK)
    options = ["--init-rates", "0.8", "--seeds", "0", "--workers", "1", "--out", str(tmp_path / "runs")]
    assert main(["train", str(tmp_path / "task.toml"), *TINY, *options]) == 0
    capsys.readouterr()
    hops = stack[: stack.index("validate.commands.train:run")]
    assert "sim.training.session:train_together" in hops
    assert len(hops) + 1 <= MOST, list(reversed(hops))
