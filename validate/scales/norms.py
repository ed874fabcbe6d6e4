"""What the norms of a module see, against the ε under their root."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from theory import InputError


@dataclass(frozen=True)
class NormLoss:
    """How much of its output a norm loses to its ε.

    ``variance`` is the mean over rows of what stands under the root beside ε, ``lost`` the share that the
    output is shorter by, 1 − mean √(v/(v + ε)). Both are NaN if no input reached the norm.
    """

    name: str
    epsilon: float
    variance: float
    lost: float


def norm_losses(module: nn.Module, inputs: Any) -> list[NormLoss]:
    """Return a line for each layer or RMS norm; inputs, if any, are run to measure the variance that it sees.

    Raises
    ------
    InputError
        If the module cannot be run on the inputs.
    """
    found = {name: (part, _epsilon_of(part)) for name, part in module.named_modules()}
    norms = {name: (part, epsilon) for name, (part, epsilon) in found.items() if epsilon is not None}
    seen: dict[str, list[Tensor]] = {name: [] for name in norms}

    def watch(name: str) -> Any:
        def hook(norm: nn.Module, arguments: tuple[Any, ...]) -> None:
            x = arguments[0].detach().double()
            axes = tuple(range(-len(getattr(norm, "normalized_shape", (1,))), 0))
            centre = 0.0 if "RMS" in type(norm).__name__ else x.mean(axes).square()
            seen[name].append((x.square().mean(axes) - centre).flatten().clamp(min=0).cpu())

        return hook

    if inputs is not None:
        with ExitStack() as stack:
            for name, (norm, _) in norms.items():
                stack.callback(norm.register_forward_pre_hook(watch(name)).remove)
            _run(module, inputs)
    losses = []
    for name, (_, epsilon) in norms.items():
        v = torch.cat(seen[name]) if seen[name] else torch.full((1,), math.nan)
        losses.append(NormLoss(name, epsilon, float(v.mean()), 1 - float((v / (v + epsilon)).sqrt().mean())))
    return losses


def _epsilon_of(module: nn.Module) -> float | None:
    """Return the ε of a layer norm or RMS norm, None of anything else."""
    name = type(module).__name__
    if "LayerNorm" not in name and "RMSNorm" not in name:
        return None
    given = (getattr(module, attribute, None) for attribute in ("eps", "variance_epsilon", "epsilon"))
    # torch's RMSNorm takes the machine's own where none is given.
    own = float(torch.finfo(torch.get_default_dtype()).eps) if isinstance(module, nn.RMSNorm) else None
    return next((value for value in given if isinstance(value, float)), own)


def _run(module: nn.Module, inputs: Any) -> None:
    """Run the module once without changing what it holds: no dropout, no running statistics."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            keywords = inputs if isinstance(inputs, Mapping) else {}
            positional = () if inputs is keywords else inputs if isinstance(inputs, tuple) else (inputs,)
            module(*positional, **keywords)
    except Exception as error:
        # The module is the user's own and may raise anything.
        problem = f"the module cannot be run on it ({type(error).__name__}: {error})"
        remedy = "give what its forward takes: one argument, a tuple of them, or a dict by name"
        raise InputError("inputs", inputs, problem, remedy) from error
    finally:
        for part, training in modes:
            part.training = training
