"""The cosines that a narrow network predicts for the paper's Emb-MLP: P^s − u has the order, it has the size.

They were computed beforehand, without a run: docs/theory/narrow_cosines.py wrote the file.
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
from validate.observe.groups import Setting
from validate.observe.times import accuracy_at
from validate.predict.learning import flow_arguments
from validate.predict.predictors import Tokens

NAME = "narrow network"
KEPT = Path(__file__).with_name("narrow_cosines.json")


@cache
def kept() -> dict[str, Any]:
    """Read what is kept: cosines of all pairs of anchors by γ and training accuracy, and what they cost."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
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
    rows = kept()["cosines"].get(f"{setting.init_rate:g}")
    at, accuracies = np.mean([accuracy_at(run, epoch) for run in setting.runs]), kept()["accuracies"]
    if not (rows and accuracies[0] <= at <= accuracies[-1] and is_usual(setting.config)):
        return None
    anchors = setting.task.anchors
    cosines = np.eye(len(anchors))
    above = np.triu_indices(len(anchors), 1)
    cosines[above] = [np.interp(at, accuracies, pair) for pair in np.transpose(rows)]
    cosines.T[above] = cosines[above]
    places = [anchors.index(token) for token in tokens]
    return cosines[np.ix_(places, places)]


def cost_text(setting: Setting, epoch: int) -> str:
    """Return a sentence on the prediction that is kept for an epoch, with its cost and the command."""
    if narrow_cosines(setting, setting.task.anchors, epoch) is None:
        return ""
    seconds = kept()["seconds"][f"{setting.init_rate:g}"]
    return (
        "The narrow network was trained beforehand, from two starts of its own, up to the training accuracy "
        f"of that epoch: {seconds:.0f} s of one processor (anchorflow predict emb-mlp --flow)."
    )
