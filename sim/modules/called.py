"""What a model does when it is called on tokens: its read-out, and how large its first norm's inputs are."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from sim.modules.library import blank_copy, numbered, seeded, written
from sim.modules.norms import Norm, norm_of
from sim.modules.roles import roles_of


class FirstNorm(NamedTuple):
    """The norm that sees embeddings before any other does, and what its ε takes away."""

    name: str
    epsilon: float
    variance: float
    """The mean over tokens of what ε is added to."""
    lost: float
    """The share by which ε shortens its output."""


class _SeenError(Exception):
    """Ends a forward pass at its first norm."""


def read_out_of(module: nn.Module) -> tuple[nn.Module | None, bool]:
    """Return the map from the width to the vocabulary, if any, and whether the module could be asked for it.

    A model of ``transformers`` names it. Any other is called on tokens, on the meta device: its read-out is
    the part that returned what the whole returned.
    """
    outputs: list[tuple[str, Any]] = []
    try:
        if hasattr(module, "get_output_embeddings"):
            head: nn.Module | None = cast(Any, module).get_output_embeddings()
            return head, True
        made = blank_copy(module)
        for name, part in made.named_modules():
            if any(p.ndim > 1 for p in part.parameters(recurse=False)):
                part.register_forward_hook(lambda _, __, y, name=name: outputs.append((name, y)))
        with torch.device("meta"), torch.no_grad():
            whole = made(torch.zeros(1, 2, dtype=torch.long))
    except Exception:  # Anybody's module may raise anything.
        return None, False
    return next((module.get_submodule(name) for name, y in outputs if y is whole), None), True


def first_norm_of(module: nn.Module, rate: float) -> FirstNorm | None:
    """Return the first norm behind embeddings that have their standard deviation at γ; None if there is none.

    A copy with numbers in its embeddings and first layers is called on tokens, up to that norm.
    """
    known: dict[str, Norm | None] = {}

    def see(name: str, norm: Norm, part: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        raise _SeenError(name, norm, next(iter((*inputs, *named.values()))).double())

    with seeded(), torch.no_grad():
        try:
            made = numbered(module, 2**17)
            written(made)
            tables = [part for part in made.modules() if isinstance(part, nn.Embedding)]
            words = (
                cast(Any, made).get_input_embeddings() if hasattr(made, "get_input_embeddings") else tables[0]
            )
            for role in roles_of(made):
                if not role.tensor.is_meta and role.fan_in and role.kind in ("embedding", "matrix"):
                    role.tensor.normal_(0, role.fan_in**-rate)
                elif role.kind == "bias":
                    role.tensor.zero_()
            for name, part in made.named_modules():
                norm = norm_of(part, known)
                if norm is not None and norm.axes:
                    part.register_forward_pre_hook(partial(see, name, norm), with_kwargs=True)
            made.eval()(torch.randint(words.weight.shape[0], (64, 8)))
        except _SeenError as seen:
            name, norm, x = seen.args
        except Exception:
            return None
        else:
            return None
    v = variance_of(x, norm)
    lost = 1 - float((v / (v + norm.epsilon)).sqrt().mean())
    return None if math.isnan(lost) else FirstNorm(name, norm.epsilon, float(v.mean()), lost)


def variance_of(x: Tensor, norm: Norm) -> Tensor:
    """Return what a norm adds ε to, of each row: the variance, or the mean square if it is not centred."""
    axes = tuple(range(-norm.axes, 0))
    return x.var(axes, correction=0) if norm.centred else x.square().mean(axes)
