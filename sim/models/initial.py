"""Initial parameters: independent Gaussians of standard deviation d_in^-γ (Section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sim.config.model import AttentionModel, EmbMLPConfig, ModelConfig, OneLayerConfig
from sim.config.run import MemberConfig
from sim.models.layers import Parameters
from sim.seeds import torch_stream
from theory import InputError, label_table, token_ratios
from theory.checked import Size, checked
from theory.errors import unknown_key


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a model.

    Attributes
    ----------
    shape : tuple of int
        Without the member axis.
    fan_in : int or None
        d_in, the dimension that γ acts on; None for a tensor that starts constant.
    start : float
        The constant that it starts at, if it does.
    """

    shape: tuple[int, ...]
    fan_in: int | None = None
    start: float = 0.0


def tensor_specs(member: MemberConfig, vocab_size: int) -> dict[str, TensorSpec]:
    """Return every tensor of a member's model, by name."""
    has_positions = not isinstance(member.model, EmbMLPConfig) and member.model.positions == "learned"
    return model_specs(member.model, vocab_size, member.build_task().length if has_positions else 0)


def model_specs(model: ModelConfig, vocab_size: int, length: int) -> dict[str, TensorSpec]:
    """Return every tensor of a model, by name; ``length`` is that of the trained positions, if it has any."""
    if isinstance(model, EmbMLPConfig):
        rows = model.d_m if model.embedding_fan_in == "d_m" else vocab_size
        embedding = {"W_emb": TensorSpec((vocab_size, model.d_m), rows)}
        return embedding | _matrices({"W1": (model.d_m, model.d_f), "W2": (model.d_f, vocab_size)})
    return _transformer_specs(model, vocab_size, length)


@checked
def initial_std(member: MemberConfig, name: str, vocab_size: Size) -> float:
    """Return d_in^-γ, the standard deviation that a tensor is drawn with; 0 if it starts constant."""
    specs = tensor_specs(member, vocab_size)
    if name not in specs:
        raise unknown_key("name", name, specs)
    return _std(member, name, specs[name])


def gaussian(shape: tuple[int, ...], std: float, generator: torch.Generator) -> Tensor:
    """Draw a tensor with independent N(0, std²) entries, in float64."""
    return std * torch.randn(shape, generator=generator, dtype=torch.float64)


@checked
def build(members: Sequence[MemberConfig], vocab_size: Size) -> Parameters:
    """Draw the members' initial parameters, each tensor from a generator of its own.

    A member's draw depends on its seed alone, so that it is the same in any company. Drawn in float64
    and rounded, so that float32 and float64 runs start at the same point.
    """
    if len(members) == 0:
        raise InputError("members", members, "empty", "give at least one")
    dtype = getattr(torch, members[0].training.dtype)
    specs = tensor_specs(members[0], vocab_size)
    return {
        name: torch.stack([_draw(member, name, spec) for member in members]).to(dtype)
        for name, spec in specs.items()
    }


def _transformer_specs(model: AttentionModel, vocab_size: int, length: int) -> dict[str, TensorSpec]:
    d_m = vocab_size if isinstance(model, OneLayerConfig) else model.d_m
    tables = {"W_E": vocab_size}
    if model.positions == "learned":
        tables["W_pos"] = length
    by_width = model.embedding_fan_in == "d_m"
    specs = {name: TensorSpec((rows, d_m), d_m if by_width else rows) for name, rows in tables.items()}
    for layer in range(model.n_layers):
        own = _layer_specs(d_m, model.n_heads * model.d_k, model.d_f)
        specs |= {f"{layer}.{name}": spec for name, spec in own.items()}
    norms = {"post": ("ln1", "ln2"), "pre": ("ln1", "ln2"), "none": ()}[model.norm]
    for layer in range(model.n_layers):
        specs |= {f"{layer}.{norm}.w": TensorSpec((d_m,), start=1.0) for norm in norms}
    if model.norm == "pre":
        specs["ln_final.w"] = TensorSpec((d_m,), start=1.0)
    if not isinstance(model, OneLayerConfig):
        specs |= _matrices({"W_U": (d_m, vocab_size)})
    return specs | (_biases(specs) if model.biases else {})


def _layer_specs(d_m: int, d_heads: int, d_f: int) -> dict[str, TensorSpec]:
    asking = dict.fromkeys(("W_Q", "W_K", "W_V"), (d_m, d_heads))
    return _matrices({**asking, "W_O": (d_heads, d_m), "W_in": (d_m, d_f), "W_out": (d_f, d_m)})


def _matrices(shapes: dict[str, tuple[int, int]]) -> dict[str, TensorSpec]:
    return {name: TensorSpec(shape, shape[0]) for name, shape in shapes.items()}


def _biases(specs: dict[str, TensorSpec]) -> dict[str, TensorSpec]:
    """Return a bias for every matrix but the tables, and for every norm: "0.W_Q" → "0.b_Q"."""
    found = {}
    for name, spec in specs.items():
        layer, _, own = name.rpartition(".")
        bias = f"{layer}.b" if own == "w" else f"{layer}.b{own.removeprefix('W')}".removeprefix(".")
        if name not in ("W_E", "W_pos"):
            found[bias] = TensorSpec(spec.shape[-1:])
    return found


def _std(member: MemberConfig, name: str, spec: TensorSpec) -> float:
    """Return d_in^-γ, with the γ of the tensor, of its kind in every layer, or of the run."""
    if spec.fan_in is None:
        return 0.0
    rates = member.model.tensor_init_rates
    rate = rates.get(name, rates.get(name.rpartition(".")[2], member.init_rate))
    return float(spec.fan_in**-rate)


def _draw(member: MemberConfig, name: str, spec: TensorSpec) -> Tensor:
    if spec.fan_in is None:
        return torch.full(spec.shape, spec.start, dtype=torch.float64)
    if name == member.model.embedding and member.model.initial_embedding == "label-distributions":
        return _predicted_embedding(member, _std(member, name, spec), spec.shape)
    return gaussian(spec.shape, _std(member, name, spec), torch_stream(member.seed, f"init/{name}"))


def _predicted_embedding(member: MemberConfig, std: float, shape: tuple[int, ...]) -> Tensor:
    """Return rows along r_s (P^s − P̄), turned at random, their entries of root mean square ``std``.

    With at least as many columns as labels the rows keep their angles exactly, else on average.
    """
    task = member.build_task()
    ratios = token_ratios(task, held_out=True)
    table = label_table(task, held_out=True)
    mean = ratios @ table / ratios.sum()
    rows = torch.from_numpy(ratios[:, None] * (table - mean))
    generator = torch_stream(member.seed, "init/turn")
    labels, width = rows.shape[1], shape[1]
    turn = torch.randn(max(labels, width), width, generator=generator, dtype=torch.float64)
    turned = rows @ (torch.linalg.qr(turn)[0] if width >= labels else turn)[:labels]
    return turned * (std / turned.square().mean().sqrt())
