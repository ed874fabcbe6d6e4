"""How much memory a run takes: estimated from its configuration, before anything is allocated."""

from __future__ import annotations

import math

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.models.base import model_of
from theory.memory import check_memory
from theory.task.population import population_size

_COPIES = 6
"""Of each weight: itself, its gradient, two moments, and at the start a draw in float64."""
_INDICES = 6
"""Integers of a sequence besides its tokens: label, mapping, combination, key, position, rows."""


def check_size(member: MemberConfig, n_members: int = 1) -> None:
    """Refuse a run that needs more memory than this machine has, by its largest part.

    Parameters
    ----------
    member : MemberConfig
        The run.
    n_members : int, optional
        How many such runs train together in one process.

    Raises
    ------
    InputError
        With the estimate and the machine's memory.
    """
    parts = _parts(member)
    argument, (value, _) = max(parts.items(), key=lambda part: part[1][1])
    needed = n_members * sum(n_bytes for _, n_bytes in parts.values())
    check_memory(argument, value, needed, "training", "give something smaller")


def _parts(member: MemberConfig) -> dict[str, tuple[object, int]]:
    """Return what decides the memory: the setting, its value, and the bytes that follow from it."""
    model, training, task = model_of(member.model), member.training, member.task
    width = 4 if training.dtype == "float32" else 8
    d = task.vocab_size
    shapes = [spec.shape for spec in model.specs(d, task.length).values()]
    largest = max(shapes, key=math.prod)
    n, data = _data(member)
    batch = n if training.batch_size == "full" else min(training.batch_size, n)
    activations = batch * model.rows(task.length) * sum(model.widths(d))
    return {
        "model": (f"a matrix of {largest}", _COPIES * width * sum(map(math.prod, shapes))),
        **data,
        "training.batch_size": (training.batch_size, 2 * width * (batch * d + activations)),
    }


def _data(member: MemberConfig) -> tuple[int, dict[str, tuple[object, int]]]:
    """Return the number of sequences, and the memory that they and their statistics take."""
    task = member.task
    if isinstance(task, LanguageTask):
        n = task.n_sequences * len(task.corpora)
        return n, {"task.n_sequences": (task.n_sequences, 8 * n * 3 * task.length)}
    drawn = member.data.source == "draw"
    n = member.data.n_sequences if drawn else population_size(task)
    return n, {
        "data.n_sequences" if drawn else "task": (n, 8 * n * (3 * task.length + _INDICES)),
        # Counts of every token with every label, kept with the run.
        "task.vocab_size": (task.vocab_size, 2 * 8 * task.vocab_size**2),
    }
