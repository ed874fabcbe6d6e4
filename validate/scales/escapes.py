"""What escapes the rate: matrices of another scale, everything that no rate reaches, and the ε of norms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from sim.modules.roles import Role
from theory import InputError
from validate.scales.rates import MatrixRate, explanation, matrix_rate

What = Literal["rate", "constant", "bias", "norm", "epsilon", "positions", "tied", "unknown", "frozen"]
_POSITIONS = ("pos", "wpe")
"""What a table of positions is called; numbers alone do not tell it from other embeddings."""


@dataclass(frozen=True)
class Escape:
    """One thing that escapes the rate.

    Attributes
    ----------
    name : str
        Of the tensor, or of the norm.
    what : str
        "rate", "constant", "bias", "norm", "epsilon", "positions", "tied", "unknown" or "frozen".
    why : str
        What was found, and where it may come from.
    """

    name: str
    what: What
    why: str

    def __str__(self) -> str:
        return f"{self.name} ({self.what}): {self.why}"


def matrix_escapes(
    matrix: MatrixRate, reference: tuple[float, float, float], alpha: float
) -> Iterator[Escape]:
    """Yield how a matrix, or one packed into it, escapes a rate with its interval, if it does."""
    role, (rate, low, high) = matrix.role, reference
    packed = role.packed()
    parts = [matrix_rate(role, alpha / len(packed), part) for part in packed]
    if matrix.std == 0:
        yield Escape(role.name, "constant", "all its entries are equal")
    elif any(a.std_high < b.std_low for a in parts for b in parts):
        scales = ", ".join(f"{part.std:.3g}" for part in parts)
        yield Escape(role.name, "rate", f"its packed matrices have standard deviations {scales}")
    elif matrix.low > high or low > matrix.high:
        why = f"standard deviation {matrix.std:.3g}, where γ = {rate:.3g} gives {matrix.fan_in**-rate:.3g}"
        source = explanation(matrix, rate)
        table = role.kind == "embedding" and _is_position(role)
        yield Escape(role.name, "positions" if table else "rate", why + f"; it fits {source}" * bool(source))


def role_escapes(role: Role) -> Iterator[Escape]:
    """Yield what is wrong with a tensor beside its rate."""
    entries, name = role.tensor.detach().double(), role.name
    if len(role.names) > 1:
        yield Escape(name, "tied", f"the same tensor as {', '.join(role.names[1:])}: one scale for all")
    if not role.tensor.requires_grad:
        yield Escape(name, "frozen", "it has no gradient and keeps its scale")
    if role.kind == "bias" and bool((entries != 0).any()):
        largest = float(entries.abs().max())
        text = f"entries up to {largest:.3g}, not zero"
        # The largest of n uniform draws falls short of the bound by about one part in n.
        bound = role.fan_in**-0.5 if role.fan_in else 0.0
        if (1 - 5 / max(entries.numel(), 6)) * bound <= largest <= bound:
            text += f"; it fits torch's default, uniform within ±1/√{role.fan_in} whatever γ is"
        yield Escape(name, "bias", text)
    if role.kind == "gain" and bool((entries != 1).any()):
        yield Escape(name, "norm", f"gains from {entries.min():.3g} to {entries.max():.3g}, not one")
    if role.kind == "norm bias" and bool((entries != 0).any()):
        yield Escape(name, "norm", f"biases up to {entries.abs().max():.3g}, not zero")
    if role.kind == "unknown":
        spread = float(entries.std(correction=0)) if entries.numel() else 0.0
        why = f"shape {role.shape}, fan-in not known, standard deviation {spread:.3g}"
        yield Escape(name, "positions" if _is_position(role) else "unknown", why)


def buffer_escapes(module: nn.Module, matrices: Sequence[MatrixRate]) -> Iterator[Escape]:
    """Yield fixed tables as wide as an embedding: positions that no initialisation reaches."""
    tables = [m for m in matrices if m.role.kind == "embedding" and m.std > 0]
    for name, buffer in module.named_buffers():
        near = [m.std for m in tables if buffer.ndim > 1 and m.fan_in == buffer.shape[-1]]
        entries = buffer.detach().double() if near and buffer.dtype.is_floating_point else torch.zeros(0)
        # A mask of zeros and ones is not a table.
        if len(entries) and bool(torch.isfinite(entries).all()) and len(torch.unique(entries)) > 2:
            scale = float(entries.square().mean().sqrt())
            times = f"{scale / max(near):.3g} times the embedding's"
            yield Escape(name, "positions", f"a fixed table of root mean square {scale:.3g}, {times}")


def _is_position(role: Role) -> bool:
    return any(mark in name.lower() for name in role.names for mark in _POSITIONS)


class NormLoss(NamedTuple):
    """How much of its output a norm loses to its ε.

    ``variance`` is the mean over rows of what stands under the root beside ε, ``lost`` the share that the
    output is shorter by, 1 − mean √(v/(v + ε)). Both are NaN if no input reached the norm.
    """

    name: str
    epsilon: float
    variance: float
    lost: float


def norm_losses(module: nn.Module, inputs: Any) -> list[NormLoss]:
    """Return a line for each layer or RMS norm; inputs, if any, are run to see the variances."""
    seen: dict[str, list[Tensor]] = {}

    def watch(name: str) -> Any:
        def hook(norm: nn.Module, arguments: tuple[Any, ...]) -> None:
            x = arguments[0].detach().double()
            axes = tuple(range(-len(getattr(norm, "normalized_shape", (1,))), 0))
            centre = 0.0 if "RMS" in type(norm).__name__ else x.mean(axes).square()
            seen.setdefault(name, []).append((x.square().mean(axes) - centre).flatten().clamp(min=0).cpu())

        return hook

    found = ((name, part, _epsilon_of(part)) for name, part in module.named_modules())
    norms = {name: (part, epsilon) for name, part, epsilon in found if epsilon is not None}
    if inputs is not None:
        with ExitStack() as stack:
            for name, (norm, _) in norms.items():
                stack.callback(norm.register_forward_pre_hook(watch(name)).remove)
            _run(module, inputs)
    losses = []
    for name, (_, epsilon) in norms.items():
        v = torch.cat(seen.get(name, [torch.full((1,), math.nan)]))
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
            if isinstance(inputs, Mapping):
                module(**inputs)
            else:
                module(*inputs if isinstance(inputs, tuple) else (inputs,))
    except Exception as error:
        # The module is the user's own and may raise anything.
        problem = f"the module cannot be run on it ({type(error).__name__}: {error})"
        remedy = "give what its forward takes: one argument, a tuple of them, or a dict by name"
        raise InputError("inputs", inputs, problem, remedy) from error
    finally:
        for part, training in modes:
            part.training = training
