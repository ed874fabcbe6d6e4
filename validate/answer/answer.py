"""The answer about the runs of one task and model, in words and as data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from theory.checked import checked
from theory.display import html_table
from validate.answer import conditions as on
from validate.answer.missing import Missing, label
from validate.answer.ranking import ranking
from validate.answer.verdict import (
    CRITICAL,
    LONGER,
    MORE_SEEDS,
    NO_RUN,
    State,
    Verdict,
    chance,
    judge,
    measure,
    p_value,
    pick,
    state,
)
from validate.claims.statements import LARGE, SMALL, Condition
from validate.claims.verdicts import OUTCOMES, Outcome
from validate.judge.groups import Setting, as_settings
from validate.judge.stats import COSINE, Estimate, over_seeds
from validate.judge.times import early_epochs, early_text
from validate.observe import Source

NOTHING_PREDICTED = "a task with fewer than three anchors has no cosines to predict"
_STATES = {"met": "met", "missed": "missed", "open": "not clear"}


@dataclass(frozen=True, repr=False)
class Answer:
    """What some runs of one task and model say, and with what certainty.

    Attributes
    ----------
    settings : tuple of Setting
        All of them, alike in all but γ and seed, small γ first.
    small, control : Setting or None
        The runs on which the verdict is made, and those with large initial weights beside them.
    outcomes : tuple of Outcome
        Every condition that could be measured.
    verdict : {"holds", "does not hold", "undecided"}
    why : str
        The reason, in a sentence.
    """

    settings: tuple[Setting, ...]
    small: Setting | None
    control: Setting | None
    outcomes: tuple[Outcome, ...]
    verdict: Verdict
    why: str

    @classmethod
    def of(cls, settings: tuple[Setting, ...]) -> Answer:
        """Judge settings that are alike in all but γ and seed, small γ first."""
        small = pick([s for s in settings if s.init_rate > CRITICAL], SMALL, max)
        control = pick([s for s in settings if s.init_rate < CRITICAL], LARGE, min)
        outcomes = tuple(
            measure(condition, setting)
            for setting, wanted in (
                (small, on.CLAIM.conditions[:-1]),
                (control, (on.LEARNED_AT_LARGE, on.AT_LARGE)),
            )
            if setting is not None and len(setting.task.anchors) > 2
            for condition in wanted
        )
        return cls(settings, small, control, outcomes, *judge(small, control, outcomes))

    def __str__(self) -> str:
        command = self.missing_command()
        missing = f"\n{self.missing_label(command)}: {command}" if command else ""
        return f"{self.sentence()}.\nverdict: {self.verdict_line()}.{missing}"

    def __repr__(self) -> str:
        return f"Answer({self.verdict}: {self.why})"

    def _repr_html_(self) -> str:
        rows = [outcome.row(self.state(outcome)) for outcome in self.outcomes]
        return html_table(repr(self), OUTCOMES, rows)

    def outcome(self, condition: Condition) -> Outcome:
        """Return what became of a condition."""
        return next(o for o in self.outcomes if o.condition is condition)

    def state(self, outcome: Outcome) -> State:
        """Return whether one of the outcomes is met, missed or open."""
        return state(outcome, self.outcomes)

    def p_value(self, outcome: Outcome) -> float | None:
        """Return the corrected p-value of one of the outcomes; see ``validate.answer.verdict.p_value``."""
        return p_value(outcome, self.outcomes)

    def judged(self) -> list[Setting]:
        """Return the settings on which the verdict is made, as far as there are any."""
        return [s for s in (self.small, self.control) if s is not None]

    def sentence(self) -> str:
        """Return what a person would quote: how good the prediction is at small γ and at large γ."""
        first, *rest = self.judged() or self.settings
        if len(first.task.anchors) < 3:
            return NOTHING_PREDICTED
        text = (
            f"γ {first.init_rate:g}: {on.PREDICTION} predicts the anchors' cosines with Pearson "
            f"{_pearson(first).brief} ({first.seeds_text}{', so no interval' * (len(first.runs) == 1)})"
        )
        return text + "".join(
            f", γ {s.init_rate:g} with {_pearson(s).brief}{' (control)' * (s is self.control)}" for s in rest
        )

    def verdict_line(self) -> str:
        """Return the verdict with its reason and when it is about."""
        when = "" if self.small is None else f" early in training ({early_text(self.small)})"
        return f"{self.verdict}{when}: {self.why}"

    def missing_command(self) -> str:
        """Return the command that trains what the verdict lacks: the other side, longer runs or more seeds.

        Where runs are too short and the other side is missing, it trains both sides longer.

        Where such runs are there already, it is the command that compares them. Empty if the verdict lacks
        none of these, or if there is no run folder to take the configuration from.
        """
        like = self.settings[-1]
        missing = None if like.runs[0].run_folder is None else self._missing(like)
        return "" if missing is None else missing.command()

    missing_label = staticmethod(label)

    def _missing(self, like: Setting) -> Missing | None:
        """Return the runs that it trains."""
        if self.why.startswith(NO_RUN):
            return None
        judged = self.judged()
        rates = [s.init_rate for s in judged]
        longer = 2 if self.why.endswith(LONGER) else 1
        if len(rates) < 2:
            other = LARGE if self.control is None else SMALL
            # A control as short as the runs that were too short would not help them.
            return Missing(like, [*rates, other] if longer > 1 else [other], like.seeds, longer)
        if self.why.endswith(MORE_SEEDS):
            first = max(seed for setting in judged for seed in setting.seeds) + 1
            return Missing(like, rates, range(first, first + len(like.seeds)))
        return Missing(like, rates, like.seeds, longer) if longer > 1 else None

    def rows(self) -> list[list[str]]:
        """Return a line for each condition: state, measure, estimate, threshold and its reason."""
        return [
            [
                self._state_cell(o),
                o.condition.what,
                o.estimate.brief,
                f"{o.condition.relation} {o.condition.threshold:g}",
                o.condition.reason,
            ]
            for o in self.outcomes
        ]

    def _state_cell(self, outcome: Outcome) -> str:
        """Return a state; with the p-value where it is on the far side, whether surely or not."""
        remark = "control" if outcome.condition.role == "control" else ""
        if outcome.clear and not outcome.holds:
            remark = remark or chance(self.p_value(outcome))
        return _STATES[self.state(outcome)] + (f" ({remark})" if remark else "")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "sentence": self.sentence(),
            "verdict": self.verdict,
            "why": self.why,
            "command": self.missing_command(),
            "small": _side(self.small),
            "control": _side(self.control),
            "conditions": [self._condition(outcome) for outcome in self.outcomes],
            "ranking": [] if self.small is None else [r.as_dict() for r in ranking(self.small)],
        }

    def _condition(self, outcome: Outcome) -> dict[str, Any]:
        return outcome.condition.as_dict() | {
            "estimate": outcome.estimate.as_dict(),
            "p_value": self.p_value(outcome),
            "state": self.state(outcome),
        }


@checked
def answers(runs: Source | Iterable[Setting | Source]) -> list[Answer]:
    """Return whether the theory predicts the embedding, once for each task and model.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these or of Setting
        Run folders, kept files, folders of them, or what ``sim.train`` returned.

    Returns
    -------
    list of Answer
        One for each group of runs that differ in nothing but γ and seed; ``print`` shows it in words.
    """
    families: dict[str, list[Setting]] = defaultdict(list)
    for setting in as_settings(runs):
        key = setting.config.model_dump(mode="json", exclude={"seed", "init_rate"})
        families[json.dumps(key, sort_keys=True)].append(setting)
    return [Answer.of(tuple(sorted(found, key=lambda s: s.init_rate))) for found in families.values()]


def _side(setting: Setting | None) -> dict[str, Any] | None:
    if setting is None:
        return None
    return {
        "setting": setting.label,
        "init_rate": setting.init_rate,
        "seeds": setting.seeds,
        "epochs": early_epochs(setting),
    }


def _pearson(setting: Setting) -> Estimate:
    return over_seeds([on.pearson(run) for run in setting.runs], COSINE)
