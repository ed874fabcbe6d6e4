"""The names of the files in a run folder."""

from __future__ import annotations

import re
from pathlib import Path

CONFIG = "config.json"
"""The file that makes a folder a run's: the resolved configuration."""
OWN_FILE = re.compile(
    r"config\.json|provenance\.json|metrics\.jsonl|statistics\.safetensors"
    r"|snapshots/epoch_\d{6,}\.safetensors|checkpoints/step_\d{9,}\.safetensors"
)
"""The names that this program gives."""


def snapshot_name(epoch: int) -> str:
    """Return the file of a snapshot inside a run folder."""
    return f"snapshots/epoch_{epoch:06d}.safetensors"


def checkpoint_name(step: int) -> str:
    """Return the file of a checkpoint inside a run folder."""
    return f"checkpoints/step_{step:09d}.safetensors"


def numbers(folder: Path, pattern: str) -> list[int]:
    """Return the numbers in the names of the files that fit a pattern."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return [int(found[1]) for name in names if (found := re.fullmatch(pattern, name))]
