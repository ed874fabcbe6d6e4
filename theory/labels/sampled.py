r"""Label distributions by drawing sequences, for tasks too large to enumerate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import Float64, FloatArray, IntArray
from theory.checked import Size, checked
from theory.errors import InputError
from theory.labels.distribution import Role, token_ratio
from theory.task.domain import Domain, Selection
from theory.task.mapping import Mapping
from theory.task.task import Task

_MAX_DRAWN = 50_000_000


@dataclass(frozen=True)
class SampledDistribution:
    r"""An estimate of P^s. It is not P^s: every entry has an error.

    Attributes
    ----------
    shares : ndarray of float64, shape (vocab_size,)
        The share of each label among the drawn sequences; the shares sum to 1.
    standard_error : ndarray of float64, shape (vocab_size,)
        Of each share p, :math:`\sqrt{p(1-p)/n}` with half a sequence added to either side, so that a label
        that was never drawn has an error too.
    n_samples : int
        The number of sequences drawn.
    """

    shares: Float64[FloatArray, " d"]
    standard_error: Float64[FloatArray, " d"]
    n_samples: int


@checked
def sample_label_distribution(
    task: Task,
    token: int,
    rng: np.random.Generator,
    *,
    n_samples: Size = 100_000,
    role: Role = "any",
    held_out: bool = False,
) -> SampledDistribution:
    r"""Estimate P^s from independent draws, each of a sequence in proportion to how often it holds s.

    Its cost does not depend on the number of keys and combinations. ``label_distribution`` is exact and
    the better choice wherever it does not refuse.

    Parameters
    ----------
    task, token, role, held_out
        As in ``label_distribution``.
    rng : numpy.random.Generator
        Draws the sequences.
    n_samples : int, optional
        How many; the standard error falls with its square root.

    Raises
    ------
    InputError
        If the token lies outside the vocabulary or never occurs in this role, or the draw is too large.
    """
    drawn = _Draw(task, rng, held_out)
    if n_samples * (task.n_anchors + 1) > _MAX_DRAWN:
        problem = f"{n_samples * (task.n_anchors + 1):.3g} tokens to draw"
        remedy = f"give at most {_MAX_DRAWN // (task.n_anchors + 1)}"
        raise InputError("n_samples", n_samples, problem, remedy)
    roles: tuple[Role, ...] = ("anchor", "key", "noise") if role == "any" else (role,)
    ratios = np.array([token_ratio(task, token, role=r, held_out=held_out) for r in roles])
    if not ratios.any():
        raise InputError("token", token, f"never occurs in the role {role!r}", "choose a token that does")
    counts = np.zeros(task.vocab_size, np.int64)
    for each, n in zip(roles, rng.multinomial(n_samples, ratios / ratios.sum()), strict=True):
        counts += np.bincount(drawn.labels(token, each, int(n)), minlength=task.vocab_size)
    smoothed = (counts + 0.5) / (n_samples + 1)
    return SampledDistribution(counts / n_samples, np.sqrt(smoothed * (1 - smoothed) / n_samples), n_samples)


@dataclass(frozen=True)
class _Draw:
    """Draws the labels of sequences that hold a token in a role."""

    task: Task
    rng: np.random.Generator
    held_out: bool

    def labels(self, token: int, role: Role, n: int) -> IntArray:
        """Return n labels."""
        if role == "anchor":
            mapping = self.task.mapping_of(token)
            return self._labels(mapping, n, token, None) if mapping is not None else np.zeros(0, np.int64)
        # Combinations are equally frequent, so that a mapping occurs in proportion to how many it has.
        sizes = [self.task.n_combinations(m, held_out=self.held_out) for m in self.task.mappings]
        shares = np.array([size / sum(sizes) for size in sizes])
        numbers = self.rng.multinomial(n, shares / shares.sum())
        key = token if role == "key" else None
        parts = [self._labels(m, int(k), None, key) for m, k in zip(self.task.mappings, numbers, strict=True)]
        return np.concatenate(parts)

    def _labels(self, mapping: Mapping, n: int, anchor: int | None, key: int | None) -> IntArray:
        domain = self.task.domain(mapping)
        anchors = self._combinations(domain, mapping, n, anchor)
        keys = np.full(n, key) if key is not None else self.rng.choice(np.array(domain.keys), size=n)
        return mapping.rule.draw_labels(domain, keys, anchors, self.rng)

    def _combinations(self, domain: Domain, mapping: Mapping, n: int, anchor: int | None) -> IntArray:
        """Draw combinations, shape (n, q), that hold ``anchor``, the more often the more they do."""
        held_out = mapping.held_out if self.held_out else frozenset()
        # Where most of an anchor's combinations may be held out, rejecting them one by one would not end.
        scarce = 2 * len(held_out) > domain.n_combinations // len(domain.anchors)
        if held_out and (domain.n_combinations <= n or (scarce and domain.is_enumerable)):
            weights = domain.times(Selection(anchor, held_out=held_out))
            return domain.combinations()[self.rng.choice(len(weights), size=n, p=weights / weights.sum())]
        # A slot drawn uniformly for the anchor weighs a combination by how often it holds it.
        drawn = self.rng.choice(np.array(domain.anchors), size=(n, domain.n_anchors))
        if anchor is not None:
            drawn[np.arange(n), self.rng.integers(domain.n_anchors, size=n)] = anchor
        for row in np.flatnonzero([tuple(c) in held_out for c in drawn.tolist()]) if held_out else ():
            drawn[row] = self._combinations(domain, mapping, 1, anchor)[0]
        return drawn
