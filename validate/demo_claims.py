"""The statements that ``anchorflow demo`` puts to the test, with thresholds fixed beforehand.

Each claim is a list of conditions; a condition is a measure of one run, whose mean over seeds is held
against a threshold. γ = 0.3 is the negative control: the structure claimed at γ = 0.8 must be absent.
The thresholds were set from trials on other seeds before the demo's own runs existed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sim.run import Run
from theory import off_diagonal
from validate.compare import measures, observed_cosines
from validate.settings import Setting
from validate.stats import COSINE, SHARE, Estimate, over_seeds

SMALL, LARGE = 0.8, 0.3
"""The γ of small initial weights, and that of large ones."""
Measure = Callable[[Run], float]


@dataclass(frozen=True)
class Condition:
    """One measure against one threshold.

    Attributes
    ----------
    init_rate : float
        γ of the runs it is about.
    what : str
        The measure in words.
    measure : callable
        From a run to a number, at the run's last epoch.
    relation : {">=", "<=", ">"}
    threshold : float
    within : tuple of float
        The values that the measure can take.
    """

    init_rate: float
    what: str
    measure: Measure
    relation: Literal[">=", "<=", ">"]
    threshold: float
    within: tuple[float, float]

    def met(self, value: float) -> bool:
        """Return whether a value meets the threshold; an undefined one does not."""
        if self.relation == ">=":
            return value >= self.threshold
        return value <= self.threshold if self.relation == "<=" else value > self.threshold


@dataclass(frozen=True)
class Claim:
    """A statement that holds if all of its conditions do."""

    name: str
    statement: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Outcome:
    """A condition after the runs.

    Attributes
    ----------
    claim : Claim
    condition : Condition
    estimate : Estimate
        Mean over seeds with its interval.
    seeds_met : int
        How many seeds meet the threshold by themselves.
    holds : bool
        Whether the mean meets it.
    clear : bool
        Whether the whole interval lies on the same side as the mean.
    """

    claim: Claim
    condition: Condition
    estimate: Estimate
    seeds_met: int
    holds: bool
    clear: bool

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        c = self.condition
        return {
            "claim": self.claim.name,
            "statement": self.claim.statement,
            "init_rate": c.init_rate,
            "measure": c.what,
            "relation": c.relation,
            "threshold": c.threshold,
            "estimate": self.estimate.as_dict(),
            "seeds_met": self.seeds_met,
            "holds": self.holds,
            "clear": self.clear,
        }


def accuracy(part: str) -> Measure:
    """Return the measure of a data set's final accuracy."""
    return lambda run: float(run.metrics[-1]["accuracy"][part])


def mean_memory_cosine(run: Run) -> float:
    """Return the mean cosine among memory anchors at the end."""
    return float(off_diagonal(_final_cosines(run, run.task.memory_anchors)).mean())


def distance_correlation(run: Run) -> float:
    """Return Spearman's correlation between |s_i − s_j| and the cosine over reasoning anchor pairs."""
    distance, cosine = _by_distance(run)
    return float(measures(distance, cosine)["spearman"])


def neighbour_excess(run: Run) -> float:
    """Return the mean cosine of neighbours minus that of the anchors nine apart."""
    distance, cosine = _by_distance(run)
    return float(cosine[distance == 1].mean() - cosine[distance == 9].mean())


def _final_cosines(run: Run, tokens: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return observed_cosines(run, run.config.training.epochs, tokens)


def _by_distance(run: Run) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    tokens = run.task.reasoning_anchors
    values = np.array(tokens)
    distances = np.abs(values[:, None] - values)
    return off_diagonal(distances), off_diagonal(_final_cosines(run, tokens))


CLAIMS = (
    Claim(
        "reasoning first",
        "With small initial weights the held-out sums are solved before anything is memorised.",
        (
            Condition(SMALL, "reasoning test accuracy", accuracy("rsn_test"), ">=", 0.7, SHARE),
            Condition(SMALL, "memory accuracy", accuracy("mem"), "<=", 0.1, SHARE),
        ),
    ),
    Claim(
        "no reasoning",
        "With large initial weights the held-out sums are not solved.",
        (Condition(LARGE, "reasoning test accuracy", accuracy("rsn_test"), "<=", 0.1, SHARE),),
    ),
    Claim(
        "memory anchors align",
        "Memory anchors share one label distribution, and small initial weights give them one direction.",
        (
            Condition(SMALL, "mean cosine among memory anchors", mean_memory_cosine, ">=", 0.9, COSINE),
            Condition(
                LARGE,
                "|mean cosine among memory anchors|",
                lambda run: abs(mean_memory_cosine(run)),
                "<=",
                0.2,
                COSINE,
            ),
        ),
    ),
    Claim(
        "reasoning anchors are ordered",
        "With small initial weights the cosine of reasoning anchors falls with their distance.",
        (
            Condition(SMALL, "Spearman of distance and cosine", distance_correlation, "<=", -0.9, COSINE),
            Condition(SMALL, "neighbours minus nine apart", neighbour_excess, ">=", 0.1, (-2.0, 2.0)),
        ),
    ),
    Claim(
        "no order",
        "With large initial weights it does not.",
        (Condition(LARGE, "Spearman of distance and cosine", distance_correlation, ">", -0.8, COSINE),),
    ),
)


def judge(settings: Sequence[Setting]) -> list[Outcome]:
    """Return every condition's outcome on the demo's runs."""
    by_rate = {setting.init_rate: setting.runs for setting in settings}
    return [
        _outcome(claim, condition, by_rate[condition.init_rate])
        for claim in CLAIMS
        for condition in claim.conditions
    ]


def _outcome(claim: Claim, condition: Condition, runs: Sequence[Run]) -> Outcome:
    values = [condition.measure(run) for run in runs]
    estimate = over_seeds(values, condition.within)
    holds = estimate.n == len(values) and condition.met(estimate.mean)
    ends = (estimate.low, estimate.high)
    clear = all(end is not None and condition.met(end) == holds for end in ends)
    return Outcome(claim, condition, estimate, sum(map(condition.met, values)), holds, clear)
