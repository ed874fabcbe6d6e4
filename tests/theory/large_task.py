"""The largest task that the label distributions have to manage in under a second."""

from theory import Task

LARGE = Task(
    keys=range(3000, 103_000),
    reasoning_anchors=range(11, 21),
    memory_anchors=range(1, 11),
    n_anchors=200,
    length=201,
    vocab_size=110_000,
)
