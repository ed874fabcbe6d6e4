"""Initial parameters: matrices are Gaussian with standard deviation d_in^-γ (Section 2.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sim.config.run import MemberConfig
from sim.models.base import TensorSpec, model_of
from sim.models.layers import Parameters
from sim.seeds import torch_stream
from theory import InputError, label_table, token_ratios
from theory.edge.checked import checked


def tensor_specs(member: MemberConfig) -> dict[str, TensorSpec]:
    """Return every tensor of a member's model, by name."""
    return model_of(member.model).specs(member.task.vocab_size, member.task.length)


@checked
def build(members: Sequence[MemberConfig]) -> Parameters:
    """Draw the members' initial parameters, each tensor from a generator of its own.

    A member's draw depends on its seed alone, not on the other members. It is made in float64 and rounded,
    so that float32 and float64 runs start at the same point.

    Parameters
    ----------
    members : sequence of MemberConfig
        At least one; all with the same model and task.

    Returns
    -------
    dict of str to Tensor
        Each with its own shape after the axis of members.
    """
    if len(members) == 0:
        raise InputError("members", members, "empty", "give at least one")
    dtype = getattr(torch, members[0].training.dtype)
    return {
        name: torch.stack([_draw(member, name, spec) for member in members]).to(dtype)
        for name, spec in tensor_specs(members[0]).items()
    }


def initial_std(member: MemberConfig, name: str, spec: TensorSpec) -> float:
    """Return a tensor's initial standard deviation, at its own γ, else its name's, else the run's."""
    if spec.fan_in is None:
        return spec.half_width / math.sqrt(3)
    rates = member.model.tensor_init_rates
    rate = rates.get(name, rates.get(name.rpartition(".")[2], member.init_rate))
    return float(spec.scale * spec.fan_in**-rate)


def _draw(member: MemberConfig, name: str, spec: TensorSpec) -> Tensor:
    generator = torch_stream(member.seed, f"init/{name}")
    if spec.fan_in is None:
        drawn = torch.rand(spec.shape, generator=generator, dtype=torch.float64)
        return spec.start + spec.half_width * (2 * drawn - 1)
    if name == member.model.embedding and (start := member.model.initial_embedding) != "random":
        predicted = _predicted_embedding(member, initial_std(member, name, spec), spec.shape)
        return _exchanged(member, predicted) if start == "shuffled-distributions" else predicted
    return initial_std(member, name, spec) * torch.randn(spec.shape, generator=generator, dtype=torch.float64)


def _predicted_embedding(member: MemberConfig, std: float, shape: tuple[int, ...]) -> Tensor:
    """Return rows along r_s (P^s − P̄), turned at random, with entries of root mean square ``std``.

    The rows keep their angles exactly if there are at least as many columns as labels, else on average.
    """
    task = member.build_task()
    ratios = token_ratios(task, held_out=True)
    table = label_table(task, held_out=True)
    mean = ratios @ table / ratios.sum()
    rows = torch.from_numpy(ratios[:, None] * (table - mean))
    if rows.abs().max() <= 1e-12 * ratios.max() * mean.max():  # What is left is rounding.
        start, problem = member.model.initial_embedding, "all tokens of the task have one label distribution"
        raise InputError("model.initial_embedding", start, problem, 'set it to "random"')
    generator = torch_stream(member.seed, "init/turn")
    labels, width = rows.shape[1], shape[1]
    turn = torch.randn(max(labels, width), width, generator=generator, dtype=torch.float64)
    if width >= labels:
        q, r = torch.linalg.qr(turn)
        turn = q * r.diagonal().sign()  # which sign R has is the kernel's
    turned = rows @ turn[:labels]
    return turned * (std / turned.square().mean().sqrt())


def _exchanged(member: MemberConfig, rows: Tensor) -> Tensor:
    """Return rows with those of each mapping's anchors exchanged in one cycle; a single one keeps its own."""
    exchanged, generator = rows.clone(), torch_stream(member.seed, "init/exchange")
    for mapping in member.build_task().mappings:
        anchors = torch.tensor(mapping.anchors)
        cycle = anchors[torch.randperm(len(anchors), generator=generator)]
        exchanged[cycle] = rows[cycle.roll(1)]
    return exchanged
