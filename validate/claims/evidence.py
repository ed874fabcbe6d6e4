"""Where the runs of a claim come from: what is kept in the repository, or run folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from theory import InputError
from validate.claims.statements import Needs, Sample
from validate.claims.verdicts import MissingRunsError
from validate.observe import KEPT, Observations, kept


@dataclass
class Evidence:
    """Finds the runs that conditions need, and reads each study's once.

    Attributes
    ----------
    roots : sequence of Path
        Folders that hold studies as ``STUDY/[VARIANT/]gammaG_seedS``. A study that lies in one of them is
        taken from there, any other from ``folder``.
    folder : Path
        The kept observations.
    """

    roots: Sequence[Path] = ()
    folder: Path = KEPT
    _cells: dict[tuple[str, str], dict[float, list[Observations]]] = field(default_factory=dict)

    def find(self, needs: Needs) -> Sample:
        """Return a condition's runs by variant and γ, those of each sorted by seed.

        Raises
        ------
        MissingRunsError
            If a variant or a γ is missing, or there are fewer values of γ than needed.
        """
        variants = needs.variants or self._variants(needs.study)
        found: dict[tuple[str, float], Sequence[Observations]] = {}
        for variant in variants:
            cells = self._read(needs.study, variant)
            rates = needs.init_rates or tuple(sorted(cells))
            if len(rates) < needs.least_rates:
                raise _missing(
                    needs.study, variant, f"{len(rates)} values of γ, {needs.least_rates} are needed"
                )
            for rate in rates:
                if rate not in cells:
                    raise _missing(needs.study, variant, f"no run at γ = {rate:g}")
                found[variant, rate] = cells[rate]
        return found

    def _read(self, study: str, variant: str) -> dict[float, list[Observations]]:
        key = study, variant
        if key not in self._cells:
            self._cells[key] = _by_rate(self._observations(study, variant))
        return self._cells[key]

    def _observations(self, study: str, variant: str) -> list[Observations]:
        root = next((r for r in self.roots if (r / study).is_dir()), None)
        try:
            return kept(study, variant or None, root=root, folder=self.folder)
        except InputError as error:
            # Any other refusal, as that of a damaged file, is the user's to hear of.
            if error.argument != "study":
                raise
            raise _missing(study, variant, "no runs") from None

    def _variants(self, study: str) -> tuple[str, ...]:
        root = next((r for r in self.roots if (r / study).is_dir()), None)
        if root is not None:
            names = {path.parent.parent.name for path in (root / study).glob("*/*/config.json")}
        else:
            files = (self.folder / study).glob("*__*.safetensors")
            names = {path.name.rpartition("__")[0] for path in files}
        if not names:
            raise _missing(study, "", "no runs")
        return tuple(sorted(names))


def _by_rate(runs: Sequence[Observations]) -> dict[float, list[Observations]]:
    cells: dict[float, list[Observations]] = {}
    for run in sorted(runs, key=lambda run: run.config.seed):
        cells.setdefault(run.config.init_rate, []).append(run)
    return cells


def _missing(study: str, variant: str, what: str) -> MissingRunsError:
    name = f"{study}, {variant}" if variant else study
    return MissingRunsError(
        f"{name}: {what}; make them: anchorflow claims --run, or anchorflow study {study} --run --keep"
    )
