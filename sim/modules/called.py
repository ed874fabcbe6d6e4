"""What a model tells when it is asked: its read-out, what its first norm sees, which sides of matrices grow.

For the first two it is called on tokens; for the last, wider models of its configuration are made.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial, reduce
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sim.modules.library import blank_copy, numbered, seeded, written
from sim.modules.norms import Norm, norm_of
from sim.modules.roles import PRODUCTS, fans_of, roles_of


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


class _Traced(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes of what each tensor is made, since the last product with a parameter."""

    def __init__(self, module: nn.Module, tokens: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        named = {"": tokens} | dict(module.named_parameters())
        self.sources = {t.untyped_storage()._cdata: {(name, False)} for name, t in named.items()}
        """Names of parameters, "" for the tokens, and whether that product was with it; by memory."""
        self.looked_up = dict[str, None]()
        self.alive: list[Tensor] = []

    def of(self, tensor: Tensor) -> set[tuple[str, bool]]:
        """Return a tensor's sources."""
        return self.sources.get(tensor.untyped_storage()._cdata, set())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        used = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        if name.startswith("add"):  # A bias changes no scale.
            used = [t for t in used if t.ndim > 1]
        found = set[tuple[str, bool]]().union(*map(self.of, used))
        if name in ("embedding", "_embedding_bag", "index", "index_select") and ("", False) in found:
            self.looked_up |= {source: None for source, _ in self.of(args[0]) if source}
        factors = [self.of(args[i]) for i in PRODUCTS.get(name, ())]
        weights = [f for f in factors if not any(source == "" or multiplied for source, multiplied in f)]
        found = {(source, True) for f in weights for source, _ in f} or found
        for t in tree_leaves(made):
            if isinstance(t, Tensor):
                self.sources[t.untyped_storage()._cdata] = found
                self.alive.append(t)  # Else its memory is used again.
        return made


class Asked(NamedTuple):
    """What a module tells of its matrices."""

    read_out: Tensor | None = None
    """That from the width to the vocabulary, if any."""
    tables: tuple[Tensor, ...] = ()
    """Those with rows that tokens look up."""
    is_known: bool = True

    @property
    def is_tied(self) -> bool:
        """Whether the read-out is also looked up."""
        return any(table is self.read_out for table in self.tables)


def asked(module: nn.Module) -> Asked:
    """Return a module's read-out and tables, if it can be asked.

    A model of ``transformers`` names them. Any other is called on tokens, on the meta device: its read-out is
    the only matrix of whose products an output is made.
    """
    try:
        if hasattr(module, "get_output_embeddings"):
            both = cast(Any, module).get_output_embeddings(), cast(Any, module).get_input_embeddings()
            read_out, table = (getattr(part, "weight", None) for part in both)
            return Asked(read_out, () if table is None else (table,))
        made, tokens = blank_copy(module), torch.zeros(1, 2, dtype=torch.long, device="meta")
        with seeded(), torch.device("meta"), torch.no_grad(), _Traced(made, tokens) as traced:
            outputs = tree_leaves(made(tokens))
    except Exception:  # Anybody's module may raise anything.
        return Asked(is_known=False)
    found = [traced.of(y) for y in outputs if isinstance(y, Tensor)]
    names = {name for sources in found if len(sources) == 1 for name, multiplied in sources if multiplied}
    own = dict(module.named_parameters())
    tables = tuple(own[name] for name in traced.looked_up)
    read_out = own[min(names)] if len(names) == 1 else None
    return Asked(read_out, tables, len(names) < 2 and any(found))


def first_norm_of(module: nn.Module, rate: float) -> FirstNorm | None:
    """Return the first norm behind embeddings that have their standard deviation at γ; None if there is none.

    A copy with numbers in its embeddings and first layers is called on tokens, up to that norm.
    """
    known: dict[str, Norm | None] = {}
    found: list[tuple[str, Norm, Tensor]] = []

    def see(name: str, norm: Norm, part: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        found.append((name, norm, next(iter((*inputs, *named.values()))).double()))
        raise _SeenError

    with seeded(), torch.no_grad(), suppress(Exception):  # Anybody's module may raise anything.
        made = numbered(module, 2**17)
        written(made)
        tables = [part for part in made.modules() if isinstance(part, nn.Embedding)]
        words = cast(Any, made).get_input_embeddings() if hasattr(made, "get_input_embeddings") else tables[0]
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
    if not found:
        return None
    name, norm, x = found[0]
    v = variance_of(x, norm)
    lost = 1 - float((v / (v + norm.epsilon)).sqrt().mean())
    return None if math.isnan(lost) else FirstNorm(name, norm.epsilon, float(v.mean()), lost)


def variance_of(x: Tensor, norm: Norm) -> Tensor:
    """Return what a norm adds ε to, of each row: the variance, or the mean square if it is not centred."""
    axes = tuple(range(-norm.axes, 0))
    return x.var(axes, correction=0) if norm.centred else x.square().mean(axes)


Sides = dict[tuple[str, str], int]
"""The fan-in, ("in", name), and the number of outputs, ("out", name), of each matrix."""


@seeded()
def growth(module: nn.Module) -> dict[str, tuple[bool, bool]] | None:
    """Return whether fan-in and number of outputs of each matrix grow with the width, by name.

    The numbers of the configuration, those of its parts included, are doubled one at a time. One that changes
    a fan-in and a number of outputs is a width, as those of hidden layers and heads; the number of experts or
    words changes outputs only, the size of a convolution's kernel fan-ins only. Outputs that the rest of the
    model does not take at another number have its width. None for a module without a configuration of
    ``transformers``, and where the library makes no wider model.
    """
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "get_text_config"):
        return None
    parts = list(_parts(config))
    text = next((part for part, inner in parts if inner is config.get_text_config()), ())
    sides, width = _sides(module), getattr(config.get_text_config(), "hidden_size", None)
    if (wider := _changed(module, text, "hidden_size")) is None:
        return None
    grown, runs = _moved(sides, wider), None
    explained = {side for side, n in sides.items() if n == 1} | grown
    numbers = [
        (part, name, value)
        for part, inner in sorted(parts, key=lambda pair: pair[0] != text)
        for name, value in inner.to_dict().items()
        if isinstance(value, int) and value > 1  # True is 1.
    ]
    for divides in (True, False):  # Few models are made if the numbers that divide a side come first.
        for part, name, value in numbers:
            asked = [side for side, n in sides.items() if side not in grown and (n % value == 0) == divides]
            if not (asked if divides else {*asked} - explained):
                continue
            if (changed := _changed(module, part, name)) is None:
                continue
            moved = _moved(sides, changed)
            explained |= moved
            kinds = {kind for kind, _ in moved}
            if kinds == {"out"} and runs is None:
                runs = _runs(_changed(module, part, name, 1))
            is_bound = kinds == {"out"} and runs and not _runs(changed)
            # What other parts hand to the text has its width, as the output of a vision model.
            if len(kinds) == 2 or is_bound or (part != text and value == width):
                grown |= moved
    return {name: (("in", name) in grown, ("out", name) in grown) for kind, name in sides if kind == "in"}


def _parts(config: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a configuration and those in it, as of a text and of a vision model, with the way to each."""
    yield path, config
    for name, value in vars(config).items():
        if hasattr(value, "get_text_config"):
            yield from _parts(value, (*path, name))


def _changed(module: nn.Module, part: tuple[str, ...], name: str, factor: int = 2) -> nn.Module | None:
    """Return a model with one number of the configuration multiplied, if the library makes one."""
    config: Any = copy.deepcopy(module.config)
    owner = reduce(getattr, part, config)
    try:
        setattr(owner, name, factor * getattr(owner, name))
        with torch.device("meta"):
            return type(module)(config)
    except Exception:  # The library's classes may raise anything.
        return None


def _runs(module: nn.Module | None) -> bool:
    """Return whether a model on the meta device runs on tokens."""
    with suppress(Exception), torch.device("meta"), torch.no_grad():  # As above.
        cast(Any, module)(torch.zeros(1, 2, dtype=torch.long))
        return True
    return False


def _moved(sides: Sides, changed: nn.Module) -> set[tuple[str, str]]:
    now = _sides(changed)
    return {side for side, n in sides.items() if now.get(side) != n}


def _sides(module: nn.Module) -> Sides:
    fans = fans_of(module).items()
    return {(kind, name): n for name, both in fans for kind, n in zip(("in", "out"), both, strict=True)}
