"""The commands in a terminal, where rich draws what a pipe never sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

TINY = """
init_rates = [0.8]
seeds = [0]

[task]
keys = "40..49"
n_anchors = 1
length = 2
vocab_size = 80
reasoning_anchors = "11..14"
memory_anchors = "1..3"

[model]
d_m = 8
d_f = 8

[training]
epochs = 2
snapshot_epochs = [1]
"""


def test_a_training_shows_its_progress_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    done = subprocess.run(
        [sys.executable, "-m", "validate.cli", "train", "tiny.toml", "--out", "runs", "--workers", "1"],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "FORCE_COLOR": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "training" in done.stderr
    assert "Traceback" not in done.stderr
