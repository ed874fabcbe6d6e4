"""How this machine computes a step: float32 matrix products, subnormal numbers, freed memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

SETTINGS: Any = getattr(torch.backends.mkldnn, "matmul", None)
"""torch's choice among products; None where it has one alone."""


def matmul_route(route: str) -> AbstractContextManager[None]:
    """Use a route inside the block; restore the caller's setting afterwards."""
    return nullcontext() if route == "default" else _precision("bf16")


@contextmanager
def _precision(name: str) -> Iterator[None]:
    before = SETTINGS.fp32_precision
    SETTINGS.fp32_precision = name
    try:
        yield
    finally:
        SETTINGS.fp32_precision = before


@contextmanager
def subnormals_flushed() -> Iterator[None]:
    """Treat subnormal numbers as zero inside the block; restore the thread's setting afterwards.

    A dead ReLU unit has zero gradients, so its moments decay below 1e-38. A processor is a hundred times
    slower with such numbers; weights are the same without them.
    """
    before = bool(torch.tensor([1e-40]) * 1 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for this process; return whether glibc agreed.

    A step frees and allocates the same few megabytes again and again. glibc returns such blocks to the
    system and gets zeroed ones back page by page: a quarter of a step's time at the paper's sizes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # Another C library.
        return False
    # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD; 32 MiB is the most that glibc accepts.
    return [mallopt(-3, 32 * 2**20), mallopt(-1, 2**31 - 1), mallopt(-2, 32 * 2**20)] == [1, 1, 1]


def small_products() -> AbstractContextManager[None]:
    """Use the default route inside the block: it is faster for attention's products of a few positions."""
    if torch.compiler.is_compiling() or SETTINGS is None or SETTINGS.fp32_precision != "bf16":
        return nullcontext()
    return _precision("ieee")
