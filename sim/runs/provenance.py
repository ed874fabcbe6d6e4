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
_LARGEST_DIFF = 64 * 1024
"""Characters of uncommitted changes that a run's record keeps; the rest is cut off."""


@cache
def software() -> dict[str, Any]:
    """Return commit, uncommitted changes and versions, as they were when first asked for in this process.

    "dirty" says whether the code that trains, ``theory`` and ``sim``, differs from its commit, and "diff"
    how; outside a checkout, and where git does not answer, they are None.
    """
    tree = dict.fromkeys(("commit", "dirty", "diff"))
    if (_ROOT / ".git").exists():
        status = _git("status", "--porcelain", "--", "theory", "sim")
        diff = _git("diff", "HEAD", "--", "theory", "sim") if status else None
        commit, dirty = _git("rev-parse", "HEAD"), None if status is None else bool(status)
        tree = {"commit": commit, "dirty": dirty, "diff": diff and diff[:_LARGEST_DIFF]}
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # A checkout that was not installed.
            versions[package] = "not installed"
    # It names its build, such as +cu130; the package's metadata do not.
    if torch := sys.modules.get("torch"):
        versions["torch"] = torch.__version__
    return {**tree, "python": platform.python_version(), "versions": versions}


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(_ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return the device that computes, the processor and the operating system."""
    if device.startswith("cuda"):
        import torch

        device = f"{device}: {torch.cuda.get_device_name(device)}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return {"device": device, "processor": processor, "system": platform.platform()}


def model_file(section: object) -> str | None:
    """Return the file that registered a user's own model, which a reader has to import; else None."""
    module = type(section).__module__
    return None if module.startswith("sim.") else getattr(sys.modules.get(module), "__file__", None)


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def peak_memory_mib() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def parts_before(earlier: Mapping[str, Any], present: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """Return which code and machines trained a run before ``step``: a part for each change, oldest first.

    ``earlier`` is the run's record so far, empty for a new run; ``present`` is ``software`` and ``machine``.
    Training after ``step`` that was lost with a damaged checkpoint no longer counts.
    """
    parts, last = list[dict[str, Any]](), {key: earlier.get(key) for key in present} | {"until_step": step}
    for part in [*earlier.get("parts", ()), last] if earlier else ():
        until = min(part["until_step"], step)
        if until > (parts[-1]["until_step"] if parts else 0):
            parts.append(part | {"until_step": until})
    return parts[:-1] if parts and parts[-1].items() >= present.items() else parts


def share_of_seconds(provenance: Mapping[str, Any]) -> float:
    """Return a run's share of the recorded training time, which covers all runs trained together."""
    return float(provenance["wall_seconds"]) / max(1, len(provenance.get("trained_with", ())))


def commit_text(provenance: Mapping[str, Any]) -> str:
    """Return a record's commits, shortened, oldest first, and whether their trees had changes."""
    texts: list[str] = []
    for part in (*provenance.get("parts", ()), provenance):
        commit, changed = part.get("commit"), " with changes" * bool(part.get("dirty"))
        text = "unknown" if commit is None else f"{commit[:10]}{changed}"
        texts += [text] if texts[-1:] != [text] else []
    return ", then ".join(texts)
