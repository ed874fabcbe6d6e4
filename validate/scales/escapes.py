"""What of a module does not have the rate that its matrices have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from sim.modules.roles import Role
from validate.scales.norms import NormLoss
from validate.scales.rates import MatrixRate, Reference, explanation, part_rates

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
    what: Literal["rate", "constant", "bias", "norm", "epsilon", "positions", "tied", "unknown", "frozen"]
    why: str

    def __str__(self) -> str:
        return f"{self.name} ({self.what}): {self.why}"


def escapes_of(
    module: nn.Module,
    roles: Sequence[Role],
    matrices: Sequence[MatrixRate],
    norms: Sequence[NormLoss],
    reference: Reference,
    norm_loss: float,
) -> list[Escape]:
    """Return all that escapes, matrices first."""
    return [
        *(escape for matrix in matrices for escape in _of_matrix(matrix, reference)),
        *(escape for role in roles for escape in _of_role(role)),
        *_of_buffers(module, matrices),
        *(_of_norm(norm) for norm in norms if norm.lost > norm_loss),
    ]


def _of_matrix(matrix: MatrixRate, reference: Reference) -> Iterator[Escape]:
    role = matrix.role
    if matrix.std == 0:
        yield Escape(role.name, "constant", "all its entries are equal")
        return
    parts = part_rates(matrix)
    if any(a.std_high < b.std_low for a in parts for b in parts):
        scales = ", ".join(f"{part.std:.3g}" for part in parts)
        yield Escape(role.name, "rate", f"its packed matrices have standard deviations {scales}")
        return
    if math.isnan(matrix.rate) or (matrix.low <= reference.high and reference.low <= matrix.high):
        return
    expected = matrix.fan_in**-reference.rate
    why = f"standard deviation {matrix.std:.3g}, where γ = {reference.rate:.3g} gives {expected:.3g}"
    if source := explanation(matrix, reference.rate):
        why += f"; it fits {source}"
    table = role.kind == "embedding" and _is_position(role.names)
    yield Escape(role.name, "positions" if table else "rate", why)


def _of_role(role: Role) -> Iterator[Escape]:
    """Return what is wrong with a tensor beside its rate."""
    entries = role.tensor.detach().double()
    if len(role.names) > 1:
        yield Escape(role.name, "tied", f"the same tensor as {', '.join(role.names[1:])}: one scale for all")
    if not role.tensor.requires_grad:
        yield Escape(role.name, "frozen", "it has no gradient and keeps its scale")
    if role.kind == "bias" and bool((entries != 0).any()):
        yield Escape(role.name, "bias", _bias_text(role, entries))
    if role.kind == "gain" and bool((entries != 1).any()):
        yield Escape(role.name, "norm", f"gains from {entries.min():.3g} to {entries.max():.3g}, not one")
    if role.kind == "norm bias" and bool((entries != 0).any()):
        yield Escape(role.name, "norm", f"biases up to {entries.abs().max():.3g}, not zero")
    if role.kind == "unknown":
        what: Literal["positions", "unknown"] = "positions" if _is_position(role.names) else "unknown"
        spread = float(entries.std(correction=0)) if entries.numel() else 0.0
        yield Escape(
            role.name, what, f"shape {role.shape}, fan-in not known, standard deviation {spread:.3g}"
        )


def _bias_text(role: Role, entries: torch.Tensor) -> str:
    largest = float(entries.abs().max())
    text = f"entries up to {largest:.3g}, not zero"
    # The largest of n uniform draws falls short of the bound by about one part in n.
    if role.fan_in and (1 - 5 / max(entries.numel(), 6)) * role.fan_in**-0.5 <= largest <= role.fan_in**-0.5:
        text += f"; it fits torch's default, uniform within ±1/√{role.fan_in} whatever γ is"
    return text


def _of_buffers(module: nn.Module, matrices: Sequence[MatrixRate]) -> Iterator[Escape]:
    """Return fixed tables as wide as an embedding: positions that no initialisation reaches."""
    tables = [m for m in matrices if m.role.kind == "embedding" and m.std > 0]
    for name, buffer in module.named_buffers():
        if not buffer.dtype.is_floating_point or buffer.ndim < 2 or not buffer.numel():
            continue
        near = [m for m in tables if m.fan_in == buffer.shape[-1]]
        finite = buffer.detach().double()
        # A mask of zeros and ones is not a table.
        if near and bool(torch.isfinite(finite).all()) and len(torch.unique(finite)) > 2:
            scale = float(finite.square().mean().sqrt())
            ratio = scale / max(m.std for m in near)
            why = f"a fixed table of root mean square {scale:.3g}, {ratio:.3g} times the embedding's"
            yield Escape(name, "positions", why)


def _of_norm(norm: NormLoss) -> Escape:
    why = (
        f"ε = {norm.epsilon:g} against a variance of {norm.variance:.3g}: its output is {norm.lost:.1%} short"
    )
    return Escape(norm.name, "epsilon", why)


def _is_position(names: Sequence[str]) -> bool:
    return any(mark in name.lower() for name in names for mark in _POSITIONS)
