"""What the norms of a module see, against the ε under their root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from theory import InputError

_EPSILON = ("eps", "variance_epsilon", "epsilon")


@dataclass
class NormLoss:
    """How much of its output a norm loses to its ε.

    Attributes
    ----------
    name : str
    epsilon : float
    variance : float
        Mean over rows of what stands under the root beside ε; NaN if no input reached it.
    lost : float
        1 − mean √(v/(v + ε)): the share that the output is shorter by.
    """

    name: str
    epsilon: float
    variance: float = float("nan")
    lost: float = float("nan")


@dataclass
class _Seen:
    variances: list[Tensor] = field(default_factory=list)


def norm_losses(module: nn.Module, inputs: Any) -> list[NormLoss]:
    """Return a line a norm over the last axis; what they see is measured where there are inputs.

    Raises
    ------
    InputError
        If the module cannot be run on the inputs.
    """
    norms = {name: norm for name, norm in module.named_modules() if _epsilon_of(norm) is not None}
    found = {name: NormLoss(name, float(_epsilon_of(norm) or 0.0)) for name, norm in norms.items()}
    if inputs is None:
        return list(found.values())
    seen = {name: _Seen() for name in norms}
    handles = [norm.register_forward_pre_hook(_watcher(seen[name])) for name, norm in norms.items()]
    try:
        _run(module, inputs)
    finally:
        for handle in handles:
            handle.remove()
    for name, loss in found.items():
        if seen[name].variances:
            v = torch.cat(seen[name].variances)
            loss.variance = float(v.mean())
            loss.lost = 1 - float((v / (v + loss.epsilon)).sqrt().mean())
    return list(found.values())


def _epsilon_of(module: nn.Module) -> float | None:
    """Return the ε of a layer norm or RMS norm, None of anything else."""
    name = type(module).__name__
    if "LayerNorm" not in name and "RMSNorm" not in name:
        return None
    for attribute in _EPSILON:
        if isinstance(value := getattr(module, attribute, None), float):
            return value
    # torch's RMSNorm takes the machine's own where none is given.
    return float(torch.finfo(torch.get_default_dtype()).eps) if isinstance(module, nn.RMSNorm) else None


def _watcher(seen: _Seen) -> Any:
    def watch(norm: nn.Module, arguments: tuple[Any, ...]) -> None:
        x = arguments[0].detach().double()
        axes = tuple(range(-len(getattr(norm, "normalized_shape", (1,))), 0))
        squares = x.square().mean(axes)
        if "RMS" not in type(norm).__name__:
            squares = squares - x.mean(axes).square()
        seen.variances.append(squares.flatten().clamp(min=0).cpu())

    return watch


def _run(module: nn.Module, inputs: Any) -> None:
    """Run the module once, without changing anything that it holds."""
    with _evaluating(module), torch.no_grad():
        try:
            if isinstance(inputs, Mapping):
                module(**inputs)
            elif isinstance(inputs, tuple):
                module(*inputs)
            else:
                module(inputs)
        except Exception as error:
            # The module is the user's own and may raise anything.
            problem = f"the module cannot be run on it ({type(error).__name__}: {error})"
            remedy = "give what its forward takes: one argument, a tuple of them, or a dict by name"
            raise InputError("inputs", inputs, problem, remedy) from error


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Switch dropout and running statistics off, and back to what they were."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
