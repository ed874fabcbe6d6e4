"""Which runs an endpoint needs, and what is found of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from validate.observe import Observations

Sample = Mapping[tuple[str, float], Sequence[Observations]]
"""The runs of each cell, one a seed; a cell is a variant of a study ("" where it has none) and γ."""
ALL_VARIANTS = "*"
Seed = Mapping[tuple[str, float], Observations]
"""One seed's runs at some cells."""


class MissingRunsError(LookupError):
    """There are no runs for an endpoint; the message says which."""


@dataclass(frozen=True, init=False)
class Runs:
    """Runs of a study in place of the setting's own, of some of its variants or of ``ALL_VARIANTS``."""

    study: str
    variants: tuple[str, ...]

    def __init__(self, study: str = "", *variants: str) -> None:
        object.__setattr__(self, "study", study)
        object.__setattr__(self, "variants", variants or ("",))


@dataclass(frozen=True)
class Needs:
    """The runs that a measure needs: a study's at some γ, of some variants; all that it has if empty.

    ``least_rates`` is how many values of γ there have to be.
    """

    study: str
    init_rates: tuple[float, ...] = ()
    variants: tuple[str, ...] = ("",)
    least_rates: int = 1

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.init_rates) or "all"
        variants = ", ".join(filter(None, self.variants)) if self.variants else "all"
        return f"{self.study}{f' ({variants})' * bool(variants)}, γ = {rates}"
