"""Whether gradients come from torch's own kernels, or from ones compiled for the model before training.

``torch.compile`` joins what lies between the matrix products: a fifth of a Transformer's step. It needs a
C++ compiler and up to half a minute, a few seconds when the same model was compiled before (torch keeps its
work in a folder of its own). So it is for long runs, and its numbers are compared with torch's before any
step is taken.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from sim.config.model import ModelConfig
from sim.config.run import Kernels
from sim.fast.gradients import Found, Gradients, torch_gradients
from sim.models.layers import Parameters
from sim.training.trainer import Trainer
from theory import InputError

COMPILE_FROM = 20_000
"""Steps from which "auto" compiles: some 1.5 to 2 ms gained a step pay for half a minute."""


@dataclass(frozen=True)
class KernelReport:
    """Which kernels a run takes, and why.

    Attributes
    ----------
    used : str
        "torch" or "compiled".
    reason : str
        Why those.
    seconds : float or None
        What compiling took.
    difference : float or None
        Largest difference between compiled and torch's gradients, over the largest entry of each.
    """

    used: Literal["torch", "compiled"]
    reason: str
    seconds: float | None = None
    difference: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


def choose_kernels(trainer: Trainer, wanted: Kernels = "auto") -> KernelReport:
    """Compile a trainer's gradients if that is wanted, pays and gives the same numbers.

    Parameters
    ----------
    trainer : Trainer
        Takes up the compiled gradients; no state of its training changes.
    wanted : str, optional
        "torch" or "compiled"; "auto" compiles on a CPU for ``COMPILE_FROM`` steps or more, and otherwise,
        or where it fails, stays with torch's.

    Raises
    ------
    InputError
        If "compiled" is asked for and cannot be had.
    """
    steps = trainer.training.epochs * trainer.steps_per_epoch
    if wanted == "torch":
        return KernelReport("torch", "asked for")
    if trainer.device.type != "cpu":
        return KernelReport("torch", "compiled ones are for CPUs")
    if wanted == "auto" and steps < COMPILE_FROM:
        return KernelReport("torch", f"fewer than {COMPILE_FROM} steps")
    report = _compile(trainer)
    if wanted == "compiled" and report.used != "compiled":
        raise InputError("kernels", wanted, report.reason, 'install a C++ compiler, or ask for "torch"')
    return report


def check_kernels(kernels: Kernels, device: str) -> None:
    """Refuse, before any work, to compile where that cannot be done."""
    if kernels == "compiled":
        if device != "cpu":
            raise InputError("kernels", kernels, f"not for the device {device}", 'ask for "auto"')
        try:
            _quietly(torch.compile(torch.neg, fullgraph=True, options=_OPTIONS.copy()), torch.ones(2))
        except Exception as error:
            raise InputError(
                "kernels", kernels, _failure(error), 'install a C++ compiler, or ask for "torch"'
            ) from None


_OPTIONS: dict[str, Any] = {
    "compile_threads": 1,  # No pool of compiling processes: training already has one process per core.
    "cpp_wrapper": True,  # Kernels are called from C++,
    "realize_reads_threshold": 0,  # and compute nothing twice that two of them read: 1.5 % of a step each.
}
if hasattr(torch.compiler, "keep_tensor_guards_unsafe"):
    # At every call torch asks whether anything that it compiled for has changed, which takes 2 % of a step.
    # Tensors may; the model, and the functions of this package, do not.
    _OPTIONS["guard_filter_fn"] = torch.compiler.keep_tensor_guards_unsafe
# To be copied for every call: torch takes out of it what it reads.


def compiled_gradients(model: ModelConfig, names: Sequence[str], trained: Sequence[str]) -> Gradients:
    """Return the same, to be compiled at its first call for the sizes that it gets."""
    plain = torch_gradients(model, trained)

    def flat(tokens: Tensor, labels: Tensor, *tensors: Tensor) -> Found:
        return plain(dict(zip(names, tensors, strict=True)), tokens, labels)

    # torch keeps what it compiles with a function's code, which all functions made here would share.
    flat.__code__ = flat.__code__.replace()
    compiled = torch.compile(flat, fullgraph=True, dynamic=False, options=_OPTIONS.copy())
    return lambda parameters, tokens, labels: compiled(tokens, labels, *parameters.values())


def _compile(trainer: Trainer) -> KernelReport:
    batch = trainer.batches.at(0)
    start = time.perf_counter()
    try:
        compiled = compiled_gradients(trainer.model, list(trainer.parameters), trainer.trained)
        found = _quietly(compiled, trainer.parameters, *batch)[1]
    except Exception as error:  # However it fails, torch's kernels are there.
        return KernelReport("torch", _failure(error))
    seconds = time.perf_counter() - start
    expected = torch_gradients(trainer.model, trainer.trained)(trainer.parameters, *batch)[1]
    difference = _largest_difference(found, expected)
    # Each entry is a sum over the batch's rows, and each term may be rounded once.
    limit = batch[0][0].numel() * torch.finfo(getattr(torch, trainer.training.dtype)).eps
    if not difference <= limit:
        reason = f"compiled ones differ by {difference:.1e} of the largest entry"
        return KernelReport("torch", reason, seconds, difference)
    trainer.compiled = compiled
    return KernelReport("compiled", "same numbers, up to rounding", seconds, difference)


def _quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call without torch's remarks on its own compiler."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


def _failure(error: Exception) -> str:
    return f"cannot be compiled here ({type(error).__name__}: {str(error).strip().splitlines()[0]})"


def _largest_difference(found: Parameters, expected: Parameters) -> float:
    """Return the largest difference of an entry over its tensor's largest.

    Without the keys' biases: they have no gradient, and what is computed for it is rounding alone.
    """
    largest = 0.0
    for name, gradient in expected.items():
        if not name.endswith("b_K") and bool((gradient != 0).any()):
            difference = (found[name] - gradient).abs().max() / gradient.abs().max()
            largest = max(largest, float(difference)) if difference.isfinite() else float("inf")
    return largest
