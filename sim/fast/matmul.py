"""How this machine computes a step: float32 matrix products, subnormal numbers, freed memory.

Products are measured: on some processors the one that torch calls "bf16" computes in full float32 with better
kernels, on others it rounds to bfloat16. It is taken only where its measured error is that of float32.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import timeit
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any

import torch

from sim.runs.records import Route, RouteReport

ERROR_LIMIT = 8 * 2.0**-23
"""Largest componentwise error |fl(ab) − ab| / |a||b| that passes for float32: eight of its rounding units.

Rounding the factors to bfloat16 would give 2^-9 per entry, about 1e-4 after averaging over a row."""
_SETTINGS: Any = getattr(torch.backends.mkldnn, "matmul", None)
_MARGIN = 1.1
"""The other route is chosen only if it is faster by this factor."""


def matmul_route(route: Route) -> AbstractContextManager[None]:
    """Use a route inside the block; restore the caller's setting afterwards."""
    return nullcontext() if route == "default" else _precision("bf16")


@contextmanager
def _precision(name: str) -> Iterator[None]:
    before = _SETTINGS.fp32_precision
    _SETTINGS.fp32_precision = name
    try:
        yield
    finally:
        _SETTINGS.fp32_precision = before


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
    if torch.compiler.is_compiling() or _SETTINGS is None or _SETTINGS.fp32_precision != "bf16":
        return nullcontext()
    return _precision("ieee")


@cache
def choose_route(batch: int, widths: tuple[int, ...], threads: int) -> RouteReport:
    """Measure speed and error of both routes at the sizes of a training step, and choose one.

    ``batch`` is the number of rows, ``widths`` are a model's consecutive widths, such as (d_m, d_f, d). All
    runs of a process with these sizes and as many threads take one route.
    """
    routes: list[Route] = ["default"]
    backend: Any = torch.backends.mkldnn
    if _SETTINGS is not None and backend.is_available():
        routes.append("bf16-named")
    gflops, error = dict[str, float](), dict[str, float]()
    for route in routes:
        with matmul_route(route):
            gflops[route], error[route] = _measure(batch, widths)
    other = routes[-1]
    pays = error[other] <= ERROR_LIMIT and gflops[other] > _MARGIN * gflops["default"]
    return RouteReport(route=other if pays else "default", gflops=gflops, error=error)


def _measure(batch: int, widths: tuple[int, ...]) -> tuple[float, float]:
    """Return GFLOP/s and the largest error over a step's forward and backward products."""
    generator = torch.Generator().manual_seed(0)
    operations, seconds, worst = 0.0, 0.0, 0.0
    for inner, outer in itertools.pairwise(widths):
        x = torch.randn(batch, inner, generator=generator)
        w = torch.randn(inner, outer, generator=generator)
        y = torch.randn(batch, outer, generator=generator)
        for a, b in ((x, w), (x.mT, y), (y, w.mT)):
            exact = a.double() @ b.double()
            scale = a.double().abs() @ b.double().abs()
            worst = max(worst, float((((a @ b).double() - exact).abs() / scale).max()))
            # The shortest time: noise only ever adds to it.
            seconds += min(timeit.repeat(partial(operator.matmul, a, b), number=1, repeat=30))
            operations += 2.0 * batch * inner * outer
    return operations / seconds / 1e9, worst
