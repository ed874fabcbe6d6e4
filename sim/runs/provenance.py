"""Where a run's numbers come from: commit, versions, machine, time and memory."""

from __future__ import annotations

import datetime
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("anchorflow", "numpy", "scipy", "torch", "safetensors", "pydantic")
_ROOT = Path(__file__).resolve().parents[2]
_TRAINING = ("theory", "sim")
"""The packages whose code decides what a run is."""
LARGEST_DIFF = 64 * 1024
"""Characters of uncommitted changes that a run's record keeps; of more, the beginning."""


@cache
def software() -> dict[str, Any]:
    """Return commit, dirty flag and versions, as they were when first asked for in this process."""
    return {**_commit(), "python": platform.python_version(), "versions": _versions()}


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return the device that computes, the processor and the operating system."""
    return {"device": _device_name(device), "processor": _processor(), "system": platform.platform()}


def _device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return f"{device}: {torch.cuda.get_device_name(device)}"


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def peak_memory_mib() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> dict[str, Any]:
    """Return the checkout's commit, if this code runs from its own checkout and not from a wheel."""
    if not (_ROOT / ".git").exists():
        return {"commit": None, "dirty": None, "diff": None}
    return {"commit": _git(_ROOT, "rev-parse", "HEAD"), **uncommitted(_ROOT)}


_OF_A_PART = ("commit", "dirty", "diff", "python", "versions", "device", "processor", "system")


def parts_before(earlier: Mapping[str, Any], present: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """Return what trained the steps of a run that is continued by other code, or on another machine.

    Parameters
    ----------
    earlier : mapping
        The run's record so far, empty for a new run.
    present : mapping
        ``software`` and ``machine`` of now.
    step : int
        The step from which it continues.

    Returns
    -------
    list of dict
        A part for each change, the first one first, with "until_step"; none where nothing changed.
    """
    parts = list(earlier.get("parts", []))
    own = {key: earlier.get(key) for key in _OF_A_PART}
    if step and earlier and own != {key: present.get(key) for key in _OF_A_PART}:
        parts.append(own | {"until_step": step})
    return parts


def commit_text(provenance: Mapping[str, Any]) -> str:
    """Return a record's commits, shortened, the first one first, and whether their trees had changes."""
    found = [_one_commit(part) for part in (*provenance.get("parts", ()), provenance)]
    return ", then ".join(text for i, text in enumerate(found) if i == 0 or text != found[i - 1])


def _one_commit(part: Mapping[str, Any]) -> str:
    commit = part.get("commit")
    return "unknown" if commit is None else f"{commit[:10]}{' with changes' if part.get('dirty') else ''}"


def uncommitted(checkout: Path) -> dict[str, Any]:
    """Return whether the code that trains differs from its commit, and how.

    Returns
    -------
    dict
        "dirty", a bool, or None if git does not say; and "diff", the differences and the names of files that
        git does not track, cut at ``LARGEST_DIFF`` characters, or None if there are none.
    """
    status = _git(checkout, "status", "--porcelain", "--", *_TRAINING)
    if not status:
        return {"dirty": None if status is None else False, "diff": None}
    untracked = "".join(f"{line}\n" for line in status.splitlines() if line.startswith("??"))
    diff = untracked + (_git(checkout, "diff", "HEAD", "--", *_TRAINING) or "")
    cut = len(diff) > LARGEST_DIFF
    return {"dirty": True, "diff": diff[:LARGEST_DIFF] + ("\n(cut)" if cut else "")}


def _git(checkout: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
