"""What the theory says about a task whose labels are too many to count: estimates with standard errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theory import LabelMoments, Mapping, SampledLabels, Task, sample_labels, token_ratio
from theory.errors import TooManyEntriesError, shown
from validate.figures.embedding import excess_curves
from validate.figures.panels.curves import Curves
from validate.judge.compare import groups_of
from validate.predict.by_distance import distance_notes
from validate.predict.exact import (
    Cosines,
    TokenStatistics,
    finite_sample,
    kind_of,
    mean_and_std,
    plain_cosines,
    shown_tokens,
    too_few_notes,
)
from validate.predict.predictors import MARGINAL, UNIFORM, Tokens, task_cosines
from validate.predict.sampled_cosines import (
    ExactCosines,
    SampledCosines,
    anchor_weights,
    summary,
    with_error,
)

Estimates = dict[str, ExactCosines | SampledCosines]


@dataclass(frozen=True)
class SampledStatistics:
    """Estimates of what ``ExactStatistics`` counts; NaN where the samples tell nothing.

    Attributes
    ----------
    task : Task
    tokens : list of TokenStatistics
    cosines : dict
    labels : SampledLabels
        The draws, of the tokens in ``tokens``.
    reason : TooManyEntriesError
        Why the labels cannot be counted.
    seed : int
    token_errors : list of TokenStatistics
        The standard errors of ``tokens``.
    estimates : dict
        group → predictor → its cosines with their errors.
    """

    task: Task
    tokens: list[TokenStatistics]
    cosines: Cosines
    labels: SampledLabels
    reason: TooManyEntriesError
    seed: int
    token_errors: list[TokenStatistics]
    estimates: dict[str, Estimates]

    @classmethod
    def draw(cls, task: Task, n_samples: int, seed: int, reason: TooManyEntriesError) -> SampledStatistics:
        """Sample the label distributions of a task and estimate everything from them."""
        rng = np.random.default_rng(seed)
        labels = sample_labels(task, shown_tokens(task), rng, n_samples=n_samples, held_out=True)
        tokens, errors = _statistics(task, labels)
        estimates = {group: _estimates(task, labels, found) for group, found in groups_of(task).items()}
        cosines = {
            group: {name: cosines.over(lambda m: m).value for name, cosines in found.items()}
            for group, found in estimates.items()
        }
        return cls(task, tokens, cosines, labels, reason, seed, errors, estimates)

    @property
    def n_samples(self) -> int:
        """The number of sequences drawn for each token that is sampled."""
        return int(self.labels.n_samples.max())

    def token_rows(self) -> list[list[str]]:
        """Return one line per token, every estimate with its standard error."""
        rows = []
        for t, error in zip(self.tokens, self.token_errors, strict=True):
            cells = [with_error(getattr(t, name), getattr(error, name)) for name in ("mean", "std", "norm2")]
            rows.append([str(t.token), t.kind, f"{t.ratio:.4g}", *cells])
        return rows

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor, every estimate with its standard error.

        Behind the group stands on how many of its anchors a line rests, if these are not all.
        """
        return [
            [group + _rests_on(cosines), name, *summary(cosines, tokens)]
            for group, tokens in groups_of(self.task).items()
            for name, cosines in self.estimates[group].items()
        ]

    def notes(self) -> list[str]:
        """Return what was sampled, and how far the numbers can be trusted."""
        exact = ", ".join(map(str, self._exact_tokens()))
        return [
            f"Sampled, since the labels are too many to count: {self.reason.argument} = "
            f"{shown(self.reason.value)}: {self.reason.problem}.",
            f"{self.n_samples} sequences were drawn for each token"
            f"{f' but {exact}' if exact else ''} (seed {self.seed}).",
            "After ± stands one standard error; numbers without ± are exact, but the means of pairs 1, 2, "
            "... apart, which are given in the decimals that their errors leave.",
            "|P^s - u|^2 and the cosines are corrected for the sampling noise, which would bias them. Among "
            "many cosines the smallest and the largest are also those with the most extreme errors.",
            *distance_notes(groups_of(self.task).values()),
            *too_few_notes(self.task),
            *self._unresolved(),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cosine that the samples do not resolve is null."""
        return {
            "tokens": [asdict(t) for t in self.tokens],
            "cosines": plain_cosines(self.cosines),
            "label_distributions": self._by_anchor(),
            "marginal": self._marginal(),
            "n_samples": self.n_samples,
            "seed": self.seed,
            "standard_error": {
                "tokens": [asdict(t) for t in self.token_errors],
                "cosines": plain_cosines(
                    {
                        group: {name: c.over(lambda m: m).standard_error for name, c in found.items()}
                        for group, found in self.estimates.items()
                    }
                ),
                "label_distributions": self._by_anchor(errors=True),
                "marginal": self._marginal(errors=True),
            },
            "exact_tokens": self._exact_tokens(),
            "notes": self.notes(),
        }

    def _exact_tokens(self) -> list[int]:
        return [s for s, n in zip(self.labels.tokens, self.labels.n_samples, strict=True) if not n]

    def _by_anchor(self, *, errors: bool = False) -> dict[str, list[float]]:
        shares = self.labels.estimate(lambda m: m.shares)
        found = shares.standard_error if errors else shares.value
        return {str(s): found[self.labels.tokens.index(s)].tolist() for s in self.task.anchors}

    def _marginal(self, *, errors: bool = False) -> list[float]:
        weights = anchor_weights(self.task, self.labels)
        found = self.labels.estimate(lambda m: weights @ m.shares)
        return list((found.standard_error if errors else found.value).tolist())

    def label_distributions(self, mapping: Mapping) -> Curves:
        """Return the panel of a mapping's label distributions."""
        rows = [self.labels.tokens.index(s) for s in mapping.anchors]
        excess = self.labels.moments.shares[rows] - 1 / self.task.vocab_size
        sampled = ", sampled" if self.labels.n_samples[rows].any() else ""
        return excess_curves(mapping.anchors, excess, f"{mapping.name} anchors{sampled}")

    def _unresolved(self) -> list[str]:
        """Return a sentence for each group with anchors whose vectors are lost in the noise."""
        sentences = []
        for group, found in self.estimates.items():
            for name, cosines in found.items():
                if isinstance(cosines, SampledCosines) and not cosines.resolved.all():
                    lost = int((~cosines.resolved).sum())
                    sentences.append(
                        f"Cosines of {name} are left out for {lost} of the {len(cosines.rows)} anchors of "
                        f"{group!r}: {self.n_samples} sequences do not tell that vector from zero."
                    )
        return sentences


def _rests_on(cosines: ExactCosines | SampledCosines) -> str:
    """Return of how many anchors the samples show a direction, as a remark; nothing if of all."""
    if not isinstance(cosines, SampledCosines) or cosines.resolved.all():
        return ""
    return f" ({int(cosines.resolved.sum())} of {len(cosines.rows)} anchors)"


def _estimates(task: Task, labels: SampledLabels, tokens: Tokens) -> Estimates:
    rows = [labels.tokens.index(s) for s in tokens]
    exact = task_cosines(task, tokens, sums_only=True) | finite_sample(task, tokens)
    return {
        UNIFORM: SampledCosines(labels, rows),
        MARGINAL: SampledCosines(labels, rows, anchor_weights(task, labels)),
        **{name: ExactCosines(matrix) for name, matrix in exact.items()},
    }


def _statistics(task: Task, labels: SampledLabels) -> tuple[list[TokenStatistics], list[TokenStatistics]]:
    """Return the statistics of every token, and their standard errors."""
    found = labels.estimate(_token_numbers)
    values, errors = [], []
    for row, token in enumerate(labels.tokens):
        kind, ratio = kind_of(task, token), token_ratio(task, token, held_out=True)
        values.append(TokenStatistics(token, kind, ratio, *map(float, found.value[row])))
        errors.append(TokenStatistics(token, kind, 0.0, *map(float, found.standard_error[row])))
    return values, errors


def _token_numbers(moments: LabelMoments) -> list[tuple[float, float, float]]:
    """Return the mean and the standard deviation of the label, and ‖P^s − u‖², of every token."""
    norms = np.diagonal(moments.centred())
    return [(*mean_and_std(row), float(norm)) for row, norm in zip(moments.shares, norms, strict=True)]
