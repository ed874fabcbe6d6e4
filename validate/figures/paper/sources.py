"""Where a figure's runs come from by default: a study, or the likeliest setting that has what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from validate.claims.settings import NORMED
from validate.observe import NoRunsError, Observations

Read = Callable[[str], list[Observations]]
"""From a study's name to its kept runs; refuses a study of which none is kept."""


@dataclass(frozen=True)
class Source:
    """Studies of which a figure shows one: the first whose kept runs have every γ that it needs.

    Attributes
    ----------
    studies : tuple of str
        In an order that is fixed by where their settings come from, never by what their runs show.
    init_rates : tuple of float
        The γ without which the figure says nothing; a study that lacks one is passed over.
    """

    studies: tuple[str, ...]
    init_rates: tuple[float, ...] = ()

    def find(self, read: Read) -> tuple[str, list[Observations]]:
        """Return the study and its kept runs.

        Raises
        ------
        NoRunsError
            If no study has them: the refusal of the first.
        """
        refused: list[NoRunsError] = []
        for study in self.studies:
            try:
                found = read(study)
            except NoRunsError as error:
                refused.append(error)
                continue
            lacking = sorted(set(self.init_rates) - {run.config.init_rate for run in found})
            if not lacking:
                return study, found
            refused.append(_lacks(study, lacking))
        raise refused[0]


def likeliest(*init_rates: float) -> Source:
    """Return the settings of the paper's Transformer with layer norm, the likeliest of the paper first."""
    return Source(tuple(setup.study for setup in NORMED), init_rates)


def _lacks(study: str, init_rates: Sequence[float]) -> NoRunsError:
    rates = ", ".join(f"{rate:g}" for rate in init_rates)
    remedy = f"make them: anchorflow study {study} --run --keep"
    return NoRunsError("study", study, f"no kept run at γ = {rates}", remedy)
