"""The matrix product and the kernels of a run's steps: torch's own kernels or compiled ones.

Products are measured: on some processors the one that torch calls "bf16" computes in full float32 with better
kernels, on others it rounds to bfloat16. It is taken only where its measured error is that of float32.

``torch.compile`` fuses the operations between the matrix products: a fifth of a Transformer's step. It needs
a C++ compiler and up to half a minute, or a few seconds if the same model was compiled before (torch keeps
its work in a folder of its own). So it is for long runs, and its numbers are compared with torch's before any
step is taken. A continued run keeps its kernels, or its numbers would depend on the interruption.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
import timeit
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from sim.config.model import ModelConfig
from sim.config.run import Kernels, MemberConfig
from sim.fast.matmul import SETTINGS, matmul_route
from sim.models.base import model_of
from sim.models.layers import Parameters
from sim.runs.files import finite
from sim.runs.records import KernelReport, Route, RouteReport
from sim.training.optimizer import Found, Gradients, torch_gradients
from sim.training.trainer import Trainer
from theory import InputError

_REMEDY = 'install a C++ compiler, or ask for "torch"'
COMPILE_FROM = 20_000
"""Steps from which "auto" compiles: 1.5 to 2 ms saved per step pay for half a minute."""
ERROR_LIMIT = 8 * 2.0**-23
"""Largest componentwise error |fl(ab) − ab| / |a||b| that passes for float32: eight of its rounding units.

Rounding the factors to bfloat16 would give 2^-9 per entry, about 1e-4 after averaging over a row."""
_MARGIN = 1.1
"""The other route is chosen only if it is faster by this factor."""


def member_route(member: MemberConfig, device: str = "cpu") -> RouteReport:
    """Measure and choose the matrix product for a member's steps; float64 and GPUs have only one."""
    if member.training.dtype == "float64" or device != "cpu":
        return RouteReport(route="default", gflops={}, error={})
    batch = member.training.batch_size
    model, task = model_of(member.model), member.task
    # More rows take more time and memory to measure, and tell no more.
    rows = 1000 if batch == "full" else min(int(batch) * model.rows(task.length), 1000)
    return choose_route(rows, model.widths(task.vocab_size), torch.get_num_threads())


@cache
def choose_route(batch: int, widths: tuple[int, ...], threads: int) -> RouteReport:
    """Measure speed and error of both routes at the sizes of a training step, and choose one.

    ``batch`` is the number of rows, ``widths`` are a model's consecutive widths, such as (d_m, d_f, d). All
    runs of a process with these sizes and as many threads take one route.
    """
    routes: list[Route] = ["default"]
    backend: Any = torch.backends.mkldnn
    if SETTINGS is not None and backend.is_available():
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


def route_for(member: MemberConfig, recorded: dict[str, Any], device: str) -> RouteReport:
    """Return the matrix product that a run's provenance names, if it is as exact here; else choose one.

    The product called bf16 may keep float32's digits on one machine but not on another, and a run can move.
    """
    earlier = RouteReport(**recorded["matmul"]) if recorded.get("matmul") else None
    if earlier and earlier.route == "default":
        return earlier
    here = member_route(member, device)
    return earlier if earlier and here.error.get(earlier.route, math.inf) <= ERROR_LIMIT else here


def choose_kernels(
    trainer: Trainer, wanted: Kernels = "auto", recorded: dict[str, Any] | None = None
) -> KernelReport:
    """Compile a trainer's gradients if that is wanted, pays off and gives the same numbers.

    "auto" compiles for ``COMPILE_FROM`` steps or more, or if the run with the provenance ``recorded`` did,
    and keeps torch's kernels where compiling fails; "compiled" is refused there.
    """
    kept = wanted
    if wanted == "auto" and recorded:
        # Runs of the first version, whose provenance has no such entry, used torch's.
        kept = recorded["kernels"]["used"] if recorded.get("kernels") else "torch"
    if kept == "torch":
        return KernelReport(used="torch", reason="asked for" if wanted == "torch" else "as before")
    if kept == "auto" and trainer.training.epochs * trainer.steps_per_epoch < COMPILE_FROM:
        return KernelReport(used="torch", reason=f"fewer than {COMPILE_FROM} steps")
    if trainer.device.type != "cpu" and trainer.model.reads_text:
        reason = "on a GPU, compiled ones are for sequences of one length"
        report = KernelReport(used="torch", reason=reason)
    else:
        report = _compile(trainer)
    if wanted == "compiled" and report.used != "compiled":
        raise InputError("kernels", wanted, report.reason, _REMEDY)
    return report


def check_kernels(kernels: Kernels, device: str) -> None:
    """Before any work, refuse "compiled" where nothing can be compiled."""
    if kernels != "compiled":
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            options = _options(torch.device(device))
            torch.compile(torch.neg, fullgraph=True, options=options)(torch.ones(2, device=device))
    except Exception as error:
        raise InputError("kernels", kernels, _failure(error), _REMEDY) from None


def _options(device: torch.device) -> dict[str, Any]:
    """Return the compiler's options, a new dict at each call: torch removes the entries that it reads."""
    options = dict[str, Any]()
    if device.type == "cpu":
        options["compile_threads"] = 1  # Training already has one process per core.
        # Kernels are called from C++, and values that two of them read are computed once: 1.5 % each.
        options |= {"cpp_wrapper": True, "realize_reads_threshold": 0}
    if hasattr(torch.compiler, "keep_tensor_guards_unsafe"):
        # At every call torch checks whether anything it compiled for has changed: 2 % of a step.
        # Tensors may change; the model and the functions of this package do not.
        options["guard_filter_fn"] = torch.compiler.keep_tensor_guards_unsafe
    return options


def compiled_gradients(
    model: ModelConfig, names: Sequence[str], trained: Sequence[str], device: torch.device
) -> Gradients:
    """Return ``torch_gradients``, to be compiled at its first call for the sizes it is given."""
    plain = torch_gradients(model, trained)

    def flat(tokens: Tensor, labels: Tensor, *tensors: Tensor) -> Found:
        return plain(dict(zip(names, tensors, strict=True)), tokens, labels)

    compiled = _compiled(flat, device)
    return lambda parameters, tokens, labels: compiled(tokens, labels, *parameters.values())


def _compiled(function: Any, device: torch.device) -> Callable[..., Any]:
    # torch caches compiled work by a function's code object, which all functions made here would share.
    function.__code__ = function.__code__.replace()
    return torch.compile(function, fullgraph=True, dynamic=False, options=_options(device))


def _compile(trainer: Trainer) -> KernelReport:
    batch = trainer.batches.at(0)
    start, loop, update = time.perf_counter(), trainer.loop, None
    names = list(trainer.parameters)
    try:
        with warnings.catch_warnings(action="ignore"):
            compiled = compiled_gradients(trainer.model, names, trainer.trained, trainer.device)
            _, gradients, norms = compiled(trainer.parameters, *batch)
            if loop is not None:
                update = _compiled(lambda *given: trainer.optimizer.update_together(*given), trainer.device)
                # Called as if all members had failed, it moves nothing.
                update(gradients, norms, loop.rates[0], loop.step, torch.zeros_like(norms))
    except Exception as error:  # Whatever the failure, torch's kernels remain.
        return KernelReport(used="torch", reason=_failure(error))
    seconds = time.perf_counter() - start
    expected = torch_gradients(trainer.model, trainer.trained)(trainer.parameters, *batch)[1]
    difference = _largest_difference(gradients, expected)
    # Each entry is a sum over the batch's rows, and each term may be rounded once.
    limit = batch[0][0].numel() * torch.finfo(getattr(torch, trainer.training.dtype)).eps
    measured: Any = {"seconds": seconds, "difference": finite(difference)}
    if not difference <= limit:
        reason = f"compiled ones differ by {difference:.1e} of the largest entry"
        return KernelReport(used="torch", reason=reason, **measured)
    trainer.compiled = compiled
    if loop is not None:
        loop.compiled_update = update
    return KernelReport(used="compiled", reason="same numbers, up to rounding", **measured)


def _failure(error: Exception) -> str:
    """Say in one line what is wrong: torch wraps the cause, and quotes the compiler after its command."""
    while inner := getattr(error, "inner_exception", None):
        error = inner
    first, *others = str(error).strip().splitlines() or ["no reason given"]
    cause = next((line.strip() for line in others if "error:" in line), first)
    return f"cannot be compiled here ({type(error).__name__}: {cause})"


def _largest_difference(compiled: Parameters, expected: Parameters) -> float:
    # The gradient of the keys' biases is zero, so that the computed one is only rounding.
    names = [name for name, g in expected.items() if not name.endswith("b_K") and bool((g != 0).any())]
    relative = [(compiled[n] - expected[n]).abs().max() / expected[n].abs().max() for n in names]
    return max((float(r) if r.isfinite() else math.inf for r in relative), default=0.0)
