"""What a run folder's files hold besides tensors; what is read was verified by its checksum before."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class CheckpointState:
    """The state in a checkpoint besides tensors."""

    epoch: int
    position: int
    """Steps taken in the current epoch."""
    step: int
    sum_learning_rate: float
    failure: str | None
    """Why the member diverged, if it did."""
    seconds: float
    """Wall time so far."""

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self), allow_nan=False)


def read_lines(content: bytes) -> list[dict[str, Any]]:
    """Return the objects of a file with one on each line."""
    return [json.loads(line) for line in content.splitlines()]
