"""Whether the theory predicts the embedding of a user's own task, in words and as data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, computed_field

from sim.config.training import HELD_OUT
from sim.runs.table import shown_name
from theory.edge.checked import checked
from theory.edge.display import html_table
from validate.compare.decision import CRITICAL, PREDICTION, Lack, decide, undecidable
from validate.compare.ranking import Ranked, ranking
from validate.judge.claim import Runs
from validate.judge.claims.own_task import own_task
from validate.judge.given import among
from validate.judge.measures.prediction import correlation
from validate.judge.result import OUTCOME_HEADER, Outcome, Verdict
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import COSINE, SHARE, over_seeds
from validate.judge.verdict import judge_claim
from validate.observe import Source
from validate.observe.bounds import ends
from validate.observe.groups import COMPARE, Setting, early_text, group_runs, missing_command
from validate.observe.observations import Result
from validate.observe.times import ALIGNMENTS, HALF, aligned, early_epoch, fitted_sets, fitted_time


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
        decided = decide(settings[0].task, small, control, finding)
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
            return undecidable(first.task)

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
