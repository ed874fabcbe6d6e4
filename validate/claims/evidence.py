"""Runs found by the study they belong to: what is kept in the repository, or run folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sim.config.run import MemberConfig
from sim.runs.folder import RunFolder
from sim.runs.places import runs_inside
from theory import InputError
from validate.claims.finder import Finder, name_of
from validate.claims.likeness import is_of_study
from validate.claims.statements import Needs
from validate.claims.verdicts import MissingRunsError
from validate.observe import KEPT, NoRunsError, Observations, kept
from validate.studies import Study, UnknownStudyError, load_study


@dataclass
class Evidence(Finder):
    """Finds runs by the study under whose name they are kept or stored.

    Attributes
    ----------
    places : mapping of str to Path
        Studies that are read from run folders, ``PLACE/STUDY/[VARIANT/]gammaG_seedS``; any other is read
        from ``folder``. Runs that are not of the study count as missing, whatever their folder is called.
    folder : Path or None
        The kept observations, if any may be taken.
    load : callable
        From a study's name to what it consists of, for conditions about all of its variants or γ.
    """

    places: Mapping[str, Path] = field(default_factory=dict)
    folder: Path | None = KEPT
    load: Callable[[str], Study] = load_study

    def __post_init__(self) -> None:
        self.load = cache(self.load)

    def runs_of(self, study: str, variant: str) -> Sequence[Observations]:
        """Return the runs of a study's variant."""
        root = self.places.get(study)
        if root is None and self.folder is None:
            raise self.missing(study, variant, "no runs among those given")
        try:
            found = kept(study, variant or None, root=root, folder=self.folder or KEPT)
        except NoRunsError:
            raise self.missing(study, variant, "no runs") from None
        if root is not None:
            self._check_study(found, study, variant)
        return found

    def variants_of(self, study: str) -> tuple[str, ...]:
        """Return the variants that have run folders, or else those that the study defines."""
        root = self.places.get(study)
        if root is None:
            return self._defined(study).variants
        return tuple(sorted({path.parent.name for path in runs_inside(root / study, 2)}))

    def rates_of(self, study: str, variant: str) -> tuple[float, ...]:
        """Return the γ that have run folders, or else those that the study defines."""
        if study in self.places:
            return super().rates_of(study, variant)
        return self._defined(study).configs[variant or None].init_rates

    def missing(self, study: str, variant: str, what: str) -> MissingRunsError:
        """Return the error that says what is missing, and the command that makes it."""
        return super().missing(study, variant, f"{what}; make them: anchorflow study {study} --run --keep")

    def missing_rate(self, study: str, variant: str, rate: float) -> MissingRunsError:
        """Return the error that says that a γ has no run, and how to make one if the study has that γ."""
        if self._defines(study, variant, (rate,)):
            return super().missing_rate(study, variant, rate)
        return MissingRunsError(f"{name_of(study, variant)}: the study has no γ = {rate:g}")

    def can_make(self, needs: Needs) -> bool:
        """Return whether the study of a condition defines all that it needs, and some of it has no run."""
        try:
            variants = needs.variants or self._defined(needs.study).variants
        except MissingRunsError:
            return False
        defined = all(self._defines(needs.study, variant, needs.init_rates) for variant in variants)
        return defined and any(self._lacks(needs, variant) for variant in variants)

    def absent(self, needs: Needs) -> str:
        """Return how many seeds of the study a condition goes without, and why; nothing if it has all."""
        why: dict[int, set[str]] = {}
        seeds: set[int] = set()
        for variant in needs.variants or self.variants_of(needs.study):
            seeds |= {*self._defined(needs.study).configs[variant or None].seeds}
            rates = needs.init_rates or self.rates_of(needs.study, variant)
            for member in self._absent(needs.study, variant, rates):
                why.setdefault(member.seed, set()).add(self._why(needs.study, variant, member))
        told = ", ".join(f"{seed} ({', '.join(sorted(why[seed]))})" for seed in sorted(why))
        return f"{len(why)} of {len(seeds)} seeds missing: {told}" if why else ""

    def _why(self, study: str, variant: str, member: MemberConfig) -> str:
        """Return why a run cannot be judged by: what is kept does not say, its folder does."""
        if study not in self.places:
            return "not kept"
        run = RunFolder(self.places[study] / study / variant / member.name)
        return str(run.read_provenance()["status"]) if run.has_provenance else "not trained"

    def _lacks(self, needs: Needs, variant: str) -> bool:
        rates = needs.init_rates or self._defined(needs.study).configs[variant or None].init_rates
        try:
            absent = self._absent(needs.study, variant, rates)
        except MissingRunsError:
            return True
        # A run that diverged would diverge again.
        return any(self._why(needs.study, variant, member) != "diverged" for member in absent)

    def _absent(self, study: str, variant: str, rates: Sequence[float]) -> list[MemberConfig]:
        """Return the runs at some γ that a study's variant defines and nobody has."""
        config = self._defined(study).configs[variant or None]
        cells = self.cells(study, variant)
        there = {(rate, run.config.seed) for rate, runs in cells.items() for run in runs}
        return [m for m in config.members() if m.init_rate in rates and (m.init_rate, m.seed) not in there]

    def _defines(self, study: str, variant: str, rates: Sequence[float]) -> bool:
        try:
            config = self._defined(study).configs.get(variant or None)
        except MissingRunsError:
            return False
        return config is not None and set(rates) <= set(config.init_rates)

    def _check_study(self, runs: Sequence[Observations], study: str, variant: str) -> None:
        """Treat runs in the study's folder as missing if they do not have its configuration."""
        config = self._defined(study).configs.get(variant or None)
        for run in runs:
            if config is None or not is_of_study(run.config, config):
                raise self.missing(study, variant, f"{run.label} has another configuration than the study")

    def _defined(self, study: str) -> Study:
        try:
            return self.load(study)
        except UnknownStudyError:
            raise self.missing(study, "", "not defined") from None


def studies_in(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folder of each study that has run folders in some folders; the first that has it counts.

    Raises
    ------
    InputError
        If one of the folders is missing or holds nothing.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        names = [path.name for path in sorted(folder.glob("*")) if path.is_dir()]
        if not names:
            raise InputError("runs", str(folder), "no folder with studies", "name one that holds STUDY/NAME")
        found = dict.fromkeys(names, folder) | found
    return found
