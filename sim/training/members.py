"""How much memory a run needs, and which members may train together: checked before anything is allocated."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from typing import Any

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.models.base import model_of
from theory import InputError, Task
from theory.edge.errors import check_memory, unknown_name
from theory.task.population import population_size

_OWN: Any = {"init_rate": True, "training": {"learning_rate", "weight_decay"}}
"""What members of one trainer may differ in; and in the seed, if that leaves them as many sequences."""
_COPIES = 6
"""Numbers for each weight: itself, its gradient, two moments, and at the start a draw in float64."""
_INDICES = 6
"""Integers for each sequence, apart from its tokens: label, mapping, combination, key, position, rows."""


def _shared(member: MemberConfig) -> dict[str, Any]:
    """Return what members of one trainer have in common."""
    mappings = member.task.mappings if isinstance(member.task, Task) else ()
    # Of drawn sequences, more or fewer are held out where single keys or positions are.
    by_chance = member.data.source == "draw" and any(mapping.partial for mapping in mappings)
    return member.model_dump(mode="json", exclude=_OWN if by_chance else _OWN | {"seed": True})


def groups_of_members(members: Sequence[MemberConfig]) -> list[list[int]]:
    """Return the indices of members that may share a trainer, group by group."""
    groups: dict[tuple[str, int], list[int]] = {}
    for index, member in enumerate(members):
        # A member whose patience has run out takes no more steps, though another may still need some.
        alone = index if member.training.patience else -1
        groups.setdefault((json.dumps(_shared(member)), alone), []).append(index)
    return list(groups.values())


def check_shared(members: Sequence[MemberConfig]) -> None:
    """Refuse members that differ in what one trainer has only once, and an empty list."""
    if not members:
        raise InputError("members", members, "empty", "give at least one")
    if len(members) > 1 and (patience := members[0].training.patience):
        problem = "members may end at different epochs"
        raise InputError("training.patience", patience, problem, "train each separately")
    first, *others = map(_shared, members)
    for section in first:
        if any(other.get(section) != first[section] for other in others):
            remedy = "train those that differ in it separately"
            raise InputError("members", section, "differs between members", remedy)


def check_frozen(names: Sequence[str], tensors: Collection[str]) -> None:
    """Refuse names of tensors that the model does not have, and a model with nothing left to train."""
    for name in names:
        if name not in tensors:
            raise unknown_name("tensor", name, tensors, "training.frozen")
    if set(names) == set(tensors):
        raise InputError("training.frozen", list(names), "leaves nothing to train", "leave a tensor out")


def check_size(member: MemberConfig, n_members: int = 1) -> None:
    """Refuse members that together need more memory than this machine has; name the largest part."""
    model, training, task, d = model_of(member.model), member.training, member.task, member.task.vocab_size
    parts: dict[str, tuple[object, int]]
    if isinstance(task, LanguageTask):
        n = task.n_sequences * len(task.corpora)
        parts = {"task.n_sequences": (task.n_sequences, 8 * n * 3 * task.length)}
    else:
        drawn = member.data.source == "draw"
        n = member.data.n_sequences if drawn else population_size(task)
        parts = {
            "data.n_sequences" if drawn else "task": (n, 8 * n * (3 * task.length + _INDICES)),
            # Counts of every token with every label, kept with the run.
            "task.vocab_size": (d, 2 * 8 * d**2),
        }
    width = 4 if training.dtype == "float32" else 8
    shapes = [spec.shape for spec in model.specs(d, task.length).values()]
    batch = n if training.batch_size == "full" else min(training.batch_size, n)
    activations = batch * model.rows(task.length) * sum(model.widths(d))
    parts |= {
        "model": (f"a matrix of {max(shapes, key=math.prod)}", _COPIES * width * sum(map(math.prod, shapes))),
        "training.batch_size": (training.batch_size, 2 * width * (batch * d + activations)),
    }
    argument, (value, _) = max(parts.items(), key=lambda part: part[1][1])
    needed = n_members * sum(n_bytes for _, n_bytes in parts.values())
    check_memory(argument, value, needed, "training", "give something smaller")
