"""The verdict on a user's own task: whether it can be decided, what decides it, and what is missing."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

import numpy as np

from theory import Task, off_diagonal
from theory.edge.display import ranges
from validate.judge.measures.agreement import CONSTANT
from validate.judge.measures.geometry import moved
from validate.judge.measures.learning import above_guessing
from validate.judge.result import Finding, State, Verdict
from validate.observe.groups import Setting
from validate.observe.times import HALF, early_epoch, first_epoch
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


class Decided(NamedTuple):
    """A verdict, its reason in a sentence, and what could change it."""

    verdict: Verdict
    why: str
    lacks: Lack = "nothing"


def decide(task: Task, small: Setting | None, control: Setting | None, finding: Finding) -> Decided:
    """Return the verdict, its reason, and what could change it."""
    if reason := undecidable(task):
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
            if any(early_epoch(run) == first_epoch(run) for run in small.runs):
                reason = f"training accuracy is {HALF:g} or more before training, so that early is then, too"
                return Decided("undecided", f"no run can decide: {reason}", "what no run can give")
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


def undecidable(task: Task) -> str:
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
