"""Label distributions, token ratios and cosines of a dozen tasks."""

from collections.abc import Iterator
from typing import Any

from theory import (
    Lookup,
    Mapping,
    Shift,
    Sum,
    Task,
    cosine_matrix,
    gaussian_embedding,
    label_distribution,
    token_ratio,
)


def tasks() -> dict[str, Task]:
    """Return tasks that differ in length, rule, held-out combinations and number of anchors."""
    small = {
        "keys": range(20, 32),
        "reasoning_anchors": range(5, 9),
        "memory_anchors": range(1, 5),
        "vocab_size": 64,
    }
    return {
        "paper": Task.paper(),
        "emb-mlp": Task.paper(length=3),
        "three anchors": Task(**small, n_anchors=3, length=7, held_out={(5, 6, 7)}),
        "one anchor": Task(**small, n_anchors=1, length=4),
        "held out": Task(**small, n_anchors=2, length=5, held_out={(5, 6), (6, 5), (7, 7)}),
        "shifts": Task(
            keys=range(20, 40),
            n_anchors=2,
            length=5,
            vocab_size=64,
            mappings=[
                Mapping((1, 2, 3, 4), Shift({1: 5, 2: 1, 3: -2, 4: -8}), "shifts"),
                Mapping((5, 6, 7), Sum(), "sums", {(5, 6)}),
                Mapping((8, 9), Lookup(), "table"),
            ],
        ),
    }


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    for name, task in tasks().items():
        tokens = [*(a for m in task.mappings for a in m.anchors), *task.keys]
        for held_out in (False, True):
            table = label_distribution(task, tokens, held_out=held_out)
            yield f"{name}: P^s, held_out={held_out}", table
            yield f"{name}: cosines, held_out={held_out}", cosine_matrix(table - 1 / task.vocab_size)
            yield (
                f"{name}: r_s, held_out={held_out}",
                [token_ratio(task, s, held_out=held_out) for s in tokens],
            )
    yield "Theorem 1", gaussian_embedding(Task.paper(), list(range(11, 21)))
