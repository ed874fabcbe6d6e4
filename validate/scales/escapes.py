"""What escapes the rate: matrices of another scale, and everything that no rate reaches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from sim.modules.roles import Role
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


def matrix_escape(matrix: MatrixRate, reference: tuple[float, float, float]) -> Escape | None:
    """Return how a matrix escapes a rate with its interval, if it does."""
    role = matrix.role
    rate, low, high = reference
    if matrix.std == 0:
        return Escape(role.name, "constant", "all its entries are equal")
    packed = role.packed()
    parts = [matrix_rate(role, matrix.alpha / len(packed), part) for part in packed]
    if any(a.std_high < b.std_low for a in parts for b in parts):
        scales = ", ".join(f"{part.std:.3g}" for part in parts)
        return Escape(role.name, "rate", f"its packed matrices have standard deviations {scales}")
    if math.isnan(matrix.rate) or (matrix.low <= high and low <= matrix.high):
        return None
    source = explanation(matrix, rate)
    fits = f"; it fits {source}" if source else ""
    expected = f"γ = {rate:.3g} gives {matrix.fan_in**-rate:.3g}"
    table = role.kind == "embedding" and _is_position(role)
    why = f"standard deviation {matrix.std:.3g}, where {expected}{fits}"
    return Escape(role.name, "positions" if table else "rate", why)


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
        if not buffer.dtype.is_floating_point or buffer.ndim < 2 or not buffer.numel():
            continue
        near = [m.std for m in tables if m.fan_in == buffer.shape[-1]]
        entries = buffer.detach().double()
        # A mask of zeros and ones is not a table.
        if near and bool(torch.isfinite(entries).all()) and len(torch.unique(entries)) > 2:
            scale = float(entries.square().mean().sqrt())
            times = f"{scale / max(near):.3g} times the embedding's"
            yield Escape(name, "positions", f"a fixed table of root mean square {scale:.3g}, {times}")


def _is_position(role: Role) -> bool:
    return any(mark in name.lower() for name in role.names for mark in _POSITIONS)
