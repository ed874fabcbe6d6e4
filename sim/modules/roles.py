"""The role of each parameter of a torch module, and its fan-in: how many inputs each output sums over.

The axis that a module of an unknown kind sums over is found by calling it and watching torch's products.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import TorchDispatchMode

from sim.modules.library import blank_copy, seeded
from sim.modules.norms import Norm, norm_of
from theory import InputError
from theory.edge.checks import as_integer

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
                first = min(known, role, key=lambda of: _PREFERRED.index(of.kind))
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
    fans = {}
    for name, owner in module.named_modules():
        for local, parameter in owner.named_parameters(recurse=False):
            if parameter.ndim > 1 and (fan_in := _fan_in(local, parameter, owner)):
                fans[f"{name}.{local}".lstrip(".")] = fan_in, parameter.numel() // fan_in
    return fans


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
    # Of a weight norm's factors, each call makes a matrix at a scale that is not theirs.
    is_factor = type(vars(owner).get(local.rpartition("_")[0])) is Tensor
    if weight.ndim < 2 or is_factor or isinstance(owner, (nn.Embedding, nn.EmbeddingBag)):
        return None
    # torch stores a matrix transposed, as (out, in); attention packs three of them one after another.
    if isinstance(owner, (nn.Linear, nn.MultiheadAttention, nn.RNNBase)) and weight.ndim == 2:
        # A subclass of Linear may multiply in another way.
        own = isinstance(owner, nn.Linear) and type(owner).forward is not nn.Linear.forward
        return weight.shape[summed_axes(owner).get(local, 1) if own else 1]
    if isinstance(owner, _ConvNd) and not isinstance(owner, _ConvTransposeNd):
        return math.prod(weight.shape[1:])
    axis = summed_axes(owner).get(local)
    return None if axis is None else weight.shape[axis]


def _fan_in_of_bias(local: str, owner: nn.Module) -> int | None:
    if isinstance(owner, nn.MultiheadAttention):
        return int(owner.embed_dim)
    own = dict(owner.named_parameters(recurse=False))
    for name in (local.replace("bias", "weight"), local.removesuffix("_bias")):
        # A parametrised weight is computed when it is read: spectral norms then take a step.
        if (weight := own.get(name)) is not None and name != local:
            return _fan_in(name, weight, owner)
    return None


_MOST = 2**29
"""A module with a larger matrix is not called."""
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "_grouped_mm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
"""torch's products, and which of their arguments are multiplied."""
_KNOWN: dict[Any, dict[str, int]] = {}


class _Watched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes over which axes products sum the tensors whose memory it knows."""

    def __init__(self, tensors: Mapping[str, Tensor], axes: Mapping[str, set[int]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held = {t.untyped_storage()._cdata: (name, t) for name, t in tensors.items()}
        self.axes = axes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        factors = [args[i] for i in PRODUCTS.get(func.overloadpacket.__name__, ())]
        for factor, summed in zip(factors, (-1, -2), strict=False):
            name, held = self.held.get(factor.untyped_storage()._cdata, ("", torch.empty(0)))
            fits, strides = factors[0].shape[-1] == factors[1].shape[-2], held.stride()[-2:]
            # A transposed or selected matrix lies in the same memory: its stride tells the axis.
            if fits and len({*strides}) == 2 and factor.stride(summed) in strides:
                axis = held.ndim - 2 + strides.index(factor.stride(summed))
                # Axes that are summed over together, as of heads, are one longer axis.
                self.axes[name] |= {axis} if factor.shape[summed] <= held.shape[axis] else {0, 1, 2}
        return func(*args, **(kwargs or {}))


def summed_axes(module: nn.Module) -> dict[str, int]:
    """Return the axis that each of a module's own matrices is summed over, by name.

    It is called on rows, alone or with the number and the weight of an expert for each. What it cannot be
    called on, or multiplies otherwise, is left out. Matrices may be stacked along a first axis.
    """
    stored = {name: p for name, p in module.named_parameters(recurse=False) if p.ndim in (2, 3)}
    if not stored or any(math.prod(p.shape[-2:]) > _MOST for p in stored.values()):
        return {}
    # Numbers may be flags too; those of a larger module are mostly its layer's.
    plain = (bool, str) if any(True for _ in module.children()) else (bool, str, int)
    flags = sorted((k, v) for k, v in vars(module).items() if isinstance(v, plain) and k != "training")
    key = type(module), str(flags), *((name, p.shape) for name, p in stored.items())
    if key in _KNOWN:
        return _KNOWN[key]
    # Stacked vectors, as biases are, are multiplied by nothing.
    needed = {name for name, p in stored.items() if p.ndim == 3} or {*stored}
    axes = dict[str, int]()
    with suppress(Exception), seeded():  # It may refuse to be copied.
        axes = _called(module, stored, needed)
    _KNOWN[key] = axes
    return axes


def _called(module: nn.Module, stored: Mapping[str, nn.Parameter], needed: set[str]) -> dict[str, int]:
    # A row for each of stacked matrices.
    many = max(p.shape[0] if p.ndim == 3 else 2 for p in stored.values())
    widths = dict.fromkeys(n for p in stored.values() for n in p.shape[-2:])
    rows = [shape for width in widths for shape in ((many, width), (1, many, width))]
    # Else the caller's torch.device says where.
    numbers = torch.zeros(many, 2, dtype=torch.long, device="cpu")
    weights = torch.ones(many, 2, device="cpu")
    made, axes = blank_copy(module), {name: set[int]() for name in stored}
    # Without numbers, a call costs nothing; where it depends on them, it needs some.
    calls = itertools.product(("meta", "cpu"), rows, ((), (numbers, weights), (numbers.T[:1],)))
    for device, shape, others in calls:
        dtype = torch.bfloat16 if device == "meta" else torch.float32  # What stacked products take there.
        quiet = warnings.catch_warnings(action="ignore")
        with suppress(Exception), quiet, torch.device(device), torch.no_grad():  # It may raise anything.
            # Stacked matrices share their memory.
            blank = {n: torch.empty(p.shape[-2:], dtype=dtype).expand(p.shape) for n, p in stored.items()}
            for name, p in made.named_parameters(recurse=False):
                value = blank[name] if name in stored else torch.zeros(p.shape, dtype=dtype)
                made._parameters[name] = nn.Parameter(value, False)
            with _Watched(blank, axes):
                made.forward(torch.zeros(shape, dtype=dtype), *(x.to(device) for x in others))
        if all(axes[name] for name in needed):
            break
    return {name: next(iter(summed)) for name, summed in axes.items() if len(summed) == 1}
