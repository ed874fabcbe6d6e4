"""Cosines whose size was predicted beforehand, without a run; P^s − u has their order alone.

Those of the paper's Emb-MLP are a narrow network's, those of its Transformer AdamW's mean course's, for as
long as it holds. docs/theory/kept_cosines.py wrote both files.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sim.config.run import MemberConfig, make_member_config
from theory import InputError
from theory.edge.arrays import FloatArray
from validate.figures.footnote import paper_config
from validate.observe.groups import Setting
from validate.observe.times import accuracy_at
from validate.predict.learning import flow_arguments
from validate.predict.predictors import Tokens

NARROW, COURSE = "narrow network", "mean course"
FILES = {NARROW: "narrow_cosines.json", COURSE: "course_cosines.json"}


@cache
def kept(name: str) -> dict[str, Any]:
    """Read what is kept of a prediction, by γ: the cosines of all pairs of anchors, and what they cost.

    A narrow network's are at training accuracies; the mean course's at epochs, from several starts.
    """
    text = Path(__file__).with_name(FILES[name]).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def is_usual(config: MemberConfig, **training: Any) -> bool:
    """Return whether a run has the paper's Emb-MLP and task, and but for ``training`` the default one."""
    usual = {"task": "emb-mlp", "init_rate": config.init_rate, "seed": 0, "training": training}
    try:
        return flow_arguments(config) == flow_arguments(make_member_config(usual))
    except InputError:  # No flow describes such training.
        return False


def narrow_cosines(setting: Setting, tokens: Tokens, epoch: int) -> FloatArray | None:
    """Return the cosines that are predicted for the training accuracy at an epoch, shape (n, n).

    Between two of the kept accuracies they are interpolated; None where there is nothing kept.
    """
    rows = kept(NARROW)["cosines"].get(f"{setting.init_rate:g}")
    at, accuracies = np.mean([accuracy_at(run, epoch) for run in setting.runs]), kept(NARROW)["accuracies"]
    if not (rows and accuracies[0] <= at <= accuracies[-1] and is_usual(setting.config)):
        return None
    pairs = np.array([np.interp(at, accuracies, pair) for pair in np.transpose(rows)])
    return _matrix(pairs, setting.task.anchors, tokens)


def followed_epochs(setting: Setting) -> list[int]:
    """Return the snapshots at which the mean course of the printed Transformer is kept."""
    config = setting.config
    rows = kept(COURSE)["cosines"].get(f"{setting.init_rate:g}", {})
    printed = paper_config("transformer").model_copy(update={"init_rates": (config.init_rate,)}).members()[0]
    same = all(getattr(config, part) == getattr(printed, part) for part in ("task", "model", "data"))
    ours, theirs = (
        (t.flow(), t.batch_size, t.clip_norm, t.schedule, t.frozen)
        for t in (config.training, printed.training)
    )
    return [epoch for epoch in map(int, rows) if epoch in setting.epochs()] if same and ours == theirs else []


def course_cosines(setting: Setting, tokens: Tokens, epoch: int) -> FloatArray | None:
    """Return the cosines of the mean course after an epoch, means of two starts, shape (n, n), if kept."""
    if epoch not in followed_epochs(setting):
        return None
    each = np.array(kept(COURSE)["cosines"][f"{setting.init_rate:g}"][str(epoch)])
    return _matrix(each.mean(axis=0), setting.task.anchors, tokens)


def cost_text(setting: Setting, epoch: int) -> str:
    """Return a sentence on the prediction that is kept for an epoch, with its cost and the command."""
    if narrow_cosines(setting, setting.task.anchors, epoch) is None:
        return ""
    seconds = kept(NARROW)["seconds"][f"{setting.init_rate:g}"]
    return (
        "The narrow network was trained beforehand, from two starts of its own, up to the training accuracy "
        f"of that epoch: {seconds:.0f} s of one processor (anchorflow predict emb-mlp --flow)."
    )


def course_text(setting: Setting, epoch: int) -> str:
    """Return a sentence on the mean course at an epoch: what it costs, and how sure it is."""
    each = np.array(kept(COURSE)["cosines"][f"{setting.init_rate:g}"][str(epoch)])
    minutes = kept(COURSE)["seconds"][f"{setting.init_rate:g}"] / 60
    apart = np.sqrt(((each[0] - each[1]) ** 2).mean())
    return (
        f"AdamW's mean course holds up to about epoch {epoch} (docs/theory/adaptive.md). It takes no run, "
        f"but {minutes:.0f} minutes of one core; its two starts, shown as their mean, differ by {apart:.2f}."
    )


def _matrix(pairs: FloatArray, anchors: Tokens, tokens: Tokens) -> FloatArray:
    """Return some tokens' cosine matrix from the cosines of all pairs of anchors."""
    cosines = np.eye(len(anchors))
    above = np.triu_indices(len(anchors), 1)
    cosines[above] = cosines.T[above] = pairs
    places = [anchors.index(token) for token in tokens]
    return cosines[np.ix_(places, places)]
