"""Whether the theory predicts the embedding of a user's own task, in words and as data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, PlainSerializer, computed_field

from sim.config.training import HELD_OUT
from sim.runs.table import shown_name
from theory import Task, off_diagonal
from theory.edge.checked import checked
from theory.edge.display import html_table, ranges
from validate.compare.ranking import Ranked, ranking
from validate.judge.claim import Runs
from validate.judge.claims.own_task import own_task
from validate.judge.given import among
from validate.judge.measures.agreement import CONSTANT
from validate.judge.measures.geometry import moved
from validate.judge.measures.learning import above_guessing
from validate.judge.measures.prediction import correlation
from validate.judge.result import OUTCOME_HEADER, Finding, Outcome, State, Verdict
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import COSINE, SHARE, over_seeds
from validate.judge.verdict import judge_claim
from validate.observe import Source
from validate.observe.bounds import ends
from validate.observe.groups import COMPARE, Setting, early_text, group_runs, missing_command
from validate.observe.observations import Result
from validate.observe.times import ALIGNMENTS, HALF, aligned, early_epoch, fitted_sets, fitted_time
from validate.predict.ceiling import order_blind_ceiling, rule_ceiling
from validate.predict.predictors import uniform_cosines

PREDICTION = "P^s - u"
"""The prediction that is judged, even where another does better: the drive of eq. 5 and 8."""
CRITICAL = 0.5
"""The γ between small and large initial weights (the paper's condition is γ > 1/2)."""
MOVED = 0.1
"""How far the cosines must have moved before they are judged: a tenth of the distance from 0 to 1."""
Lack = Literal["nothing", "longer runs", "more seeds", "what no run can give"]
"""What could change a verdict."""


class Judged(Result):
    """The runs at one γ that a verdict is about."""

    setting: str
    init_rate: float
    seeds: list[int]
    epochs: list[int]


def _judged(setting: Setting | None) -> Judged | None:
    if setting is None:
        return None
    epochs = [*map(early_epoch, setting.runs)]
    return Judged(setting=setting.label, init_rate=setting.init_rate, seeds=setting.seeds, epochs=epochs)


class Decided(NamedTuple):
    """A verdict, its reason in a sentence, and what could change it."""

    verdict: Verdict
    why: str
    lacks: Lack = "nothing"


class Answer(Result):
    """The verdict of some runs of one task and model, with its certainty.

    Attributes
    ----------
    verdict : {"holds", "partly", "fails", "undecided", "censored"}
        The verdict on the prediction.
    why : str
        The reason, in a sentence.
    lacks : {"nothing", "longer runs", "more seeds", "what no run can give"}
        What could change the verdict.
    command : str
        What trains the missing runs; empty if none are, or there is no folder to take the configuration from.
    small, control : Setting or None
        The runs that the verdict is about, and runs with large initial weights to compare them with.
    conditions : tuple of Outcome
        The conditions of ``claims/own_task.py`` that could be measured.
    settings : tuple of Setting
        All of them, alike in all but γ and seed, small γ first.
    """

    HEADER: ClassVar = ("state", "measure", "mean [95 %]", "threshold", "adjusted p", "why")
    verdict: Verdict
    why: str
    lacks: Lack
    command: str
    small: Annotated[Any, PlainSerializer(_judged, Judged | None, when_used="json")]
    control: Annotated[Any, PlainSerializer(_judged, Judged | None, when_used="json")]
    conditions: tuple[Outcome, ...]
    settings: tuple[Any, ...] = Field(exclude=True)

    @classmethod
    def of(cls, settings: tuple[Setting, ...]) -> Answer:
        """Judge settings that are alike in all but γ and seed, small γ first."""
        above = [s for s in settings if s.init_rate > CRITICAL]
        below = [s for s in settings if s.init_rate < CRITICAL]
        # At the γ that the claims are about, or else the most extreme one.
        small = next((s for s in above if s.init_rate == SMALL), above[-1] if above else None)
        control = next((s for s in below if s.init_rate == LARGE), below[0] if below else None)
        claim = own_task(small.init_rate if small else -1.0, control.init_rate if control else -1.0)
        few = len(settings[0].task.anchors) < 3
        finding = judge_claim(replace(claim, runs=Runs("own")), among([] if few else settings))
        decided = _judge(settings[0].task, small, control, finding)
        return cls(
            **decided._asdict(),
            command=_missing_command(settings, small, control, decided.lacks),
            small=small,
            control=control,
            conditions=tuple(o for o in finding.conditions if not o.missing),
            settings=settings,
        )

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def sentence(self) -> str:
        """The sentence to quote: how good the prediction is early in training at each γ."""
        first, *others = self.judged() or self.settings
        if len(first.task.anchors) < 3:
            return _undecidable(first.task)

        def at(setting: Setting) -> str:
            estimate = over_seeds([correlation(run) for run in setting.runs], COSINE)
            seeds = f"{estimate.n} of " * (estimate.n < len(setting.runs)) + setting.seeds_text
            interval = ", 95 %" if estimate.low is not None else ", so no interval" * (estimate.n == 1)
            return f"{estimate.brief} at {early_text(setting)} ({seeds}{interval})"

        # Where several tasks or models are answered, the setting's label says which one this is.
        which = first.label.replace(" = ", " ")
        text = f"{which}: {PREDICTION} predicts the anchors' cosines with Pearson {at(first)}"
        return text + "".join(f"; γ {s.init_rate:g}: {at(s)}" for s in others)

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """How well each predictor does, with the runs that the verdict is about."""
        return () if self.small is None else tuple(ranking(self.small))

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def behaviour(self) -> tuple[str, ...]:
        """What was learned first at each γ, and the held-out accuracy at equal fit, in sentences."""
        return (*map(learned_first, self.judged()), *held_out_sentences(self.small, self.control))

    def __str__(self) -> str:
        lines = [f"{line}." for line in (*self.behaviour, self.sentence, f"verdict: {self.verdict_line()}")]
        if self.command:
            lines.append(f"{self.missing_label()}: {self.command}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Answer({self.verdict}: {self.why})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), OUTCOME_HEADER, [o.cells(OUTCOME_HEADER) for o in self.conditions])

    def judged(self) -> list[Setting]:
        """Return the settings that the verdict is based on, as far as there are any."""
        return [s for s in (self.small, self.control) if s is not None]

    def verdict_line(self) -> str:
        """Return the verdict with its reason, and the predictor with the highest correlation.

        One that is not judged is named as such, beside the one that is.
        """
        text = f"{self.verdict}{'' if self.small is None else ' early in training'}: {self.why}"
        best = next((r for r in self.ranking if r.pearson.n), None)
        if best is None:
            return text
        text += f"; best predictor: {best.predictor}, Pearson {best.pearson.brief}"
        if best.predictor == PREDICTION:
            return text
        judged = next(r.pearson for r in self.ranking if r.predictor == PREDICTION)
        against = ", a rival that knows no labels: this speaks against"
        what = against if best.rival and judged.n else "; the verdict is on"
        return f"{text}{what} {PREDICTION}, Pearson {judged.brief}"

    def missing_label(self) -> str:
        """Return the words that introduce the command."""
        return f"what is missing{' is there already; include it' * self.command.startswith(COMPARE)}"

    def rows(self) -> list[list[str]]:
        """Return a line under ``HEADER`` for each endpoint among the conditions."""
        return [o.cells(self.HEADER, brief=True) for o in self.conditions if o.role == "endpoint"]


@checked
def answers(runs: Source | Iterable[Setting | Source]) -> list[Answer]:
    """Return whether the theory predicts the embedding, per group of runs that differ only in γ and seed.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these or of Setting
        Run folders, kept files, folders of them, or what ``sim.train`` returned; ``print`` shows an answer.
    """
    families: dict[str, list[Setting]] = defaultdict(list)
    for setting in group_runs(runs):
        families[setting.family].append(setting)
    return [Answer.of(tuple(sorted(settings, key=lambda s: s.init_rate))) for settings in families.values()]


def learned_first(setting: Setting) -> str:
    """Return in how many seeds each training set, or several at once, is the first to be half right."""
    first = Counter[str]()
    for run in setting.runs:
        at = {shown_name(run.config, part): ends(fitted_time(run, part))[0] for part in fitted_sets(run)}
        first[" and ".join(name for name in at if at[name] == min(at.values())) or "nothing"] += 1
    counts = ", ".join(f"{part} ({n} of {len(setting.runs)} seeds)" for part, n in first.most_common())
    return f"learned first at γ = {setting.init_rate:g}: {counts}"


def held_out_sentences(small: Setting | None, large: Setting | None) -> list[str]:
    """Return the held-out accuracy where training accuracy reaches one half and 0.9, and its difference."""
    settings = [s for s in (small, large) if s is not None]
    if not settings or any(HELD_OUT not in run.metrics[0]["accuracy"] for s in settings for run in s.runs):
        return []
    sentences = []
    for level in (HALF, ALIGNMENTS[-1]):
        by_seed = [
            {run.config.seed: aligned(run, "accuracy", HELD_OUT, level) for run in s.runs} for s in settings
        ]
        estimates = [over_seeds([*values.values()], SHARE) for values in by_seed]
        accuracies = []
        for s, estimate in zip(settings, estimates, strict=True):
            told = estimate.brief if estimate.n else "not reached"
            some = f" ({estimate.n} of {s.seeds_text})" * (0 < estimate.n < len(s.runs))
            accuracies.append(f"{told} at γ = {s.init_rate:g}{some}")
        if len(settings) == 2:
            shared = sorted(by_seed[0].keys() & by_seed[1].keys())
            difference = over_seeds([by_seed[0][seed] - by_seed[1][seed] for seed in shared], COSINE)
            accuracies += [f"the difference is {difference.brief}"] * bool(difference.n)
        sentences.append(
            f"held-out accuracy when training accuracy reaches {level:g}: {', '.join(accuracies)}"
        )
    return sentences


def _missing_command(
    settings: Sequence[Setting], small: Setting | None, control: Setting | None, lacks: Lack
) -> str:
    """Return the command that trains the missing runs: the other side, longer runs or more seeds."""
    judged = [s for s in (small, control) if s is not None]
    like, rates = settings[-1], [s.init_rate for s in judged]
    if like.runs[0].run_folder is None or lacks == "what no run can give":
        return ""
    others = [rate for rate, side in ((LARGE, control), (SMALL, small)) if side is None]
    if lacks == "longer runs":
        # A control as short as the runs that have to be longer would not help.
        return missing_command(like, rates + others, like.seeds, 2)
    if others:
        return missing_command(like, others, like.seeds)
    if lacks == "more seeds":
        first = max(seed for setting in judged for seed in setting.seeds) + 1
        seeds = range(first, first + max(2, len(like.seeds)))  # One seed decides nothing.
        # Judged by themselves, since adding seeds until a verdict appears makes a wrong one more likely.
        return missing_command(like, rates, seeds, apart=True)
    return ""


def _judge(task: Task, small: Setting | None, control: Setting | None, finding: Finding) -> Decided:
    """Return the verdict, its reason, and what could change it."""
    if reason := _undecidable(task):
        return Decided("undecided", f"no run can decide: {reason}", "what no run can give")
    if small is None:
        return Decided("undecided", f"there are no runs with small initial weights (γ > {CRITICAL:g})")
    for setting in (small, control) if control else (small,):
        rate, share = f"γ = {setting.init_rate:g}", np.min([*map(above_guessing, setting.runs)])
        if not share >= HALF:
            if reason := _unfit(setting):
                return Decided("undecided", f"no run can decide: {reason}", "what no run can give")
            seen = min(share, HALF - 0.01)  # Not rounded up to what is needed.
            needed = f"{seen:z.2f} of the way from guessing to all right, where {HALF:g} is needed"
            why = f"the runs at {rate} have learned too little: {needed}; train longer"
            return Decided("censored", why, "longer runs")
        if setting is small and not (motion := min(map(moved, small.runs))) >= MOVED:
            needed = f"by {min(motion, MOVED - 0.01):.2f}, where {MOVED:g} is needed"
            why = f"the embedding at {rate} has hardly moved: {needed}; train longer"
            return Decided("censored", why, "longer runs")
    verdict = finding.verdict
    if verdict == "holds":
        return Decided(verdict, "order and size, against large initial weights too")
    words: dict[State, tuple[str, str]] = {
        "holds": ("holds", "hold"),
        "fails": ("fails", "fail"),
        "undecided": ("is undecided", "are undecided"),
    }
    states = Counter(o.corrected if o.corrected in words else "undecided" for o in finding.endpoints())
    counts = [f"{n} {word[n > 1]}" for state, word in words.items() if (n := states[state])]
    text = f"of {states.total()} conditions {', '.join(counts)}"
    if control is None:
        return Decided(verdict, f"{text}; runs with large initial weights are missing")
    if "undecided" in states:
        # With more seeds, what none has or all have alike stays so; γ without a common seed get one.
        left = [o.values for o in finding.endpoints() if o.corrected not in ("holds", "fails")]
        if any(not own or len({v for v in own if not np.isnan(v)}) > (len(own) > 1) for own in left):
            return Decided(verdict, f"{text}; train more seeds", "more seeds")
        return Decided(verdict, f"{text}, and more seeds would not decide them", "what no run can give")
    return Decided(verdict, text)


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
