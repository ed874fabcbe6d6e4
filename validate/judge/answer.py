"""Whether the theory predicts the embedding of a user's own task, in words and as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theory import Task, off_diagonal
from theory.edge.checked import checked
from theory.edge.display import html_table, ranges
from validate.judge.agreement import CONSTANT
from validate.judge.condition import LARGE, SMALL
from validate.judge.given import among
from validate.judge.groups import COMPARE, Setting, as_settings, early_text, missing_command
from validate.judge.ledger import read_claims
from validate.judge.measures.geometry import moved
from validate.judge.measures.learning import above_guessing
from validate.judge.measures.prediction import correlation
from validate.judge.outcome import OUTCOMES, Outcome
from validate.judge.ranking import ranking
from validate.judge.stats import COSINE, LEVEL, over_seeds
from validate.judge.verdict import Finding, Verdict, judge_claim
from validate.observe import Source
from validate.observe.times import HALF, early_epoch
from validate.predict.ceiling import order_blind_ceiling, rule_ceiling
from validate.predict.predictors import uniform_cosines

PREDICTION = "P^s - u"
"""The prediction that is judged, even where another does better: the drive of eq. 5 and 8."""
CONDITIONS = Path(__file__).with_name("own_task.toml")
CRITICAL = 0.5
"""The γ between small and large initial weights (the paper's condition is γ > 1/2)."""
MOVED = 0.1
"""How far the cosines must have moved before they are judged: a tenth of the distance from 0 to 1."""
LONGER, MORE_SEEDS, NO_RUN = "train longer", "train more seeds", "no run can decide"
"""How a reason ends if more training can change the verdict, and how it begins if none can."""
CONDITIONS_HEADER = ("state", "condition", "mean [95 %]", "needs", "adjusted p", "reason")


@dataclass(frozen=True, repr=False)
class Answer:
    """The verdict of some runs of one task and model, with its certainty.

    Attributes
    ----------
    settings : tuple of Setting
        All of them, alike in all but γ and seed, small γ first.
    small, control : Setting or None
        The runs that the verdict is about, and runs with large initial weights to compare them with.
    finding : Finding
        The conditions of ``own_task.toml`` on these runs.
    verdict : {"holds", "partly", "fails", "undecided", "censored"}
        The verdict on the prediction.
    why : str
        The reason, in a sentence.
    """

    settings: tuple[Setting, ...]
    small: Setting | None
    control: Setting | None
    finding: Finding
    verdict: Verdict
    why: str

    @classmethod
    def of(cls, settings: tuple[Setting, ...]) -> Answer:
        """Judge settings that are alike in all but γ and seed, small γ first."""
        above = [s for s in settings if s.init_rate > CRITICAL]
        below = [s for s in settings if s.init_rate < CRITICAL]
        # At the γ that the claims are about, or else the most extreme one.
        small = next((s for s in above if s.init_rate == SMALL), above[-1] if above else None)
        control = next((s for s in below if s.init_rate == LARGE), below[0] if below else None)
        rates = {"small": small.init_rate if small else -1.0, "large": control.init_rate if control else -1.0}
        (claim,) = read_claims(CONDITIONS, "own", **rates)
        few = len(settings[0].task.anchors) < 3
        finding = judge_claim(claim, among([] if few else settings))
        return cls(settings, small, control, finding, *_judge(settings[0].task, small, control, finding))

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every condition that could be measured."""
        return tuple(outcome for outcome in self.finding.outcomes if not outcome.missing)

    def __str__(self) -> str:
        lines = [f"{self.sentence()}.", f"verdict: {self.verdict_line()}."]
        if command := self.missing_command():
            lines.append(f"{self.missing_label(command)}: {command}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Answer({self.verdict}: {self.why})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), OUTCOMES, [outcome.row() for outcome in self.outcomes])

    def judged(self) -> list[Setting]:
        """Return the settings that the verdict is based on, as far as there are any."""
        return [s for s in (self.small, self.control) if s is not None]

    def sentence(self) -> str:
        """Return the sentence to quote: how good the prediction is early in training at each γ."""
        first, *rest = self.judged() or self.settings
        if len(first.task.anchors) < 3:
            return _undecidable(first.task)

        def at(setting: Setting) -> str:
            found = over_seeds([correlation(run) for run in setting.runs], COSINE)
            seeds = f"{found.n} of " * (found.n < len(setting.runs)) + setting.seeds_text
            interval = ", 95 %" if found.low is not None else ", so no interval" * (found.n == 1)
            return f"{found.brief} at {early_text(setting)} ({seeds}{interval})"

        # Where several tasks or models are answered, the setting's label says which one this is.
        which = first.label.replace(" = ", " ")
        text = f"{which}: {PREDICTION} predicts the anchors' cosines with Pearson {at(first)}"
        return text + "".join(f"; γ {s.init_rate:g}: {at(s)}" for s in rest)

    def verdict_line(self) -> str:
        """Return the verdict with its reason."""
        return f"{self.verdict}{'' if self.small is None else ' early in training'}: {self.why}"

    @staticmethod
    def missing_label(command: str) -> str:
        """Return the words that introduce the command."""
        return f"what is missing{' is there already; include it' * command.startswith(COMPARE)}"

    def missing_command(self) -> str:
        """Return the command that trains the missing runs: the other side, longer runs or more seeds.

        Empty if none of these is missing, or if there is no run folder to take the configuration from.
        """
        like, rates = self.settings[-1], [s.init_rate for s in self.judged()]
        if like.runs[0].run_folder is None or self.why.startswith(NO_RUN):
            return ""
        others = [rate for rate, side in ((LARGE, self.control), (SMALL, self.small)) if side is None]
        if self.why.endswith(LONGER):
            # A control as short as the runs that have to be longer would not help.
            return missing_command(like, rates + others, like.seeds, 2)
        if others:
            return missing_command(like, others, like.seeds)
        if self.why.endswith(MORE_SEEDS):
            first = max(seed for setting in self.judged() for seed in setting.seeds) + 1
            seeds = range(first, first + max(2, len(like.seeds)))  # One seed decides nothing.
            # Judged by themselves, since adding seeds until a verdict appears makes a wrong one more likely.
            return missing_command(like, rates, seeds, apart=True)
        return ""

    def rows(self) -> list[list[str]]:
        """Return a line of ``CONDITIONS_HEADER`` for each condition."""
        return [
            [
                o.state if self.verdict == "holds" else state,  # Where all hold, none is corrected.
                o.condition.what,
                o.estimate.brief,
                o.condition.asked,
                "< 0.001" if p < 0.001 else f"{p:.2g}",
                o.condition.reason,
            ]
            for state, o, p in _tested(self.finding)
            if not o.missing
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""

        def side(s: Setting | None) -> dict[str, Any] | None:
            if s is None:
                return None
            epochs = [*map(early_epoch, s.runs)]
            return {"setting": s.label, "init_rate": s.init_rate, "seeds": s.seeds, "epochs": epochs}

        return {
            "sentence": self.sentence(),
            "verdict": self.verdict,
            "why": self.why,
            "command": self.missing_command(),
            "small": side(self.small),
            "control": side(self.control),
            "conditions": [outcome.as_dict() for outcome in self.outcomes],
            "ranking": [] if self.small is None else [r.as_dict() for r in ranking(self.small)],
        }


@checked
def answers(runs: Source | Iterable[Setting | Source]) -> list[Answer]:
    """Return whether the theory predicts the embedding, per group of runs that differ only in γ and seed.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these or of Setting
        Run folders, kept files, folders of them, or what ``sim.train`` returned; ``print`` shows an answer.
    """
    families: dict[str, list[Setting]] = defaultdict(list)
    for setting in as_settings(runs):
        families[setting.family].append(setting)
    return [Answer.of(tuple(sorted(own, key=lambda s: s.init_rate))) for own in families.values()]


def _judge(
    task: Task, small: Setting | None, control: Setting | None, finding: Finding
) -> tuple[Verdict, str]:
    """Return the verdict and its reason."""
    if reason := _undecidable(task):
        return "undecided", f"{NO_RUN}: {reason}"
    if small is None:
        return "undecided", f"there are no runs with small initial weights (γ > {CRITICAL:g})"
    for setting in (small, control) if control else (small,):
        rate, share = f"γ = {setting.init_rate:g}", np.min([*map(above_guessing, setting.runs)])
        if not share >= HALF:
            if reason := _unfit(setting):
                return "undecided", f"{NO_RUN}: {reason}"
            seen = min(share, HALF - 0.01)  # Not rounded up to what is needed.
            needed = f"{seen:z.2f} of the way from guessing to all right, where {HALF:g} is needed"
            return "censored", f"the runs at {rate} have learned too little: {needed}; {LONGER}"
        if setting is small and not (motion := min(map(moved, small.runs))) >= MOVED:
            needed = f"by {min(motion, MOVED - 0.01):.2f}, where {MOVED:g} is needed"
            return "censored", f"the embedding at {rate} has hardly moved: {needed}; {LONGER}"
    verdict = finding.verdict_at("")
    if verdict == "holds":
        return verdict, "every condition holds, against large initial weights too"
    states = [state for state, _, _ in _tested(finding)]
    words = {
        "holds": ("holds", "hold"),
        "fails": ("fails", "fail"),
        "undecided": ("is undecided", "are undecided"),
    }
    told = [f"{n} {word[n > 1]}" for state, word in words.items() if (n := states.count(state))]
    text = f"of {len(states)} conditions {', '.join(told)}"
    if control is None:
        return verdict, f"{text}; runs with large initial weights are missing"
    return verdict, f"{text}; {MORE_SEEDS}" if "undecided" in states else text


def _tested(finding: Finding) -> list[tuple[str, Outcome, float]]:
    """Return each condition's state after correction for their number, with its adjusted p-value."""
    pairs = finding.adjusted("")
    return [(o.state if o.state in ("holds", "fails") and p < LEVEL else "undecided", o, p) for o, p in pairs]


def _unfit(setting: Setting) -> str:
    """Return why there is too little to learn, perhaps as the model reads no order; empty if it is enough."""
    task, run = setting.task, setting.runs[0]
    if np.isnan(above_guessing(run, 1.0)):
        return "every label to be learned is the same"
    if setting.config.model.reads_order or task.n_noise:  # With noise a sample can be memorised.
        return ""
    ceilings = [c for m in task.mappings if (c := rule_ceiling(task, m)) is not None]
    ceiling = max(ceilings) if ceilings else order_blind_ceiling(task)
    if ceiling is None or (share := above_guessing(run, ceiling)) >= HALF:
        return ""
    name = "Emb-MLP" if setting.kind == "emb-mlp" else f"{setting.kind!r} model"
    return (
        f"no {name} can fit the training data, whose labels depend on the order of the tokens: it sums what "
        f"it reads and gets at most {100 * ceiling:.0f} % right, {share:.2f} of the way from guessing to all "
        f"right where at least {HALF:g} is needed; a Transformer reads the order: --model.kind transformer"
    )


def _undecidable(task: Task) -> str:
    """Return why the prediction of a task can be neither right nor wrong; empty if it can be."""
    if len(task.anchors) < 3:
        return "a task with fewer than three anchors has no cosines to predict"
    cosines = uniform_cosines(task, task.anchors)
    if flat := [s for s, own in zip(task.anchors, np.diagonal(cosines), strict=True) if np.isnan(own)]:
        return f"every label is as frequent with {ranges(flat)}, so {PREDICTION} is zero and has no cosine"
    predicted = off_diagonal(cosines)
    if np.ptp(predicted) <= CONSTANT:
        same = f"{PREDICTION} predicts {predicted.mean():z.2f} for every pair of anchors"
        return f"{same}, and nothing correlates with a constant"
    return ""
