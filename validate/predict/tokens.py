"""The groups of tokens whose cosines are compared."""

from __future__ import annotations

from theory import Task
from validate.predict.predictors import Tokens

ALL = "all anchors"


def groups_of(task: Task) -> dict[str, Tokens]:
    """Return the token groups that are compared: each mapping's anchors, and all anchors together."""
    groups = {m.name: m.anchors for m in task.mappings if len(m.anchors) > 2}
    return groups if len(task.mappings) == 1 else groups | {ALL: task.anchors}


def group_title(group: str) -> str:
    """Return what a caption calls a group."""
    return group if group == ALL else f"{group} anchors"
