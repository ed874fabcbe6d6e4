"""``audit``: the rate of every matrix, what escapes it, and what the numbers alone cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from sim.modules.library import started_away_from_zero
from sim.modules.roles import check_numbers, roles_of
from sim.runs.files import finite
from theory import InputError
from theory.edge.checked import Rate, checked
from theory.edge.display import Shown, html_table
from validate.observe.observations import UNDEFINED
from validate.scales.escapes import (
    Escape,
    MatrixRate,
    NormLoss,
    buffer_escapes,
    matrix_escapes,
    matrix_rate,
    norm_losses,
    reference_rate,
    role_escapes,
)

LEVEL = 0.95
"""The coverage of all intervals together (Bonferroni's correction)."""
NORM_LOSS = 0.01
"""A norm escapes if its ε shortens its output by more than this share."""


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """The findings of an audit; print it.

    Attributes
    ----------
    rate : float
        The γ that matrices are compared with: the one asked for, or the median over them.
    asked : bool
        Whether it was asked for.
    matrices : tuple of MatrixRate
        Every matrix and embedding whose fan-in is known, with 95 % intervals that hold simultaneously.
    norms : tuple of NormLoss
    escapes : tuple of Escape
        Every deviation, with its kind and likely origin.
    unknown : tuple of str
        What this audit cannot tell.
    """

    rate: float
    asked: bool
    matrices: tuple[MatrixRate, ...]
    norms: tuple[NormLoss, ...]
    escapes: tuple[Escape, ...]
    unknown: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing escapes; ties alone are not a fault."""
        return all(escape.what == "tied" for escape in self.escapes)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; what is undefined is null."""
        return {
            "rate": finite(self.rate),
            "asked": self.asked,
            "level": LEVEL,
            "matrices": [
                {"names": list(m.role.names), "shape": list(m.role.shape), "fan_in": m.fan_in}
                | {key: finite(getattr(m, key)) for key in ("std", "rate", "low", "high", "kurtosis")}
                for m in self.matrices
            ],
            "norms": [
                n._asdict() | {"variance": finite(n.variance), "lost": finite(n.lost)} for n in self.norms
            ],
            "escapes": [vars(escape) for escape in self.escapes],
            "unknown": list(self.unknown),
        }

    def __str__(self) -> str:
        found = [f"- {escape}" for escape in self.escapes] or ["- nothing was found"]
        parts = [super().__str__(), "", "What escapes it:", *found]
        return "\n".join([*parts, "", "What this cannot tell:", *(f"- {line}" for line in self.unknown)])

    def _repr_html_(self) -> str:
        escapes = html_table("What escapes it", (), [[str(e)] for e in self.escapes])
        unknown = html_table("What this cannot tell", (), [[line] for line in self.unknown])
        return super()._repr_html_() + escapes + unknown

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        n, source = len(self.matrices), "asked for" if self.asked else "the median over its matrices"
        together = f"{n} matri{'x' if n == 1 else 'ces'}, intervals that hold together at {LEVEL:.0%}"
        reference = UNDEFINED if math.isnan(self.rate) else f"{self.rate:z.3f}"
        rows = []
        for m in self.matrices:
            known = not math.isnan(m.rate)
            rate = [f"{m.rate:z.3f}", f"[{m.low:z.3f}, {m.high:z.3f}]"] if known else [UNDEFINED] * 2
            shape = " x ".join(map(str, m.role.shape))
            rows.append([" = ".join(m.role.names), shape, str(m.fan_in), f"{m.std:.4g}", *rate])
        header = ("matrix", "shape", "fan-in", "std", "rate", "interval")
        return f"γ = {reference}, {source}; {together}", header, rows


@checked
def audit(
    module: nn.Module,
    rate: Rate | None = None,
    *,
    inputs: Any = None,
    fan_in: Mapping[str, int] | None = None,
) -> Audit:
    """Return the initialisation rate of each matrix of a module, and everything that deviates from it.

    The module is not changed. Audit it before training, which changes scales too.

    Parameters
    ----------
    module : Module
    rate : float, optional
        The γ that every matrix is meant to have; the median over the matrices by default.
    inputs : optional
        The arguments of a forward pass that shows the inputs of the norms: one, a tuple, or a dict.
    fan_in : mapping from str to int, optional
        Fan-ins in modules of your own; see ``sim.initialise_``.

    Raises
    ------
    InputError
        If the module has no matrix of known fan-in, a recognised tensor holds NaN, or it cannot be run on the
        inputs.
    """
    roles = roles_of(module, fan_in)
    check_numbers(roles)
    known = [role for role in roles if role.kind in ("matrix", "embedding") and role.tensor.numel()]
    if not known:
        remedy = 'give the fan-ins of its matrices, as fan_in={"*.weight": 64}'
        raise InputError("module", type(module).__name__, "no matrix of known fan-in", remedy)
    alpha = (1 - LEVEL) / len(known)
    matrices, norms = [matrix_rate(role, alpha) for role in known], norm_losses(module, inputs)
    reference, meant = reference_rate(matrices, rate), started_away_from_zero(module)
    escapes = [escape for matrix in matrices for escape in matrix_escapes(matrix, reference, alpha)]
    escapes += [escape for role in roles for escape in role_escapes(role, meant)]
    escapes += buffer_escapes(module, matrices)
    for n in (n for n in norms if n.lost > NORM_LOSS):
        sees = f"ε = {n.epsilon:g} against a variance of {n.variance:.3g}"
        escapes.append(Escape(n.name, "epsilon", f"{sees}: its output is {n.lost:.1%} short"))
    unseen = ", ".join(norm.name for norm in norms if math.isnan(norm.variance))
    kinds = {role.kind for role in roles}
    limits = {
        "whether these are the initial values: a trained matrix has a scale too": True,
        "factors in the code: embeddings times √d_m, residual branches times a constant, a temperature": True,
        "positions computed in forward, and norms called as functions": True,
        "which fan-in was meant for embeddings: rates above take the width, not V": "embedding" in kinds,
        f"what these norms see (give inputs): {unseen}": unseen,
        "the fan-in of parameters in modules of your own: name it in fan_in": "unknown" in kinds,
    }
    unknown = tuple(text for text, applies in limits.items() if applies)
    return Audit(reference[0], rate is not None, tuple(matrices), tuple(norms), tuple(escapes), unknown)
