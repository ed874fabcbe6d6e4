"""Which members may train together: those that differ only in what a trainer has for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.config.run import MemberConfig
from theory import InputError

_OWN = {"init_rate": True, "seed": True, "training": {"learning_rate", "weight_decay"}}
"""What members of one trainer may differ in."""


def groups_of_members(members: Sequence[MemberConfig]) -> list[list[int]]:
    """Return the indices of members that may share a trainer, group by group."""
    groups: list[tuple[dict[str, Any], list[int]]] = []
    for index, member in enumerate(members):
        shared = _shared(member)
        for own, indices in groups:
            # One whose patience is at its end takes no step that another still needs.
            if own == shared and not member.training.patience:
                indices.append(index)
                break
        else:
            groups.append((shared, [index]))
    return [indices for _, indices in groups]


def _shared(member: MemberConfig) -> dict[str, Any]:
    return member.model_dump(exclude=_OWN)  # type: ignore[arg-type]


def check_shared(members: Sequence[MemberConfig]) -> None:
    """Refuse members that differ in what one trainer has only once, or none at all."""
    if len(members) == 0:
        raise InputError("members", members, "empty", "give at least one")
    patience = members[0].training.patience
    if len(members) > 1 and patience:
        problem = "members may end at different epochs"
        raise InputError("training.patience", patience, problem, "train each apart")
    first = _shared(members[0])
    for member in members[1:]:
        for section, value in _shared(member).items():
            if value != first[section]:
                raise InputError(
                    "members", section, "differs between members", "train those that differ in it apart"
                )
