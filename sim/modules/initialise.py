"""Small initial weights for any torch module, and a report of each of its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import nn

from sim.modules.library import pattern_of, started_away_from_zero, unpadded
from sim.modules.roles import Kind, Role, check_numbers, matching, roles_of
from sim.seeds import torch_stream
from theory import InputError
from theory.edge.checked import Rate, checked
from theory.edge.checks import Between
from theory.edge.display import Shown

Convention = Literal["paper", "vocab", "sibling"]


@dataclass(frozen=True)
class TensorInit:
    """How a tensor was initialised."""

    names: tuple[str, ...]
    """Several if it is tied."""
    kind: Kind
    """As in ``Role``."""
    shape: tuple[int, ...]
    fan_in: int | None
    """d_in in the standard deviation d_in^-γ."""
    how: str
    """drawn, uniform, constant or kept."""
    std: float | None
    """The standard deviation that it was drawn with; None if it was kept."""
    measured: float
    """The standard deviation of its entries now."""


@dataclass(frozen=True, repr=False)
class InitReport(Shown):
    """The report of ``initialise_``, tensor by tensor; print it."""

    rate: float
    convention: Convention
    seed: int
    tensors: tuple[TensorInit, ...]

    HEADER = ("tensor", "kind", "shape", "fan-in", "how", "std", "measured")

    @property
    def kept(self) -> list[str]:
        """Names of the tensors that were not changed."""
        return [tensor.names[0] for tensor in self.tensors if tensor.how == "kept"]

    def rows(self) -> list[list[str]]:
        """Return one line per tensor, as text."""
        rows = []
        for t in self.tensors:
            std, measured = ("-" if x is None else f"{x:.4g}" for x in (t.std, t.measured))
            shape, fan_in = " x ".join(map(str, t.shape)), "-" if t.fan_in is None else str(t.fan_in)
            rows.append([" = ".join(t.names), t.kind, shape, fan_in, t.how, std, measured])
        return rows

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        kept = f"; {len(self.kept)} kept" if self.kept else ""
        title = f"γ = {self.rate:g}, convention {self.convention}, seed {self.seed}"
        return f"{title}: {len(self.tensors)} tensors{kept}", self.HEADER, self.rows()


Plan = tuple[str, int | None, float | None]
"""How a tensor is filled, its fan-in and its standard deviation, as in ``TensorInit``."""


@checked
def initialise_(
    module: nn.Module,
    rate: Rate,
    *,
    convention: Convention = "paper",
    bias_scale: Annotated[float, Between(0)] | None = 0.0,
    norms: Literal["one", "keep"] = "one",
    fan_in: Mapping[str, int] | None = None,
    keep: Sequence[str] = (),
    seed: Annotated[int, Between(0)] = 0,
) -> InitReport:
    r"""Draw every matrix of a module from N(0, d_in^-2γ), in place (Section 2.4).

    It recognises torch's Linear, Embedding, EmbeddingBag, convolutions (not transposed ones), recurrent
    layers and MultiheadAttention, whose packed projections have the fan-in of one. Other modules are called,
    to see over which axis they sum their matrices. A tensor with several names is drawn once, as an embedding
    if one of them is an embedding's. Each tensor has its own generator, named after it.

    Parameters
    ----------
    module : Module
        Changed in place.
    rate : float
        γ.
    convention : {"paper", "vocab", "sibling"}, optional
        The fan-in of embeddings: their width d_m, or ("vocab") their number of rows. "sibling" keeps
        embeddings and every ``c_proj`` as they are, as public code of the paper's group does with GPT-2.
    bias_scale : float or None, optional
        Biases are uniform within ±bias_scale/√fan-in: 0 makes them zero, 1 is torch's default. None keeps
        them. Those that a library's initialiser does not start at zero are kept: they set time scales.
    norms : {"one", "keep"}, optional
        "one" gives every norm the gain that leaves its output at root mean square one, found by calling it: 0
        in norms that multiply by 1 + gain. Their biases become zero. "keep" leaves both.
    fan_in : mapping from str to int, optional
        Fan-ins of matrices in modules of your own, by parameter name, such as ``{"*.W_Q": 64}``.
    keep : sequence of str, optional
        Names of parameters to leave as they are; ``*`` stands for any text.
    seed : int, optional

    Returns
    -------
    InitReport
        Every tensor with its fan-in, its standard deviation, and the one measured afterwards.
    """
    roles = roles_of(module, fan_in)
    check_numbers(roles)
    first = {name: role.name for role in roles for name in role.names}
    kept = {first[name] for pattern in keep for name in matching("keep", pattern, first)}
    meant = started_away_from_zero(module)
    kept |= {role.name for role in roles if role.kind == "bias" and pattern_of(role.name) in meant}
    plans = [
        ("kept", role.fan_in, None)
        if role.name in kept or not role.tensor.numel()
        else _plan(role, rate, convention, bias_scale, norms)
        for role in roles
    ]
    unknown = [role.name for role, (how, *_) in zip(roles, plans, strict=True) if how == "unknown"]
    if unknown:
        problem = "in an unknown kind of module, so its fan-in is unknown"
        remedy = f'name it in fan_in, as {{"{unknown[0]}": 64}}, or in keep'
        raise InputError("module", ", ".join(unknown), problem, remedy)
    tensors = tuple(_fill(role, plan, seed) for role, plan in zip(roles, plans, strict=True))
    return InitReport(rate, convention, seed, tensors)


def _plan(role: Role, rate: float, convention: Convention, bias_scale: float | None, norms: str) -> Plan:
    of_sibling = role.kind == "embedding" or any(name.endswith("c_proj.weight") for name in role.names)
    if convention == "sibling" and of_sibling:
        return "kept", role.fan_in, None
    if role.kind in ("gain", "norm bias"):
        return ("kept", None, None) if norms == "keep" else ("constant", None, 0.0)
    if role.kind == "bias" and bias_scale == 0:
        return "constant", role.fan_in, 0.0
    if role.kind == "bias":
        if bias_scale is None or role.fan_in is None:
            return "kept", role.fan_in, None
        return "uniform", role.fan_in, bias_scale / math.sqrt(3 * role.fan_in)
    if role.fan_in is None:
        # γ sets no scale for a vector of an unknown kind, such as a gate.
        return "unknown" if role.tensor.ndim > 1 else "kept", None, None
    rows = role.kind == "embedding" and convention == "vocab"
    fan_in = role.shape[0] if rows else role.fan_in
    return "drawn", fan_in, float(fan_in**-rate)


def _fill(role: Role, plan: Plan, seed: int) -> TensorInit:
    tensor, (how, fan_in, std) = role.tensor, plan
    with torch.no_grad():
        if how == "constant":
            tensor.fill_(role.norm.neutral if role.norm and role.kind == "gain" else 0.0)
        elif std is not None:
            generator = torch_stream(seed, f"init/{role.name}")
            draw = torch.rand if how == "uniform" else torch.randn
            drawn = draw(role.shape, generator=generator, dtype=torch.float64)
            tensor.copy_(math.sqrt(3) * std * (2 * drawn - 1) if how == "uniform" else std * drawn)
            padding = getattr(role.owner, "padding_idx", None)
            if padding is not None:
                tensor[padding] = 0
        measured = float(unpadded(tensor, role.owner).cpu().double().std(correction=0))
    return TensorInit(role.names, role.kind, role.shape, fan_in, how, std, measured)
