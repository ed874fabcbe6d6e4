"""``advise``: each parameter's scale at a given γ, beside the library's and muP's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from sim.modules.called import Asked, FirstNorm, asked, first_norm_of, growth
from sim.modules.library import Start, library_models, module_of, pattern_of, starts_of
from sim.modules.roles import Role, roles_of
from theory import InputError
from theory.edge.checked import Rate, checked
from theory.edge.display import Shown
from theory.edge.reading import as_path

UNKNOWN = "–"


@dataclass(frozen=True)
class Scale:
    """The scales of the parameters that share role, shape and owner."""

    names: tuple[str, ...]
    """The names of a tied parameter are joined into one by " = "."""
    kind: str
    """embedding, matrix, read-out or unknown; read-out-like, whose outputs do not become more with the width,
    as a router's; input-like, whose fan-in does not grow with it."""
    shape: tuple[int, ...]
    fan_in: int | None
    std: float | None
    """fan-in^−γ."""
    library: float | None
    """The standard deviation that the library starts with, measured; None where nothing wrote or tells it."""
    spread: tuple[float, float] | None
    """The least and the greatest standard deviation of one tensor, if they differ by more than chance."""
    source: str
    """Who wrote what was measured, as in ``Start``; or "unknown"."""
    mup: float | None
    """The standard deviation in muP with unit constants: 1, 1/√fan-in or 1/fan-in."""
    mup_rate: float | None
    """AdamW's learning rate in muP, as a multiple of the base rate: 1, or 1/fan-in."""


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
    norm : FirstNorm or None
        The first norm behind the embeddings and what its ε takes away at γ, measured by calling the model.
    notes : tuple of str
        How γ and muP scale with width, and the regime to expect, with the evidence.
    code : str
        Lines that give a model these scales.
    """

    rate: float
    n_parameters: int
    scales: tuple[Scale, ...]
    norm: FirstNorm | None
    notes: tuple[str, ...]
    code: str

    HEADER = ("parameter", "number", "kind", "fan-in", "std at γ", "library", "by", "muP", "muP rate")

    def rows(self) -> list[list[str]]:
        """Return one line per scale, as text."""
        rows = []
        for s in self.scales:
            std, library, mup, rate = (
                UNKNOWN if x is None else f"{x:.3g}" for x in (s.std, s.library, s.mup, s.mup_rate)
            )
            if s.spread is not None:
                library += f" ({s.spread[0]:.3g} to {s.spread[1]:.3g})"
            fan_in = UNKNOWN if s.fan_in is None else str(s.fan_in)
            rows.append([s.names[0], str(len(s.names)), s.kind, fan_in, std, library, s.source, mup, rate])
        return rows

    def lines(self) -> list[str]:
        """Return the sentences below the table: the norm first."""
        n = self.norm
        if n is None:
            return [
                "What ε takes from the normed embedding is unknown: called on tokens, it reaches no norm.",
                *self.notes,
            ]
        power = math.floor(math.log10((n.variance or 1.0) * (0.99**-2 - 1)))  # ε is usually a power of ten.
        lower = f"; lower ε to 1e{power} for less than 1 %" * (n.lost > 0.01 and n.variance > 0)
        eaten = f"measured, ε shortens the normed embedding by {100 * n.lost:.2g} %"
        return [f"{n.name}, ε = {n.epsilon:g}: {eaten}{lower}", *self.notes]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        norm = self.norm and self.norm._asdict()
        return vars(self) | {"scales": [vars(s) for s in self.scales], "norm": norm}

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
    if not is_module and not isinstance(model, (str, os.PathLike)):
        raise InputError(
            "model", model, "neither a module nor a path", "give a module that is made, or a path"
        )
    module = model if is_module else module_of(model)
    if code is None and is_module:
        code = "model = ...  # your module"
    elif code is None:
        code = _FROM_CONFIG.format(kind=type(module).__name__, path=str(as_path("model", model)))
    roles, starts = roles_of(module, fan_in), starts_of(module)
    told, grows = asked(module), growth(module)
    groups: dict[Any, list[Role]] = {}
    for role in roles:
        if role.tensor.ndim > 1 and role.kind not in ("bias", "gain", "norm bias"):
            kind: str = role.kind
            if kind == "matrix" and role.tensor is told.read_out:
                kind = "embedding" if told.is_tied else "read-out"
            elif kind == "matrix":
                # Of a matrix that was not asked, both sides are taken to grow with the width.
                grown = (grows[name] for name in role.names if grows and name in grows)
                inputs_grow, outputs_grow = next(grown, (True, True))
                kind = "input-like" if not inputs_grow else "matrix" if outputs_grow else "read-out-like"
            key = pattern_of(role.name), type(role.owner), kind, role.shape, role.fan_in, len(role.names)
            groups.setdefault(key, []).append(role)
    scales = tuple(_scale(key[2], group, rate, starts) for key, group in groups.items())
    unknown = _patterns([role for role in roles if role.tensor.ndim > 1])
    given = f", fan_in={ {name: int(n) for name, n in fan_in.items()}!r}" if fan_in else ""
    given += f", keep={unknown!r}" if unknown else ""
    lines = f"import sim\n{code}\nprint(sim.initialise_(model, {rate:g}{given}))"
    n_parameters = sum(role.tensor.numel() for role in roles)
    is_tied = told.is_tied or any(role.kind == "embedding" and role.reads_out for role in roles)
    notes = [*_unknowns(module, told, grows is not None), *_notes(rate, scales, n_parameters, is_tied)]
    return Advice(rate, n_parameters, scales, first_norm_of(module, rate), tuple(notes), lines)


_FROM_CONFIG = """from transformers import AutoConfig, {kind}

model = {kind}(AutoConfig.from_pretrained({path!r}))"""


def _scale(kind: str, group: Sequence[Role], rate: float, starts: Mapping[str, Start]) -> Scale:
    fan_in, names = group[0].fan_in, tuple(" = ".join(r.names) for r in group)
    std = mup = mup_rate = None
    if fan_in is not None:
        power = {"embedding": 0.0, "read-out": 1.0, "read-out-like": 1.0}.get(kind, 0.5)
        std, mup = fan_in**-rate, fan_in**-power
        mup_rate = 1.0 if kind in ("embedding", "input-like") else 1 / fan_in
    measured = [starts[role.name] for role in group if role.name in starts]
    source = measured[0].by if measured else "unknown"
    stds = [start.std for start in measured if start.std is not None]
    library = spread = None
    if len(stds) == len(measured) > 0:
        library = math.sqrt(sum(x * x for x in stds) / len(stds))
        # Four standard errors of a sample's standard deviation, of each of the two.
        chance = library * 8 / math.sqrt(2 * measured[0].entries)
        spread = (min(stds), max(stds)) if max(stds) - min(stds) > chance else None
    return Scale(names, kind, group[0].shape, fan_in, std, library, spread, source, mup, mup_rate)


def _patterns(roles: Sequence[Role]) -> list[str]:
    """Return patterns for the names of unknown kinds, or names where a pattern is another kind's too."""
    unknown = {role.name for role in roles if role.kind == "unknown"}
    known = [name for role in roles if role.kind != "unknown" for name in role.names]
    shorter = {name: pattern_of(name) for name in unknown}
    return list(
        dict.fromkeys(
            name if any(fnmatchcase(other, shorter[name]) for other in known) else shorter[name]
            for name in sorted(unknown)
        )
    )


def _unknowns(module: nn.Module, told: Asked, is_wider: bool) -> Iterator[str]:
    """Yield what the module could not be asked."""
    if not told.is_known:
        yield "Read-out: unknown, a copy called on tokens does not show it; it is listed as a matrix."
    elif told.read_out is None:
        yield "Read-out: none, no output is the product of one matrix alone."
    if not is_wider:
        yield "Routers and other maps to few outputs are listed as matrices: only one width is known."
    if not library_models(module) and any(p.is_meta for p in module.parameters()):
        yield "Without numbers, torch's defaults are measured; what your own code draws then is unknown."


def _notes(rate: float, scales: Sequence[Scale], n_parameters: int, is_tied: bool) -> list[str]:
    """Return sentences on γ and muP in a wider model, the library's γ, and the regime to expect."""
    notes = [
        f"Width: with γ every standard deviation falls as width^-{rate:g}. In muP the embedding's stays, "
        "hidden matrices' fall as width^-0.5 and the read-out's as width^-1; AdamW's rate has the factor muP "
        "rate. γ says nothing about rates; at γ = 0.5 hidden matrices agree."
    ]
    if is_tied:
        notes.append("Tied embedding: γ draws it once, as an embedding; muP multiplies logits by 1/width.")
    hidden = [s for s in scales if s.kind == "matrix" and s.library and s.fan_in and s.fan_in > 1]
    if hidden:
        first = max(hidden, key=lambda s: len(s.names) * math.prod(s.shape))
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
