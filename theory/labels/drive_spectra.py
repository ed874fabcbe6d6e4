r"""The drives of memory and reasoning once each knows its own labels, and one scalar that compares them.

For a kind of mapping, with :math:`\bar P` the mean label distribution of its training sequences,
:math:`G = E[c^\top (y - \bar P)]` is what still pulls on the tokens when the marginal has been fitted. The
squares of the singular values of :math:`S^{-1/2} G`, over the variance of the label, are the share of it
that a sum over tokens explains: all that a network near its start can use. [beyond]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.arrays import Float64, FloatArray, Int64, IntArray
from theory.checked import checked
from theory.display import Shown
from theory.errors import InputError
from theory.labels.counts import TRAINING, CountPopulation, count_population
from theory.task.mapping import Mapping
from theory.task.task import Task

_ROUNDING = 1e-12
"""A drive of a few tokens in a sequence has no singular value below this but by rounding."""


@dataclass(frozen=True, repr=False)
class DriveSpectra(Shown):
    """Singular values of both kinds' drives, what of the labels they explain, and scalars that compare them.

    Attributes
    ----------
    memory, reasoning : ndarray, shape (d,)
        Singular values of G for the table mappings and for the others, largest first.
    memory_explained, reasoning_explained : float
        The share of each kind's label variance that is a sum over tokens, in [0, 1].
    """

    memory: Float64[FloatArray, " d"]
    reasoning: Float64[FloatArray, " d"]
    memory_explained: float
    reasoning_explained: float

    @property
    def explained_ratio(self) -> float:
        """log2 of the share of the label that tokens explain, reasoning over memory: a task's scalar."""
        return _log_ratio(self.reasoning_explained, self.memory_explained)

    @property
    def half_energy_ratio(self) -> float:
        """log2 of the reasoning drive's half-energy singular value over the memory drive's."""
        return _log_ratio(_half_energy(self.reasoning), _half_energy(self.memory))

    @property
    def top_ratio(self) -> float:
        """log2 of the reasoning drive's largest singular value over the memory drive's."""
        return _log_ratio(float(self.reasoning[0]), float(self.memory[0]))

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        title = (
            f"reasoning over memory, log2: explained {self.explained_ratio:.3g}, "
            f"half energy {self.half_energy_ratio:.3g}, top {self.top_ratio:.3g}"
        )
        kinds = (
            ("memory", self.memory, self.memory_explained),
            ("reasoning", self.reasoning, self.reasoning_explained),
        )
        rows = [[name, f"{values[0]:.4g}", f"{share:.4g}"] for name, values, share in kinds]
        return title, ["kind", "largest singular value", "explained by tokens"], rows


@checked
def drive_spectra(task: Task, tables: Sequence[Int64[IntArray, "{len(task.keys)} _"] | None]) -> DriveSpectra:
    """Return the spectra of the memory and the reasoning drive of a task with drawn tables.

    Parameters
    ----------
    task : Task
        With at least one table mapping and one other, small enough to enumerate.
    tables : sequence of (ndarray or None)
        As ``draw_tables`` gives them: what a memory anchor is driven by depends on the draw.

    Raises
    ------
    InputError
        If one of the kinds is missing, or the population is too large to enumerate.
    """
    kinds = {mapping.is_table for mapping in task.mappings}
    if kinds != {True, False}:
        missing = "reasoning" if True in kinds else "memory"
        raise InputError("task", len(task.mappings), f"no {missing} mapping", "give one of each kind")
    population = count_population(task, tables)
    memory, reasoning = (_kind(population, _columns(task, population, table)) for table in (True, False))
    return DriveSpectra(memory[0], reasoning[0], memory[1], reasoning[1])


def _columns(task: Task, population: CountPopulation, table: bool) -> npt.NDArray[np.bool_]:
    """Return which anchor bags belong to the mappings of one kind."""
    names = [_training_name(mapping) for mapping in task.mappings if mapping.is_table is table]
    return np.asarray(np.any([population.data_sets[name].any(axis=0) for name in names], axis=0))


def _training_name(mapping: Mapping) -> str:
    return f"{mapping.name} train" if mapping.held_out else mapping.name


def _kind(population: CountPopulation, columns: npt.NDArray[np.bool_]) -> tuple[FloatArray, float]:
    """Return one kind's singular values, and the share of its label's variance that tokens explain."""
    weights = population.weights * columns
    own = replace(population, data_sets={TRAINING: weights / weights.sum()})
    marginal = np.einsum("ij,ijk->k", own.weights, own.label_distributions)
    ratios = own.weights.sum(axis=1) @ own.left + own.weights.sum(axis=0) @ own.right
    drive = own.token_label_mass[TRAINING] - np.outer(ratios, marginal)
    values = weights.sum() * np.linalg.svd(drive, compute_uv=False)
    # Sums that are fixed give S a null space, which the drive never enters.
    explained = float(np.sum(drive * (np.linalg.pinv(own.cooccurrence(), hermitian=True) @ drive)))
    variance = 1 - float(marginal @ marginal)
    return np.where(values > _ROUNDING, values, 0.0), explained / variance if variance > 0 else 0.0


def _half_energy(values: FloatArray) -> float:
    """Return the singular value with which the squares, largest first, pass half of their sum."""
    energy = np.cumsum(np.square(values))
    return float(values[np.searchsorted(energy, energy[-1] / 2)])


def _log_ratio(reasoning: float, memory: float) -> float:
    """Return log2 of a ratio: ±∞ where one of the drives vanishes, NaN where both do."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log2(reasoning) - np.log2(memory))
