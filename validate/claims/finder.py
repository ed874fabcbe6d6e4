"""Finding the runs that a condition needs, wherever they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from validate.claims.statements import Needs, Sample
from validate.claims.verdicts import MissingRunsError
from validate.observe import Observations

Cells = dict[float, list[Observations]]
"""Runs by γ, those of each sorted by seed."""


@dataclass
class Finder(ABC):
    """Finds the runs that conditions need, and looks each variant of a study up once."""

    _found: dict[tuple[str, str], Cells] = field(default_factory=dict, init=False, repr=False)

    @abstractmethod
    def runs_of(self, study: str, variant: str) -> Sequence[Observations]:
        """Return the runs of a study's variant, or raise ``MissingRunsError``."""

    @abstractmethod
    def variants_of(self, study: str) -> tuple[str, ...]:
        """Return the variants meant by a condition about all of them."""

    def rates_of(self, study: str, variant: str) -> tuple[float, ...]:
        """Return the γ meant by a condition about all of them: those that have runs."""
        return tuple(sorted(self.cells(study, variant)))

    def missing(self, study: str, variant: str, what: str) -> MissingRunsError:
        """Return the error that says what a study's variant lacks."""
        return MissingRunsError(f"{name_of(study, variant)}: {what}")

    def missing_rate(self, study: str, variant: str, rate: float) -> MissingRunsError:
        """Return the error that says that a study's variant has no run at some γ."""
        return self.missing(study, variant, f"no run at γ = {rate:g}")

    def cells(self, study: str, variant: str) -> Cells:
        """Return the runs of a study's variant by γ."""
        key = study, variant
        if key not in self._found:
            cells: Cells = {}
            for run in sorted(self.runs_of(study, variant), key=lambda run: run.config.seed):
                cells.setdefault(run.config.init_rate, []).append(run)
            self._found[key] = cells
        return self._found[key]

    def find(self, needs: Needs) -> Sample:
        """Return a condition's runs by variant and γ, those of each sorted by seed.

        Raises
        ------
        MissingRunsError
            If a variant or a γ is missing, or there are fewer values of γ than needed.
        """
        found: dict[tuple[str, float], Sequence[Observations]] = {}
        for variant in needs.variants or self.variants_of(needs.study):
            cells = self.cells(needs.study, variant)
            rates = needs.init_rates or self.rates_of(needs.study, variant)
            if len(rates) < needs.least_rates:
                raise self.missing(needs.study, variant, f"{len(rates)} of at least {needs.least_rates} γ")
            for rate in rates:
                if rate not in cells:
                    raise self.missing_rate(needs.study, variant, rate)
                found[variant, rate] = cells[rate]
        return found

    def has(self, needs: Needs) -> bool:
        """Return whether all of a condition's runs exist."""
        try:
            self.find(needs)
        except MissingRunsError:
            return False
        return True


def name_of(study: str, variant: str) -> str:
    """Return what a message calls a study, or one of its variants."""
    return f"{study}, {variant}" if variant else study
