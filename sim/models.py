r"""The Emb-MLP (Definition 1), every tensor with a leading member axis.

One code path serves one member and many: parameters have shape (n_members, ...), tokens
(n_members, batch, L), logits (n_members, batch, d). Matrix names and row-vector convention are the
paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sim.config import Activation, MemberConfig
from sim.seeds import torch_stream

Parameters = dict[str, Tensor]
TENSORS = ("W_emb", "W1", "W2")

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "identity": lambda h: h,
}


def emb_mlp(parameters: Parameters, tokens: Tensor, activation: Activation) -> Tensor:
    r"""Return the logits :math:`G(X) = \sigma((\sum_{x \in X} w_x) W_1) W_2` (Definition 1).

    Parameters
    ----------
    parameters : dict of Tensor
        W_emb (M, d, d_m), W1 (M, d_m, d_f), W2 (M, d_f, d), for M members.
    tokens : Tensor of int64, shape (M, batch, L)
        A token that stands twice counts twice.
    activation : str
        The name of σ.

    Returns
    -------
    Tensor, shape (M, batch, d)
    """
    W_emb = parameters["W_emb"]
    members, vocab, width = W_emb.shape
    shift = vocab * torch.arange(members, device=tokens.device).view(-1, 1, 1)
    bags = (tokens + shift).flatten(0, 1)
    summed = torch.nn.functional.embedding_bag(bags, W_emb.reshape(-1, width), mode="sum")
    hidden = ACTIVATIONS[activation](member_product(summed.view(members, -1, width), parameters["W1"]))
    return member_product(hidden, parameters["W2"])


def member_product(a: Tensor, b: Tensor) -> Tensor:
    """Return a @ b for each member; a member alone takes the plain product, which has faster kernels."""
    if len(a) == 1:
        return (a[0] @ b[0]).unsqueeze(0)
    return a @ b


def shapes(member: MemberConfig, vocab_size: int) -> dict[str, tuple[int, int]]:
    """Return the shape of each of a member's tensors."""
    model = member.model
    return {
        "W_emb": (vocab_size, model.d_m),
        "W1": (model.d_m, model.d_f),
        "W2": (model.d_f, vocab_size),
    }


def fan_in(member: MemberConfig, name: str, vocab_size: int) -> int:
    """Return d_in, the dimension that γ acts on: the rows, but for the embedding a named choice."""
    if name == "W_emb" and member.model.embedding_fan_in == "d_m":
        return member.model.d_m
    return shapes(member, vocab_size)[name][0]


def initial_std(member: MemberConfig, name: str, vocab_size: int) -> float:
    """Return d_in^-γ, the standard deviation that a tensor is drawn with (Section 2.4)."""
    rate = dict(member.model.tensor_init_rates).get(name, member.init_rate)  # type: ignore[call-overload]
    return float(fan_in(member, name, vocab_size) ** -rate)


def gaussian(shape: tuple[int, int], std: float, generator: torch.Generator) -> Tensor:
    """Draw a matrix with independent N(0, std²) entries, in float64."""
    return std * torch.randn(shape, generator=generator, dtype=torch.float64)


def build(members: Sequence[MemberConfig], vocab_size: int) -> Parameters:
    """Draw the members' initial parameters, each tensor from a generator of its own.

    A member's draw depends on its seed alone, so that it is the same in any company. Drawn in float64
    and rounded, so that float32 and float64 runs start at the same point.
    """
    dtype = getattr(torch, members[0].training.dtype)
    return {
        name: torch.stack([_draw(member, name, vocab_size) for member in members]).to(dtype)
        for name in TENSORS
    }


def _draw(member: MemberConfig, name: str, vocab_size: int) -> Tensor:
    generator = torch_stream(member.seed, f"init/{name}")
    std = initial_std(member, name, vocab_size)
    return gaussian(shapes(member, vocab_size)[name], std, generator)
