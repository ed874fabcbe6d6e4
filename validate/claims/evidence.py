"""Where the runs of a claim come from: what is kept in the repository, or run folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from theory import InputError
from validate.claims.given import is_of_study
from validate.claims.statements import Needs, Sample
from validate.claims.verdicts import MissingRunsError
from validate.observe import KEPT, Observations, kept
from validate.observe.errors import NoRunsError
from validate.studies import Study, load_study
from validate.studies.study import UnknownStudyError


@dataclass
class Evidence:
    """Finds the runs that conditions need, and reads each study's once.

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
    _cells: dict[tuple[str, str], dict[float, list[Observations]]] = field(default_factory=dict, init=False)

    def find(self, needs: Needs) -> Sample:
        """Return a condition's runs by variant and γ, those of each sorted by seed.

        Raises
        ------
        MissingRunsError
            If a variant or a γ is missing, or there are fewer values of γ than needed.
        """
        found: dict[tuple[str, float], Sequence[Observations]] = {}
        for variant in needs.variants or self._variants(needs.study):
            cells = self._read(needs.study, variant)
            rates = needs.init_rates or self._rates(needs.study, variant)
            if len(rates) < needs.least_rates:
                raise _missing(needs.study, variant, f"{len(rates)} of {needs.least_rates} γ")
            for rate in rates:
                if rate not in cells:
                    raise _missing(needs.study, variant, f"no run at γ = {rate:g}")
                found[variant, rate] = cells[rate]
        return found

    def has(self, needs: Needs) -> bool:
        """Return whether all of a condition's runs are there."""
        try:
            self.find(needs)
        except MissingRunsError:
            return False
        return True

    def _read(self, study: str, variant: str) -> dict[float, list[Observations]]:
        key = study, variant
        if key not in self._cells:
            self._cells[key] = _by_rate(self._observations(study, variant))
        return self._cells[key]

    def _observations(self, study: str, variant: str) -> list[Observations]:
        root = self.places.get(study)
        if root is None and self.folder is None:
            raise _missing(study, variant, "no runs among those given")
        try:
            found = kept(study, variant or None, root=root, folder=self.folder or KEPT)
        except NoRunsError:
            raise _missing(study, variant, "no runs") from None
        if root is not None:
            self._check_study(found, study, variant)
        return found

    def _check_study(self, runs: Sequence[Observations], study: str, variant: str) -> None:
        """Take runs for missing that have the study's folder but not its configuration."""
        config = self._defined(study).configs.get(variant or None)
        for run in runs:
            if config is None or not is_of_study(run.config, config):
                raise _missing(study, variant, f"{run.label} has another configuration than the study")

    def _variants(self, study: str) -> tuple[str, ...]:
        """Return the variants whose run folders there are, or that the study has by its definition."""
        root = self.places.get(study)
        if root is None:
            return self._defined(study).variants
        return tuple(sorted({path.parent.parent.name for path in (root / study).glob("*/*/config.json")}))

    def _rates(self, study: str, variant: str) -> tuple[float, ...]:
        """Return the γ of the run folders there are, or that the study has by its definition."""
        if study in self.places:
            return tuple(sorted(self._read(study, variant)))
        return self._defined(study).configs[variant or None].init_rates

    def _defined(self, study: str) -> Study:
        try:
            return self.load(study)
        except UnknownStudyError:
            raise _missing(study, "", "not defined") from None


def studies_in(folders: Sequence[Path]) -> dict[str, Path]:
    """Return where each study lies whose run folders are in some folders; the first that has it counts.

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


def _by_rate(runs: Sequence[Observations]) -> dict[float, list[Observations]]:
    cells: dict[float, list[Observations]] = {}
    for run in sorted(runs, key=lambda run: run.config.seed):
        cells.setdefault(run.config.init_rate, []).append(run)
    return cells


def _missing(study: str, variant: str, what: str) -> MissingRunsError:
    name = f"{study}, {variant}" if variant else study
    return MissingRunsError(f"{name}: {what}; make them: anchorflow study {study} --run --keep")
