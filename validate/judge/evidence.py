"""The runs that endpoints need, found by study: kept in the repository, or in run folders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sim.runs.folder import RunFolder, runs_inside
from theory import InputError
from validate.judge.claim import Sample
from validate.judge.condition import MissingRunsError, Needs
from validate.judge.settings import LARGE, MORE, SMALL
from validate.observe import KEPT, NoRunsError, Observations, kept
from validate.observe.find import how_to_make
from validate.studies.study import Study, UnknownStudyError, differing_keys, keys_of, load_study


@dataclass
class Evidence:
    """Finds runs by the study under whose name they are kept or stored.

    The studies of ``places`` are read from run folders, ``PLACE/STUDY/[VARIANT/]gammaG_seedS``, where runs of
    another configuration count as missing, and any other from the kept observations in ``folder``, if given.
    """

    places: Mapping[str, Path] = field(default_factory=dict)
    folder: Path | None = KEPT
    load: Callable[[str], Study] = load_study

    def __post_init__(self) -> None:
        self.load = cache(self.load)  # A hundred questions are about some twenty studies.
        self.cells = cache(self.cells)  # type: ignore[method-assign]

    def find(self, needs: Needs) -> Sample:
        """Return an endpoint's runs by variant and γ, each group sorted by seed.

        For a study that another one continues, the planned looks decide which seeds are taken: see ``_look``.
        """
        sample: dict[tuple[str, float], Sequence[Observations]] = {}
        for variant in needs.variants or self.variants_of(needs.study):
            cells = self.cells(needs.study, variant)
            rates = needs.init_rates or self.rates_of(needs.study, variant)
            if len(rates) < needs.least_rates:
                raise self.missing(needs.study, variant, f"{len(rates)} of at least {needs.least_rates} γ")
            for rate in rates:
                if rate not in cells:
                    raise self.missing(needs.study, variant, f"no run at γ = {rate:g}", rate)
                sample[variant, rate] = cells[rate]
        if not sample:  # The folder holds none of the study's variants.
            raise self.missing(needs.study, "", "no runs")
        return self._look(needs.study, sample) if needs.study in MORE else sample

    def _look(self, study: str, sample: Sample) -> Sample:
        """Return the runs of the seeds of the last planned look, cut to the planned length.

        A seed counts once it has reached that length at large and at small γ, so that no endpoint is judged
        before another; seeds between two looks change nothing. A short run equals the beginning of a long
        one, since the learning rate is constant.
        """
        setup = MORE[study]
        length = self._defined(setup.more).configs[None].training.epochs
        cells = self.cells(study, "")
        reached = [
            {run.config.seed for run in cells.get(rate, ()) if run.metrics[-1]["epoch"] >= length}
            for rate in (LARGE, SMALL)
        ]
        seeds = sorted(set.intersection(*reached))
        seeds = seeds[: setup.look(len(seeds))]  # All, where they are too few for a look.
        if not seeds:
            what = f"no seed has reached epoch {length} at γ = {LARGE:g} and {SMALL:g}"
            raise self.missing(study, "", what)
        return {
            cell: [run.until(length) for run in runs if run.config.seed in seeds]
            for cell, runs in sample.items()
        }

    def cells(self, study: str, variant: str) -> dict[float, list[Observations]]:
        """Return the runs of a study's variant by γ, each group sorted by seed."""
        cells: dict[float, list[Observations]] = defaultdict(list)
        for run in sorted(self.runs_of(study, variant), key=lambda run: run.config.seed):
            cells[run.config.init_rate].append(run)
        return dict(cells)

    def runs_of(self, study: str, variant: str) -> Sequence[Observations]:
        """Return the runs of a study's variant, and of the study that continues it."""
        runs = [run for name in _continued(study) for run in self._stored(name, variant)]
        if not runs:
            given = self.folder is None and study not in self.places
            raise self.missing(study, variant, "no runs among those given" if given else "no runs")
        return runs

    def _stored(self, study: str, variant: str) -> Sequence[Observations]:
        root = self.places.get(study)
        if root is None and self.folder is None:
            return []
        try:
            runs = kept(study, variant or None, root=root, folder=self.folder or KEPT)
        except NoRunsError:
            return []
        config = None if root is None else self._defined(study).configs.get(variant or None)
        for run in runs if root is not None else ():
            if config is None or differing_keys(keys_of(run.config), keys_of(config.members()[0])):
                raise self.missing(study, variant, f"{run.label} has another configuration than the study")
        return runs

    def variants_of(self, study: str) -> tuple[str, ...]:
        """Return the variants that have run folders, or else those that the study defines."""
        root = self.places.get(study)
        if root is None:
            return self._defined(study).variants
        return tuple(sorted({path.parent.name for path in runs_inside(root / study, 2)}))

    def rates_of(self, study: str, variant: str) -> tuple[float, ...]:
        """Return the γ that have run folders, or else those that the study defines."""
        if study in self.places:
            return tuple(sorted(self.cells(study, variant)))
        return self._defined(study).configs[variant or None].init_rates

    def makeable(self, needs: Needs) -> list[str]:
        """Return the studies that define missing runs that an endpoint needs."""
        try:
            variants = needs.variants or self._defined(needs.study).variants
            absent = {name: self._absent(name, needs, variants) for name in _continued(needs.study)}
        except (MissingRunsError, KeyError):  # No such study or variant.
            return []
        # A run that diverged would diverge again.
        return [name for name, why in absent.items() if any(w - {"diverged"} for w in why.values())]

    def absent(self, needs: Needs) -> str:
        """Return how many of the study's seeds an endpoint lacks, and why; empty if it lacks none."""
        variants = needs.variants or self.variants_of(needs.study)
        why: dict[int, set[str]] = {}
        seeds: set[int] = set()
        for name in _continued(needs.study):
            why |= self._absent(name, needs, variants)
            configs = self._defined(name).configs
            seeds |= {seed for variant in variants for seed in configs[variant or None].seeds}
        told = ", ".join(f"{seed} ({', '.join(sorted(why[seed]))})" for seed in sorted(why))
        return f"{len(why)} of {len(seeds)} seeds missing: {told}" if why else ""

    def _absent(self, study: str, needs: Needs, variants: Sequence[str]) -> dict[int, set[str]]:
        """Return the seeds of missing runs that a study defines, and why they are missing."""
        reasons = defaultdict[int, set[str]](set)
        for variant in variants:
            config = self._defined(study).configs[variant or None]
            there: set[tuple[float, int]] = set()
            with suppress(MissingRunsError):
                runs = [run for of_rate in self.cells(needs.study, variant).values() for run in of_rate]
                there = {(run.config.init_rate, run.config.seed) for run in runs}
            rates = needs.init_rates or config.init_rates
            for m in config.members():
                if m.init_rate not in rates or (m.init_rate, m.seed) in there:
                    continue
                why = "not kept"
                if study in self.places:
                    run = RunFolder(self.places[study] / study / variant / m.name)
                    why = str(run.read_provenance()["status"]) if run.has_provenance else "not trained"
                reasons[m.seed].add(why)
        return reasons

    def missing(self, study: str, variant: str, what: str, rate: float | None = None) -> MissingRunsError:
        """Return the error that says what a study's variant lacks, and which command makes it."""
        name = f"{study}, {variant}" if variant else study
        if rate is not None and rate not in self._defined(study).configs[variant or None].init_rates:
            return MissingRunsError(f"{name}: {what}, and the study defines none")
        # Where only run folders count, a study that none of them holds goes beside the others.
        beside = next(iter(self.places.values()), None) if self.folder is None else None
        remedy = how_to_make(study, self.places.get(study, beside), self.folder or KEPT)
        return MissingRunsError(f"{name}: {what}; {remedy}")

    def _defined(self, study: str) -> Study:
        try:
            return self.load(study)
        except UnknownStudyError:
            raise self.missing(study, "", "not defined") from None


def _continued(study: str) -> tuple[str, ...]:
    """Return a study and the one that continues it, if there is one."""
    return (study, MORE[study].more) if study in MORE else (study,)


def studies_in(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folder of each study that is in one of some folders, the first where several hold it."""
    places: dict[str, Path] = {}
    for folder in folders:
        names = [path.name for path in sorted(folder.glob("*")) if path.is_dir()]
        if not names:
            raise InputError("runs", str(folder), "no folder with studies", "name one that holds STUDY/NAME")
        places = dict.fromkeys(names, folder) | places
    return places
