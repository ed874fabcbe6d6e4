"""What members in training start with: their folders, the matrix product and the kernels.

A run that continues keeps what it had, or its numbers would depend on the interruption.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from sim.config.run import Kernels, MemberConfig
from sim.fast.matmul import ERROR_LIMIT, RouteReport, choose_route
from sim.models.base import model_of
from sim.runs.beginning import check_free, create_folder, is_begun, reopen_folder
from sim.runs.folder import RunFolder
from sim.training.execution import Execution

_LOG = logging.getLogger("anchorflow")


def open_folders(
    members: Sequence[MemberConfig], paths: Sequence[Path], execution: Execution
) -> list[RunFolder]:
    """Return the members' folders, new or as they were left; refuse all before any is changed."""
    existing = [execution.resume and is_begun(path) for path in paths]
    for path, exists in zip(paths, existing, strict=True):
        if not exists:
            check_free(path, overwrite=execution.overwrite)
    return [
        reopen_folder(path, member) if exists else create_folder(path, member, overwrite=execution.overwrite)
        for path, member, exists in zip(paths, members, existing, strict=True)
    ]


def earlier_route(earlier: dict[str, Any], member: MemberConfig) -> RouteReport | None:
    """Return the matrix product that a run's provenance names, if it does and it is as exact here.

    What is called bf16 may keep float32's digits on one machine and not on another, to which a run can move.
    """
    if not earlier.get("matmul"):
        return None
    found = RouteReport(**earlier["matmul"])
    if found.route == "default":
        return found
    error = choose_member_route(member).error.get(found.route, math.inf)
    if error <= ERROR_LIMIT:
        return found
    _LOG.warning(
        "anchorflow: the matrix product %r, which %s was begun with, has an error of %.1e here; torch's own "
        "is taken from now on.",
        found.route,
        member.name,
        error,
    )
    return None


def earlier_kernels(earlier: dict[str, Any]) -> Kernels:
    """Return the kernels that a run's provenance names; those of the first version were torch's."""
    if not earlier:
        return "auto"
    used: Kernels = earlier["kernels"]["used"] if earlier.get("kernels") else "torch"
    return used


def choose_member_route(member: MemberConfig, device: str = "cpu") -> RouteReport:
    """Measure and choose the matrix product for a member's steps; float64 and GPUs have only one."""
    if member.training.dtype == "float64" or device != "cpu":
        return RouteReport("default", {}, {})
    batch = member.training.batch_size
    rows = 1000 if batch == "full" else int(batch)
    model, task = model_of(member.model), member.task
    widths = model.widths(task.vocab_size)
    return _route_of_sizes(rows * model.rows(task.length), widths, torch.get_num_threads())


@cache
def _route_of_sizes(rows: int, widths: tuple[int, ...], threads: int) -> RouteReport:
    """Measure once for all runs of one size in a process, which then take the same route, too."""
    return choose_route(rows, widths)
