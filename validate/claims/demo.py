"""The statements that ``anchorflow demo`` tests, with thresholds fixed beforehand.

γ = 0.3 is the negative control: the structure claimed at γ = 0.8 must be absent, which is a claim of its own
here. All measures are taken at a run's last epoch. The thresholds were set from trials on other seeds before
the demo's own runs existed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from theory import InputError, off_diagonal
from theory.arrays import FloatArray
from theory.checked import checked
from validate.claims.measures import geometry
from validate.claims.measures.order import spearman_step
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Needs, Relation, Sample, each
from validate.claims.verdicts import Outcome, judge_claims
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SHARE
from validate.observe import Observations
from validate.predict.predictors import Tokens

RunMeasure = Callable[[Observations], float]
_TEST, _MEMORY, _RANKS = 1 / 100, 1 / 10_000, spearman_step(10 * 9 // 2)
"""The steps of a test accuracy (both orders of a pair are one input, with each of 100 keys), of the table's
accuracy, and of Spearman's correlation over the pairs of ten anchors."""


def accuracy(part: str) -> RunMeasure:
    """Return the measure of a data set's final accuracy."""
    return lambda run: float(run.metrics[-1]["accuracy"][part])


def mean_memory_cosine(run: Observations) -> float:
    """Return the mean cosine among memory anchors at the end."""
    return float(off_diagonal(_final_cosines(run, run.task.memory_anchors)).mean())


def distance_correlation(run: Observations) -> float:
    """Return Spearman's correlation between |s_i − s_j| and the cosine over reasoning anchor pairs."""
    tokens = run.task.reasoning_anchors
    return geometry.distance_correlation(tokens, _final_cosines(run, tokens))


def neighbour_excess(run: Observations) -> float:
    """Return the mean cosine of neighbours minus that of the anchors nine apart."""
    tokens = run.task.reasoning_anchors
    return geometry.neighbour_excess(tokens, _final_cosines(run, tokens))


def _final_cosines(run: Observations, tokens: Tokens) -> FloatArray:
    return run.cosines(tokens, run.config.training.epochs)


def _at(
    init_rate: float,
    what: str,
    measure: RunMeasure,
    relation: Relation,
    threshold: float,
    within: tuple[float, float],
    step: float = 0.0,
) -> Condition:
    needs = Needs("demo", (init_rate,))
    return Condition(what, each(measure), relation, threshold, within, needs=needs, step=step)


CLAIMS = (
    Claim(
        "reasoning first",
        "With small initial weights the held-out sums are solved before anything is memorised.",
        (
            _at(SMALL, "reasoning test accuracy", accuracy("rsn_test"), ">=", 0.7, SHARE, _TEST),
            _at(SMALL, "memory accuracy", accuracy("mem"), "<=", 0.1, SHARE, _MEMORY),
        ),
    ),
    Claim(
        "no reasoning",
        "With large initial weights the held-out sums are not solved.",
        (_at(LARGE, "reasoning test accuracy", accuracy("rsn_test"), "<=", 0.1, SHARE, _TEST),),
    ),
    Claim(
        "memory anchors align",
        "Memory anchors share one label distribution, and small initial weights give them one direction.",
        (
            _at(SMALL, "mean cosine among memory anchors", mean_memory_cosine, ">=", 0.9, COSINE),
            _at(
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
            _at(SMALL, "Spearman of distance and cosine", distance_correlation, "<=", -0.9, COSINE, _RANKS),
            _at(SMALL, "neighbours minus nine apart", neighbour_excess, ">=", 0.1, (-2.0, 2.0)),
        ),
    ),
    Claim(
        "no order",
        "With large initial weights it does not.",
        (_at(LARGE, "Spearman of distance and cosine", distance_correlation, ">", -0.8, COSINE, _RANKS),),
    ),
)


@checked
def judge_demo(settings: Sequence[Setting]) -> list[Outcome]:
    """Return every condition's outcome on the demo's runs.

    Parameters
    ----------
    settings : sequence of Setting
        The runs at γ = 0.3 and 0.8.

    Raises
    ------
    InputError
        If one of the two γ has no runs.
    """
    by_rate = {setting.init_rate: setting.runs for setting in settings}

    def find(needs: Needs) -> Sample:
        for rate in needs.init_rates:
            if rate not in by_rate:
                raise InputError(
                    "settings", sorted(by_rate), f"no runs of γ = {rate:g}", "give the demo's runs"
                )
        return {("", rate): by_rate[rate] for rate in needs.init_rates}

    return [outcome for finding in judge_claims(CLAIMS, find) for outcome in finding.outcomes]
