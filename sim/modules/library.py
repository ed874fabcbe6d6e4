"""The scales that a model starts with, measured on a small copy that its library's own code initialises."""

from __future__ import annotations

import copy
import importlib
import math
import random
import re
import sys
import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from sim.data.text import require
from sim.runs.files import finite
from theory import InputError
from theory.edge.reading import as_path, load_json

_TASKS = ("CausalLM", "ImageTextToText", "Seq2SeqLM", "SpeechSeq2Seq", "MaskedLM", "PreTraining")
_HEADS = (*(f"For{task}" for task in _TASKS), "")
"""The kinds of model that the library makes of a configuration, by preference; the last has no head."""
_ENTRIES = 2**17
"""A tensor with more of them is measured on its first rows: its standard deviation is known to 0.2 %."""
_MOST_LAYERS, _MOST_PARAMETERS = 1000, 10**13
"""Beyond what anybody trains, and what takes minutes to make without its numbers."""
_WHOLE = 2**27
"""A tensor whose scale depends on its number of rows is measured as a whole, up to so many entries."""


class Start(NamedTuple):
    """The entries of one tensor before training."""

    std: float | None
    """None for memory that nothing wrote, and where the scale depends on how many rows there are."""
    largest: float
    entries: int
    """How many were measured."""
    by: str
    """Who wrote it: initialiser, torch's default, constructor, weights (as they are), nothing; or unknown."""


def module_of(config: Any) -> nn.Module:
    """Return the model of a ``transformers`` configuration, with its head, on the meta device.

    It is of the class that the configuration names, or else of the first class with a read-out.
    """
    file = as_path("model", config)
    data = load_json(file)
    if not isinstance(data, dict) or "model_type" not in data:
        remedy = "give the config.json of a Hugging Face model"
        raise InputError("model", str(file), "no key model_type", remedy)
    library: Any = require("transformers", "language")
    named = [kind for name in data.get("architectures") or () if (kind := getattr(library, name, None))]
    if data["model_type"] not in library.CONFIG_MAPPING and named:
        known = f"model_type = {named[0].config_class.model_type!r}"
        raise InputError(
            "model", str(file), "of an unknown model_type", f"{named[0].__name__} is made of {known}"
        )
    layers = [n for key, n in data.items() if "layer" in key and isinstance(n, int)]
    if (n := max(layers, default=0)) > _MOST_LAYERS:
        raise InputError("model", str(file), f"has {n} layers", f"give one with at most {_MOST_LAYERS}")
    try:
        made = library.AutoConfig.for_model(**data)
        model = model_of(made, [kind for kind in named if kind.config_class is type(made)])
    except Exception as error:
        # The library's classes may raise anything.
        why = textwrap.shorten(str(error), 200, placeholder=" ...")
        problem = f"transformers cannot make its model ({type(error).__name__}: {why})"
        raise InputError("model", str(file), problem, "correct the configuration") from None
    if (n := sum(p.numel() for p in model.parameters())) > _MOST_PARAMETERS:
        raise InputError("model", str(file), f"has {n:.1e} parameters", "give a smaller one")
    return model


def model_of(config: Any, named: Sequence[Any] = ()) -> nn.Module:
    """Return the model of a named class, or else the first with a read-out, on the meta device."""
    library: Any = require("transformers", "language")
    autos = [getattr(library, f"AutoModel{what}", None) for what in _HEADS]
    model: Any = None
    for kind in named or [auto for auto in autos if auto and type(config) in auto._model_mapping]:
        with torch.device("meta"):
            model = kind._from_config(config) if named else kind.from_config(config)
        if named or model.get_output_embeddings() is not None:
            break
    if model is None:
        raise LookupError(f"no model of {type(config).__name__}")
    return cast(nn.Module, model)


def named_module(name: str) -> nn.Module:
    """Return a module by import name, ``package.part:name``; a class or function is called.

    A model of more than about 100 M parameters stays on the meta device.
    """
    package, _, attribute = name.partition(":")
    remedy = "name a module, or a class or function that makes one without arguments, such as mine:Model"
    try:
        value: Any = getattr(importlib.import_module(package), attribute)
        if not isinstance(value, nn.Module):
            make = value
            with torch.device("meta"):
                value = make()
            if isinstance(value, nn.Module) and sum(p.numel() for p in value.parameters()) < _WHOLE:
                with seeded():
                    value = make()
    except Exception as error:
        problem = f"cannot be imported or made ({type(error).__name__}: {error})"
        raise InputError("module", name, problem, remedy) from None
    if not isinstance(value, nn.Module):
        raise InputError("module", name, f"of type {type(value).__name__}", remedy)
    return value


def starts_of(module: nn.Module) -> dict[str, Start]:
    """Return how tensors of first and last layers start, by name; an empty dict if that cannot be asked.

    The library's initialiser is run on copies of these layers, with their own width and configuration. Other
    modules start with the numbers that they have, or on the meta device with what torch's modules draw.
    """
    if not library_models(module) and not any(p.is_meta for p in module.parameters()):
        parts = dict(module.named_modules())
        held = ((n, p, parts[n.rpartition(".")[0]]) for n, p in module.named_parameters())
        return {name: _start(unpadded(p, owner), "weights") for name, p, owner in held}
    for most in (_ENTRIES, 8 * _ENTRIES, 64 * _ENTRIES):
        try:
            starts, fewer = (written(numbered(module, n)) for n in (most, most // 2))
            # As Xavier's, a scale may depend on the number of rows; half as many show it.
            changed = [
                n for n, s in starts.items() if not math.isclose(s.std or 0, fewer[n].std or 0, rel_tol=0.01)
            ]
            cut = {n for n in changed if starts[n].entries != fewer[n].entries}
            starts |= written(numbered(module, _WHOLE, cut)) if cut else {}
            return starts | _constructed(module, {n for n, s in starts.items() if s.by == "unknown"})
        except Exception:  # An initialiser may need the rows that are not there.
            continue
    return {}


def _constructed(module: Any, names: set[str]) -> dict[str, Start]:
    """Return what a constructor writes that the initialiser leaves, if the model is small enough to make."""
    if (
        not names
        or module not in library_models(module)
        or sum(p.numel() for p in module.parameters()) > _WHOLE
    ):
        return {}
    was = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)  # New memory holds NaN.
    try:
        with seeded():
            parameters = dict(type(module)(copy.deepcopy(module.config)).named_parameters())
    finally:
        torch.use_deterministic_algorithms(was[0], warn_only=was[1])
    made = {name: _start(parameters[name].detach(), "constructor") for name in names}
    return {name: s._replace(by="nothing") if s.by == "unknown" else s for name, s in made.items()}


def started_away_from_zero(module: nn.Module) -> set[str]:
    """Return the patterns of the tensors that a library's own initialiser writes, and not with zeros."""
    starts = starts_of(module) if library_models(module) else {}
    return {pattern_of(name) for name, s in starts.items() if s.by == "initialiser" and s.largest > 0}


def blank_copy(module: nn.Module) -> nn.Module:
    """Return a copy on the meta device, which costs no memory; not compiled, without the user's hooks."""
    tensors = (*module.parameters(), *module.buffers())
    memo: dict[int, Any] = {id(t): t.detach().to("meta") for t in tensors}
    memo |= {id(p): nn.Parameter(memo[id(p)], p.requires_grad) for p in module.parameters()}
    made = copy.deepcopy(module, memo)
    for part in made.modules():
        part.__dict__.pop("_is_hf_initialized", None)  # Else the library leaves it as it is.
        if "_orig_mod" in part._modules:
            part.__dict__["forward"] = part.get_submodule("_orig_mod").__call__
        for hooks in (part._forward_pre_hooks, part._forward_hooks):
            for key, hook in [*hooks.items()]:
                if not type(hook).__module__.startswith("torch."):  # As weight norms are.
                    del hooks[key]
    return made


def numbered(module: nn.Module, most: int = _ENTRIES, names: Container[str] = ()) -> nn.Module:
    """Return a copy in which first and last layers have numbers: torch's defaults, or NaN.

    Tensors of more than ``most`` entries have fewer rows. All others stay on the meta device.
    """
    made = blank_copy(module)
    given, by_library = dict[int, nn.Parameter](), bool(library_models(made))
    owners = list(_owners(made, names))
    for part in {*made.modules()}.difference(owners):
        if not any(True for _ in part.children()):
            part.__dict__["_is_hf_initialized"] = True  # The library passes over it, which saves time.
    for owner in owners:
        cut = dict[int, int]()
        for p in owner.parameters(recurse=False):
            if p.ndim > 1:
                cut[p.shape[0]] = min(_fewer(p, most)[0], cut.get(p.shape[0], p.shape[0]))
        for local, p in owner.named_parameters(recurse=False, remove_duplicate=False):
            # A bias is as long as its matrix has rows.
            shape = (cut.get(p.shape[0], p.shape[0]), *_fewer(p, most)[1:]) if p.ndim else ()
            blank = nn.Parameter(torch.full(shape, math.nan), p.requires_grad)
            # The library writes tied tensors one by one, and then ties them.
            setattr(owner, local, blank if by_library else given.setdefault(id(p), blank))
        for local, buffer in owner.named_buffers(recurse=False):
            owner._buffers[local] = torch.zeros(buffer.shape, dtype=buffer.dtype)
        if isinstance(owner, nn.Embedding):
            owner.padding_idx = None  # A row of zeros, which may have been cut off, is no part of the scale.
        reset = getattr(owner, "reset_parameters", getattr(owner, "_reset_parameters", None))
        if type(owner).__module__.startswith("torch.") and reset is not None:
            with seeded():
                reset()
    return made


def unpadded(p: Tensor, owner: nn.Module) -> Tensor:
    """Return an embedding's numbers without the row of zeros that stands for padding, and others whole."""
    row = getattr(owner, "padding_idx", None)
    return p.detach() if row is None or len(p) == 1 else torch.cat([p[:row], p[row + 1 :]]).detach()


def pattern_of(name: str) -> str:
    """Return a name with ``*`` for the numbers of layers and experts."""
    return re.sub(r"(?<![^.])\d+(?![^.])", "*", name)


def library_models(module: nn.Module) -> list[Any]:
    """Return the models of ``transformers`` in a module, inner ones first, as they are made."""
    library = sys.modules.get("transformers")
    kind = getattr(library, "PreTrainedModel", ())
    return [part for part in module.modules() if isinstance(part, kind)][::-1]


def _owners(module: nn.Module, names: Container[str]) -> Iterator[nn.Module]:
    """Yield modules that own parameters so named, or any: the first and the last of those alike.

    Those of one layer go together: an initialiser may set the parts of a module.
    """
    alike: dict[Any, list[nn.Module]] = {}
    for name, part in module.named_modules():
        owned = dict(part.named_parameters(prefix=name, recurse=False))
        if not names or any(local in names for local in owned):
            kind = pattern_of(name), type(part), str([p.shape for p in owned.values()])
            alike.setdefault(kind, []).append(part)
    for first, *others in alike.values():
        yield from (first, *others[-1:])


def _fewer(p: Tensor, most: int) -> tuple[int, ...]:
    """Return a shape with fewer rows, and of stacked matrices with fewer rows in each."""
    shape = [*p.shape]
    for axis in range(max(p.ndim - 1, 1)):
        shape[axis] = min(shape[axis], max(2, most * shape[axis] // max(math.prod(shape), 1)))
    return tuple(shape)


def written(made: nn.Module) -> dict[str, Start]:
    """Run the library's initialiser; return what it wrote, what torch had written, and what nothing did."""
    before = {name: p.detach().clone() for name, p in made.named_parameters() if not p.is_meta}
    with seeded(), torch.no_grad():
        for model in library_models(made):
            model.init_weights()
    starts = {}
    for name, p in made.named_parameters():
        if name in before:
            is_new = p.shape != before[name].shape or float((p != before[name]).float().mean()) > 0.5
            starts[name] = _start(p.detach(), "initialiser" if is_new else "torch's default")
    return starts


def _start(entries: Tensor, by: str) -> Start:
    n = entries.numel()
    # The codes of quantised numbers have no scale.
    if not n or not entries.is_floating_point() or bool(entries.isnan().any()):
        return Start(None, math.nan, n, "unknown" if by != "weights" else by)
    entries = entries.double()
    std = finite(float(entries.std())) if n > 1 else None
    return Start(std, float(entries.abs().max()), n, by)


@contextmanager
def seeded() -> Iterator[None]:
    """Draw the same numbers each time, and leave all generators as they were."""
    with generators_kept():
        torch.default_generator.manual_seed(0)  # That of the processor alone.
        yield


@contextmanager
def generators_kept(devices: Iterable[Any] = ()) -> Iterator[None]:
    """Leave the generators of torch, on the processor and these devices, of Python and NumPy as they were."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
