"""``advise``: each parameter's scale at a given γ, beside the library's and muP's."""

from __future__ import annotations

import importlib
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from sim.data.text import require
from sim.modules.roles import Role, epsilon_of, roles_of
from sim.runs.files import finite
from theory import InputError
from theory.edge.checked import Rate, checked
from theory.edge.display import Shown
from theory.edge.reading import as_path, load_json


@dataclass(frozen=True)
class Scale:
    """The scales of the parameters that share role, shape and owner."""

    names: tuple[str, ...]
    """The names of a tied parameter are joined into one by " = "."""
    kind: str
    """embedding, matrix, read-out or unknown."""
    shape: tuple[int, ...]
    fan_in: int | None
    std: float | None
    """fan-in^−γ."""
    library: float | None
    """The library's standard deviation: measured if the model has numbers, else by its rule."""
    source: str
    """The rule, or "measured"."""
    mup: float | None
    """The standard deviation in muP with unit constants: 1, 1/√fan-in or 1/fan-in."""


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """The scales of a model at γ, and what is known about training from there; print it.

    Attributes
    ----------
    rate : float
        γ.
    n_parameters : int
        Tied parameters count once.
    scales : tuple of Scale
    norms : tuple of (str, float, float, float)
        The name of each kind of norm, its ε, the share by which ε shortens its output after the embedding,
        and the ε that shortens it by 1 %.
    notes : tuple of str
        How γ and muP scale with width, and the regime to expect, with the evidence.
    code : str
        Lines that give a model these scales.
    """

    rate: float
    n_parameters: int
    scales: tuple[Scale, ...]
    norms: tuple[tuple[str, float, float, float], ...]
    notes: tuple[str, ...]
    code: str

    HEADER = ("parameter", "number", "kind", "fan-in", "std at γ", "library", "by", "muP")

    def rows(self) -> list[list[str]]:
        """Return one line per scale, as text."""
        rows = []
        for s in self.scales:
            std, library, mup = ("-" if x is None else f"{x:.3g}" for x in (s.std, s.library, s.mup))
            fan_in = "-" if s.fan_in is None else str(s.fan_in)
            rows.append([s.names[0], str(len(s.names)), s.kind, fan_in, std, library, s.source, mup])
        return rows

    def lines(self) -> list[str]:
        """Return the sentences below the table: norms first."""
        eaten = [  # ε is usually a power of ten: the next one below the ε that takes 1 %.
            f"{name}, ε = {epsilon:g}: ε shortens the normed embedding by {lost:.1%}"
            + f"; lower ε to 1e{math.floor(math.log10(enough))} for less than 1 %" * (epsilon > enough)
            for name, epsilon, lost, enough in self.norms
        ]
        return [*eaten, *self.notes]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        keys = "name", "epsilon", "lost", "epsilon_of_one_percent"
        norms = [dict(zip(keys, norm, strict=True)) for norm in self.norms]
        return vars(self) | {"scales": [vars(s) for s in self.scales], "norms": norms}

    def __str__(self) -> str:
        return "\n".join([super().__str__(), "", *(f"- {line}" for line in self.lines()), "", self.code])

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"γ = {self.rate:g}, {self.n_parameters:,} parameters", self.HEADER, self.rows()


@checked
def advise(
    model: Any, rate: Rate = 0.8, *, fan_in: Mapping[str, int] | None = None, code: Any = None
) -> Advice:
    """Return the initial scale of each parameter of a model at γ, by the library's default and in muP.

    Parameters
    ----------
    model : Module, or path
        A module, which may be on the meta device and is not changed; or the config.json of a
        ``transformers`` model, whose weights are never created.
    rate : float, optional
        γ.
    fan_in : mapping from str to int, optional
        Fan-ins in modules of your own; see ``sim.initialise_``.
    code : str, optional
        The line that makes the model, to be included in the lines of code returned.
    """
    is_module = isinstance(model, nn.Module)
    module = model if is_module else module_of(model)
    if code is None and is_module:
        code = "model = ...  # your module"
    elif code is None:
        code = _FROM_CONFIG.format(kind=type(module).__name__, path=str(as_path("model", model)))
    roles = roles_of(module, fan_in)
    groups: dict[Any, list[Role]] = {}
    for role in roles:
        if role.tensor.ndim > 1 and role.kind != "bias":
            tied = len(role.names) > 1
            alike = role.name.rsplit(".", 2)[-2:], role.kind, role.shape, role.fan_in, tied
            groups.setdefault(repr((type(role.owner), alike)), []).append(role)
    rows = [m.num_embeddings for m in module.modules() if isinstance(m, nn.Embedding)]
    is_tied = any(role.kind == "embedding" and role.reads_out for role in roles)
    # The map from the width to the vocabulary comes last; a hidden matrix may happen to be as wide.
    to_words = [r for r in roles if r.kind == "matrix" and rows and r.shape[0] == max(rows) and not is_tied]
    scales = tuple(_scale(module, group, rate, to_words[-1:] == group[-1:]) for group in groups.values())
    unknown = [role.name for role in roles if role.kind == "unknown" and role.tensor.ndim > 1]
    given = f", fan_in={ {name: int(n) for name, n in fan_in.items()}!r}" if fan_in else ""
    given += f", keep={unknown!r}" if unknown else ""
    lines = f"import sim\n{code}\nprint(sim.initialise_(model, {rate:g}{given}))"
    n_parameters = sum(role.tensor.numel() for role in roles)
    notes = tuple(_notes(rate, scales, n_parameters, is_tied))
    return Advice(rate, n_parameters, scales, tuple(_norms(module, scales)), notes, lines)


_FROM_CONFIG = """from transformers import AutoConfig, {kind}

model = {kind}(AutoConfig.from_pretrained({path!r}))"""


def module_of(config: Any) -> nn.Module:
    """Return the model of a ``transformers`` configuration, on the meta device."""
    file = as_path("model", config)
    data = load_json(file)
    if not isinstance(data, dict) or "model_type" not in data:
        remedy = "give the config.json of a Hugging Face model"
        raise InputError("model", str(file), "no key model_type", remedy)
    library: Any = require("transformers", "language")
    try:
        made = library.AutoConfig.for_model(**data)
        causal = type(made) in library.AutoModelForCausalLM._model_mapping
        kind = library.AutoModelForCausalLM if causal else library.AutoModel
        with torch.device("meta"):
            model: nn.Module = kind.from_config(made)
    except Exception as error:
        # The library's classes may raise anything.
        why = textwrap.shorten(str(error), 200, placeholder=" ...")
        problem = f"transformers cannot make its model ({type(error).__name__}: {why})"
        raise InputError("model", str(file), problem, "correct the configuration") from None
    return model


def named_module(name: str) -> nn.Module:
    """Return a module by import name, ``package.part:name``; call a class or function on the meta device."""
    package, _, attribute = name.partition(":")
    remedy = "name a module, or a class or function that makes one without arguments, such as mine:Model"
    try:
        value: Any = getattr(importlib.import_module(package), attribute)
        with torch.device("meta"):
            value = value if isinstance(value, nn.Module) else value()
    except Exception as error:
        problem = f"cannot be imported or made ({type(error).__name__}: {error})"
        raise InputError("module", name, problem, remedy) from None
    if not isinstance(value, nn.Module):
        raise InputError("module", name, f"of type {type(value).__name__}", remedy)
    return value


def _scale(module: nn.Module, group: Sequence[Role], rate: float, reads_out: bool) -> Scale:
    role, fan_in = group[0], group[0].fan_in
    kind = "read-out" if reads_out else str(role.kind)
    names = tuple(" = ".join(r.names) for r in group)
    std, mup = None, None
    if fan_in is not None:
        std, mup = fan_in**-rate, fan_in ** -{"embedding": 0.0, "read-out": 1.0}.get(kind, 0.5)
    library, source = _library(module, group)
    return Scale(names, kind, role.shape, fan_in, std, library, source, mup)


def _library(module: nn.Module, group: Sequence[Role]) -> tuple[float | None, str]:
    role = group[0]
    if not role.tensor.is_meta and role.tensor.numel() > 1:
        variances = [float(each.tensor.detach().cpu().double().var()) for each in group]
        return finite(math.sqrt(sum(variances) / len(group))), "measured"
    config = getattr(module, "config", None)
    std = getattr(config, "initializer_range", None)
    if hasattr(module, "_init_weights") and isinstance(std, float):
        layers = getattr(config, "n_layer", None)
        if layers and role.name.endswith("c_proj.weight") and "GPT2" in type(module).__name__:
            return std / math.sqrt(2 * layers), f"{std:g}/√(2·{layers} layers)"
        return std, "initializer_range"
    if hasattr(module, "_init_weights"):
        return None, "own code"
    if role.kind == "embedding":
        return 1.0, "torch: N(0, 1)"
    if isinstance(role.owner, nn.MultiheadAttention):
        return math.sqrt(2 / sum(role.shape)), "torch: Xavier"
    if role.fan_in and isinstance(role.owner, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return (3 * role.fan_in) ** -0.5, "torch: uniform ±1/√fan-in"
    if isinstance(role.owner, nn.RNNBase):
        return (3 * role.owner.hidden_size) ** -0.5, "torch: uniform ±1/√hidden"
    return None, "own code"


def _norms(module: nn.Module, scales: Sequence[Scale]) -> list[tuple[str, float, float, float]]:
    """Return each kind of norm once, with the share that its ε takes from a normed embedding."""
    stds = [s.std for s in scales if s.kind == "embedding" and s.std is not None]
    if not stds:
        return []
    # Positions are added to words; a table of another width, such as attention's biases, is not.
    variance = sum(std**2 for std in stds[:2] if std == stds[0])
    norms = {}
    for part in module.modules():
        name, epsilon = type(part).__name__, epsilon_of(part)
        if "norm" in name.lower() and epsilon is not None:
            lost = 1 - math.sqrt(variance / (variance + epsilon))
            norms[name, epsilon] = (name, epsilon, lost, variance * (0.99**-2 - 1))
    return list(norms.values())


def _notes(rate: float, scales: Sequence[Scale], n_parameters: int, is_tied: bool) -> list[str]:
    """Return sentences on γ and muP in a wider model, the library's γ, and the regime to expect."""
    notes = [
        f"Width: with γ every standard deviation falls as width^-{rate:g}. In muP the embedding's stays, "
        "hidden matrices' fall as width^-0.5 and the read-out's as width^-1, and AdamW's rate for hidden "
        "matrices is divided by the width. γ says nothing about rates; at γ = 0.5 hidden matrices agree."
    ]
    if is_tied:
        notes.append("Tied embedding: γ draws it once, as an embedding; muP multiplies logits by 1/width.")
    hidden = [s for s in scales if s.kind == "matrix" and s.library and s.fan_in and s.fan_in > 1]
    if hidden:
        first = max(hidden, key=lambda s: len(s.names))
        implied = -math.log(first.library or 1.0) / math.log(first.fan_in or 2)
        notes.append(f"The library's {first.library:.3g} at fan-in {first.fan_in} is γ = {implied:z.2f}.")
    small = (
        f"Regime: γ = {rate:g} is small (above 0.5). Training starts on a plateau, and early on embeddings "
        "take the geometry of their tokens' labels, as predicted. Whether rules come before "
        "tables depends on norm, optimiser and size."
    )
    usual = (
        f"Regime: γ = {rate:g} is not small (0.5 or less). Embeddings start nearly orthogonal and stay so "
        "for a long time; the predicted geometry does not apply."
    )
    large = (
        f"{n_parameters:,} parameters: above about 400 M the published logs of the paper's group (2026) have "
        "lower losses at the usual scale than at small ones; weight decay differs too: cause unknown."
    )
    scope = "Evidence: `anchorflow claims`, from models below 10 M parameters on made-up tasks and texts."
    return [*notes, small if rate > 0.5 else usual, scope, *([large] if n_parameters > 400e6 else [])]
