"""Which tokenizer a run reads its texts with: a file outside its folder, kept by its checksum.

A run that continues reads its texts again, and other tokens under the same numbers would go unnoticed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.runs.folder import RunFolder
from sim.runs.manifest import digest
from theory import InputError
from theory.reading import open_regular

_SHOWN = 12
"""Digits of a checksum in a message."""


def tokenizer_of(member: MemberConfig) -> str:
    """Return the file of a run's tokenizer, empty if it has none."""
    return member.task.tokenizer if isinstance(member.task, LanguageTask) else ""


def tokenizer_record(member: MemberConfig) -> dict[str, str] | None:
    """Return file and SHA-256 of a run's tokenizer as they are now, None if it has none."""
    file = tokenizer_of(member)
    return {"file": file, "sha256": _digest(file)} if file else None


def check_tokenizer(path: Path, member: MemberConfig) -> None:
    """Refuse to continue a run whose tokenizer is not the one with which it was begun.

    Runs of versions that recorded no checksum are not refused.
    """
    folder, file = RunFolder(path), tokenizer_of(member)
    recorded: dict[str, Any] = folder.read_provenance() if file and folder.has_provenance else {}
    if not recorded.get("tokenizer"):
        return
    begun, now = recorded["tokenizer"]["sha256"], _digest(file)
    if now != begun:
        problem = f"SHA-256 {now[:_SHOWN]}..., and {path} was begun with {begun[:_SHOWN]}..."
        raise InputError("tokenizer", file, problem, "restore that file, or train into another folder")


def _digest(file: str) -> str:
    with open_regular(Path(file)) as content:
        return digest(content.read())
