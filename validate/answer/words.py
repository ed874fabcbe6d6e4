"""An answer in words: a sentence to quote, its verdict, the command for what is missing, a ranking."""

from __future__ import annotations

from typing import Any

from validate.answer import conditions as on
from validate.answer.ranking import ranking
from validate.answer.verdict import Answer, early_epochs, state
from validate.claims.statements import LARGE, SMALL
from validate.settings import Setting
from validate.stats import COSINE, Estimate, over_seeds

NOTHING_PREDICTED = "a task with fewer than three anchors has no cosines to predict"


def sentence(answer: Answer) -> str:
    """Return what a person would quote: how well the prediction does at small γ, and at large γ beside it."""
    told = [s for s in (answer.small, answer.control) if s is not None] or list(answer.settings)
    if len(told[0].task.anchors) < 3:
        return NOTHING_PREDICTED
    first, *rest = told
    text = (
        f"γ {first.init_rate:g}: {on.PREDICTION} predicts the anchors' cosines with Pearson "
        f"{_pearson(first).brief} ({_seeds(first)})"
    )
    return text + "".join(
        f", γ {s.init_rate:g} with {_pearson(s).brief}{' (control)' * (s is answer.control)}" for s in rest
    )


def verdict_line(answer: Answer) -> str:
    """Return the verdict with its reason and when it is about."""
    when = "" if answer.small is None else f" early in training ({epochs_text(answer.small)})"
    return f"{answer.verdict}{when}: {answer.why}"


def epochs_text(setting: Setting) -> str:
    """Return the early epochs of a setting's runs."""
    first, last = min(early_epochs(setting)), max(early_epochs(setting))
    return f"epoch {first}" if first == last else f"epochs {first} to {last}"


def missing_command(answer: Answer) -> str:
    """Return the command that trains the side of the comparison that is missing; empty if none is."""
    if answer.small is not None and answer.control is not None:
        return ""
    rate = LARGE if answer.control is None else SMALL
    runs = answer.settings[-1].runs
    seeds = " ".join(str(run.config.seed) for run in runs)
    path = runs[0].path
    return f"anchorflow train {path}/config.json --init-rates {rate:g} --seeds {seeds} --out {path.parent}"


def to_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data."""
    return {
        "sentence": sentence(answer),
        "verdict": answer.verdict,
        "why": answer.why,
        "command": missing_command(answer),
        "small": _side(answer.small),
        "control": _side(answer.control),
        "conditions": [
            {
                "measure": o.condition.what,
                "role": o.condition.role,
                "relation": o.condition.relation,
                "threshold": o.condition.threshold,
                "reason": o.condition.reason,
                "estimate": o.estimate.as_dict(),
                "state": state(o),
            }
            for o in answer.outcomes
        ],
        "ranking": [] if answer.small is None else [r.as_dict() for r in ranking(answer.small)],
    }


def answer_rows(answer: Answer) -> list[list[str]]:
    """Return a line for each condition: state, measure, estimate, threshold and its reason."""
    words = {"met": "met", "missed": "missed", "open": "not clear"}
    return [
        [
            words[state(o)] + " (control)" * (o.condition.role == "control"),
            o.condition.what,
            o.estimate.brief,
            f"{o.condition.relation} {o.condition.threshold:g}",
            o.condition.reason,
        ]
        for o in answer.outcomes
    ]


def _side(setting: Setting | None) -> dict[str, Any] | None:
    if setting is None:
        return None
    seeds = [run.config.seed for run in setting.runs]
    return {
        "setting": setting.label,
        "init_rate": setting.init_rate,
        "seeds": seeds,
        "epochs": early_epochs(setting),
    }


def _pearson(setting: Setting) -> Estimate:
    return over_seeds([on.pearson(run) for run in setting.members.runs], COSINE)


def _seeds(setting: Setting) -> str:
    n = len(setting.runs)
    return f"{n} seeds" if n > 1 else "1 seed, so no interval"
