"""The role of each parameter of a torch module, and its fan-in: how many inputs each output sums over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.parameter import is_lazy

from sim.modules.norms import Norm, norm_of
from sim.modules.products import summed_axes
from theory import InputError
from theory.edge.checked import as_integer

Kind = Literal["embedding", "matrix", "bias", "gain", "norm bias", "unknown"]
_PREFERRED: tuple[Kind, ...] = get_args(Kind)
"""A tensor with two roles, such as a tied read-out, has the one that comes first here."""


@dataclass(frozen=True, eq=False)
class Role:
    """The role of one tensor of a module."""

    names: tuple[str, ...]
    """Several if it is tied."""
    kind: Kind
    tensor: nn.Parameter
    owner: nn.Module
    """The module that it was found in."""
    fan_in: int | None = None
    """For an embedding its width d_m; for a bias its matrix's fan-in; None if it is not known."""
    parts: int = 1
    """Matrices packed into it along its outputs: the queries, keys and values of attention."""
    outputs: int = 0
    """The axis of its outputs."""
    reads_out: bool = False
    """Whether an embedding is also another module's matrix; another embedding's does not count."""
    norm: Norm | None = None
    """What the norm does whose gain or bias it is."""

    @property
    def name(self) -> str:
        """Its first name."""
        return self.names[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape, as torch stores it."""
        return tuple(self.tensor.shape)

    def packed(self) -> tuple[Tensor, ...]:
        """Return the matrices that are packed into it; usually just the tensor itself."""
        return self.tensor.detach().chunk(self.parts, dim=self.outputs)


def roles_of(module: nn.Module, fan_in: Mapping[str, int] | None = None) -> list[Role]:
    """Return every tensor of a module once; the module may be on the meta device, but not lazy.

    ``fan_in`` has the fan-ins of parameters in unrecognised modules, by name, with ``*`` for any text.
    """
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if is_lazy(parameter):
            raise InputError("module", name, "has no numbers yet", "run it once")
        names.setdefault(id(parameter), []).append(name)
    if not names:
        raise InputError("module", type(module).__name__, "without parameters", "give a module that has some")
    every, given = [name for tied in names.values() for name in tied], dict[str, int]()
    for pattern, value in (fan_in or {}).items():
        if as_integer("fan_in", value) < 1:
            raise InputError("fan_in", value, "out of range", "give 1 or more")
        given |= dict.fromkeys(matching("fan_in", pattern, every), int(value))
    roles, norms = dict[int, Role](), dict[str, Norm | None]()
    for owner in module.modules():
        for local, parameter in owner.named_parameters(recurse=False, remove_duplicate=False):
            wanted = next((given[name] for name in names[id(parameter)] if name in given), None)
            role = _role(tuple(names[id(parameter)]), local, parameter, owner, wanted, norms)
            if (known := roles.get(id(parameter))) is not None:
                first = min(known, role, key=lambda each: _PREFERRED.index(each.kind))
                role = replace(first, reads_out=known.reads_out or known.kind != role.kind)
            roles[id(parameter)] = role
    return list(roles.values())


def check_numbers(roles: Iterable[Role]) -> None:
    """Refuse a module with a parameter that has no numbers, or is quantised."""
    for role in roles:
        if role.tensor.is_meta:
            raise InputError("module", role.name, "has no numbers yet", "move it off the meta device")
        if not role.tensor.dtype.is_floating_point:
            problem = f"of dtype {role.tensor.dtype}"
            remedy = "give a module of real floating-point numbers, not quantised"
            raise InputError("module", role.name, problem, remedy)


def matching(argument: str, pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that match a pattern, or refuse a pattern that none matches."""
    every = list(names)
    # A name matches itself, whatever characters it has, as in "layers[0].weight".
    fits = [n for n in every if isinstance(pattern, str) and (n == pattern or fnmatchcase(n, pattern))]
    if not fits:
        known = ", ".join([*every[:8], *["..."] * (len(every) > 8)])
        raise InputError(argument, pattern, "matches no parameter", f"choose from {known}")
    return fits


def fans_of(module: nn.Module) -> dict[str, tuple[int, int]]:
    """Return fan-in and number of outputs of every matrix in a recognised kind of module, by name."""
    found = {}
    for name, owner in module.named_modules():
        for local, parameter in owner.named_parameters(recurse=False):
            if parameter.ndim > 1 and (fan_in := _fan_in(local, parameter, owner)):
                found[f"{name}.{local}".lstrip(".")] = fan_in, parameter.numel() // fan_in
    return found


def _role(
    names: tuple[str, ...],
    local: str,
    tensor: nn.Parameter,
    owner: nn.Module,
    given: int | None,
    norms: dict[str, Norm | None],
) -> Role:
    if given is not None:
        return Role(names, "matrix", tensor, owner, given)
    if isinstance(owner, (nn.Embedding, nn.EmbeddingBag)):
        return Role(names, "embedding", tensor, owner, owner.embedding_dim)
    if "bias" in local and (fan_in := _fan_in_of_bias(local, owner)) is not None:
        return Role(names, "bias", tensor, owner, fan_in)
    fan_in = _fan_in(local, tensor, owner)
    if fan_in is None and (norm := norm_of(owner, norms)) is not None:
        return Role(names, "gain" if local == norm.gain else "norm bias", tensor, owner, norm=norm)
    parts = 3 if local == "in_proj_weight" else 1
    if names[0].endswith("c_attn.weight") and fan_in and tensor.numel() % fan_in**2 == 0:
        parts = tensor.numel() // fan_in**2  # Keys and values alone in cross-attention.
    outputs = int(parts > 1 and summed_axes(owner).get(local) == 0)
    return Role(names, "unknown" if fan_in is None else "matrix", tensor, owner, fan_in, parts, outputs)


def _fan_in(local: str, weight: nn.Parameter, owner: nn.Module) -> int | None:
    # torch stores a matrix transposed, as (out, in); attention packs three of them one after another.
    if isinstance(owner, (nn.Linear, nn.MultiheadAttention, nn.RNNBase)) and weight.ndim == 2:
        return weight.shape[1]
    if isinstance(owner, _ConvNd) and not isinstance(owner, _ConvTransposeNd):
        return math.prod(weight.shape[1:])
    if weight.ndim < 2 or isinstance(owner, (nn.Embedding, nn.EmbeddingBag)):
        return None
    axis = summed_axes(owner).get(local)
    return None if axis is None else weight.shape[axis]


def _fan_in_of_bias(local: str, owner: nn.Module) -> int | None:
    if isinstance(owner, nn.MultiheadAttention):
        return int(owner.embed_dim)
    for name in (local.replace("bias", "weight"), local.removesuffix("_bias")):
        if isinstance(weight := getattr(owner, name, None), nn.Parameter) and name != local:
            return _fan_in(name, weight, owner)
    return None
