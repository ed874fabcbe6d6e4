"""What each parameter of a torch module is, and its fan-in: how many numbers an output of it sums over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.parameter import is_lazy

from theory import InputError
from theory.checked import as_integer

Kind = Literal["embedding", "matrix", "bias", "gain", "norm bias", "unknown"]
_PREFERRED: tuple[Kind, ...] = ("embedding", "matrix", "bias", "gain", "norm bias", "unknown")
"""A tensor with two roles, as a tied read-out, has the first of them."""


@dataclass(frozen=True, eq=False)
class Role:
    """What one tensor of a module is.

    Attributes
    ----------
    names : tuple of str
        Its names; several if it is tied.
    kind : str
        "embedding", "matrix", "bias", "gain" and "norm bias" of a norm, or "unknown".
    tensor : Parameter
    owner : Module
        The module that it was found in.
    fan_in : int or None
        Of a matrix; of an embedding its width d_m; of a bias that of its matrix; None if it is not known.
    parts : int
        Matrices packed into it along its outputs: the queries, keys and values of attention.
    """

    names: tuple[str, ...]
    kind: Kind
    tensor: nn.Parameter
    owner: nn.Module
    fan_in: int | None = None
    parts: int = 1

    @property
    def name(self) -> str:
        """Its first name."""
        return self.names[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, as torch stores it."""
        return tuple(self.tensor.shape)

    def packed(self) -> tuple[Tensor, ...]:
        """Return the matrices that are packed into it; most often the one itself."""
        outputs = 1 if is_hugging_face_conv1d(self.owner) else 0
        return self.tensor.detach().chunk(self.parts, dim=outputs)


def roles_of(module: nn.Module, fan_in: Mapping[str, int] | None = None) -> list[Role]:
    """Return every tensor of a module once.

    Parameters
    ----------
    module : Module
    fan_in : mapping from str to int, optional
        Fan-ins of parameters whose module is not recognised, by name; ``*`` stands for any text.

    Raises
    ------
    InputError
        If there is no parameter, one has no numbers yet, or a name in ``fan_in`` fits none.
    """
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    if not names:
        raise InputError("module", type(module).__name__, "without parameters", "give a module that has some")
    given = fan_ins_by_name(fan_in or {}, (name for tied in names.values() for name in tied))
    found: dict[int, Role] = {}
    for prefix, owner in module.named_modules():
        for local, parameter in owner.named_parameters(recurse=False, remove_duplicate=False):
            full = f"{prefix}.{local}" if prefix else local
            _check_numbers(full, parameter)
            role = _role(tuple(names[id(parameter)]), local, parameter, owner, given.get(full))
            known = found.get(id(parameter))
            if known is None or _PREFERRED.index(role.kind) < _PREFERRED.index(known.kind):
                found[id(parameter)] = role
    return list(found.values())


def fan_ins_by_name(fan_in: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """Return the fan-in of each name that a pattern fits.

    Raises
    ------
    InputError
        If a pattern fits no name, or its fan-in is not 1 or more.
    """
    found: dict[str, int] = {}
    every = list(names)
    for pattern, value in fan_in.items():
        if as_integer("fan_in", value) < 1:
            raise InputError("fan_in", value, "out of range", "give 1 or more")
        found |= dict.fromkeys(matching("fan_in", pattern, every), int(value))
    return found


def matching(argument: str, pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern fits, or refuse one that fits none."""
    every = list(names)
    fits = [name for name in every if isinstance(pattern, str) and fnmatchcase(name, pattern)]
    if not fits:
        raise InputError(argument, pattern, "fits no parameter", f"there are {', '.join(every[:8])}, ...")
    return fits


def _check_numbers(name: str, parameter: nn.Parameter) -> None:
    if is_lazy(parameter) or parameter.is_meta:
        raise InputError("module", name, "has no numbers yet", "run it once, or move it off the meta device")
    if not parameter.dtype.is_floating_point:
        raise InputError("module", name, f"of dtype {parameter.dtype}", "give a module that is not quantised")


def _role(
    names: tuple[str, ...], local: str, tensor: nn.Parameter, owner: nn.Module, given: int | None
) -> Role:
    if given is not None:
        return Role(names, "matrix", tensor, owner, given)
    if isinstance(owner, (nn.Embedding, nn.EmbeddingBag)):
        return Role(names, "embedding", tensor, owner, owner.embedding_dim)
    if "norm" in type(owner).__name__.lower() and tensor.ndim == 1:
        return Role(names, "norm bias" if "bias" in local else "gain", tensor, owner)
    if "bias" in local and (tensor.ndim == 1 or isinstance(owner, nn.MultiheadAttention)):
        return Role(names, "bias", tensor, owner, _fan_in_of_bias(local, owner))
    fan_in = _fan_in(local, tensor, owner)
    parts = 3 if local == "in_proj_weight" or names[0].endswith("c_attn.weight") else 1
    return Role(names, "unknown" if fan_in is None else "matrix", tensor, owner, fan_in, parts)


def _fan_in(local: str, weight: nn.Parameter, owner: nn.Module) -> int | None:
    """Return the fan-in of a weight, if its module is one whose products are known."""
    if is_hugging_face_conv1d(owner):
        return weight.shape[0]
    # torch stores a map from rows to rows transposed; attention packs three of them one after another.
    if isinstance(owner, (nn.Linear, nn.MultiheadAttention, nn.RNNBase)) and weight.ndim == 2:
        return weight.shape[1]
    if isinstance(owner, _ConvNd) and not isinstance(owner, _ConvTransposeNd):
        return math.prod(weight.shape[1:])
    return None


def _fan_in_of_bias(local: str, owner: nn.Module) -> int | None:
    if isinstance(owner, nn.MultiheadAttention):
        return int(owner.embed_dim)
    weight = getattr(owner, local.replace("bias", "weight"), None)
    return _fan_in("weight", weight, owner) if isinstance(weight, nn.Parameter) else None


def is_hugging_face_conv1d(module: nn.Module) -> bool:
    """Whether a module is GPT-2's linear map, whose weight has shape (in, out), by its attribute names."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, nn.Parameter) or weight.ndim != 2:
        return False
    named = any(base.__name__ == "Conv1D" for base in type(module).__mro__)
    return named and getattr(module, "nf", None) == weight.shape[1]
