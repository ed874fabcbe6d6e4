"""Made-up runs that look as the paper says, or the other way round."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sim.config.run import make_member_config
from theory import Lookup, Mapping, Task, eq14_embedding
from theory.task.task import task_to_dict
from validate.observe import Observations
from validate.observe.observables import embedding_geometry
from validate.observe.observations import tokens_of
from validate.predict.predictors import training_labels

EPOCHS = (0, 3, 10)
TIMES = np.arange(11.0)
TASK = Task(
    keys=range(40, 60), reasoning_anchors=range(11, 21), memory_anchors=range(1, 6), n_anchors=2,
    length=9, vocab_size=110, held_out=[(11, 13)],
)  # fmt: skip
RANGES = Task(
    keys=range(40, 60),
    mappings=[
        Mapping([3 * i, 3 * i + 1, 3 * i + 2], Lookup(30, 29 + 20 * i), f"range{i}") for i in (1, 2, 3, 4)
    ],
    n_anchors=2, length=3, vocab_size=120,
)  # fmt: skip
Arrays = dict[str, np.ndarray[Any, Any]]


def ramp(middle: float) -> list[float]:
    """Return an accuracy that rises linearly, over two units of time, through one half at ``middle``."""
    return np.clip((TIMES - middle) / 2 + 0.5, 0.0, 1.0).tolist()


def run(
    rate: float,
    seed: int,
    accuracy: dict[str, list[float]],
    *,
    task: Task = TASK,
    arrays: Arrays | None = None,
    loss: dict[str, list[float]] | None = None,
    learning_rate: float = 1e-4,
    sources: dict[str, str] | None = None,
) -> Observations:
    """Return a run of eleven evaluations and three snapshots."""
    data = {
        "task": task_to_dict(task),
        "init_rate": rate,
        "seed": seed,
        "training": {"learning_rate": learning_rate},
    }
    loss = loss or {part: [math.log(20) * (1 - a) for a in values] for part, values in accuracy.items()}
    measures = {"loss": loss, "accuracy": accuracy}
    metrics: list[dict[str, Any]] = [
        {name: {part: values[k] for part, values in of.items()} for name, of in measures.items()}
        | {"epoch": k, "step": 100 * k, "sum_learning_rate": float(TIMES[k])}
        for k in range(len(TIMES))
    ]
    provenance = {"sources": {"model.d_m": "paper", "training.learning_rate": "chosen"} | (sources or {})}
    return Observations(make_member_config(data), provenance, metrics, EPOCHS, arrays or {})


def learning(*, small: bool) -> dict[str, list[float]]:
    """Return accuracies: reasoning long before memory, or both at once and the test set never."""
    if small:
        return {"mem": ramp(8), "rsn_train": ramp(2), "rsn_test": ramp(2.5)}
    return {"mem": ramp(3), "rsn_train": ramp(3.5), "rsn_test": [0.0] * len(TIMES)}


@cache
def _geometry(kind: str, seed: int) -> Arrays:
    """Return what is observed of an embedding; worlds share a few of them among hundreds of runs.

    Its rows are the label distributions, eq. 14's, or random directions.
    """
    noise = np.random.default_rng(seed).standard_normal((TASK.vocab_size, 1600))
    if kind == "random":
        return embedding_geometry(noise, TASK)
    tokens = list(tokens_of(TASK))
    rows = training_labels(TASK, tuple(tokens)) - 1 / TASK.vocab_size
    if kind == "eq. 14":
        shaped = [*TASK.reasoning_anchors, *TASK.keys]
        rows[[tokens.index(t) for t in shaped]] = eq14_embedding(TASK, shaped)
    W = 1e-5 * noise
    W[tokens, : TASK.vocab_size] += rows
    return embedding_geometry(W, TASK)


def of_embeddings(kinds: Sequence[str], seed: int) -> Arrays:
    found = [_geometry(kind, seed + 10 * i) for i, kind in enumerate(kinds)]
    arrays = {name: np.stack([each[name] for each in found]) for name in found[0]}
    C = np.stack([*(training_labels(TASK, TASK.anchors) - 1 / TASK.vocab_size)])
    return arrays | {"token_label_matrix_anchors": C, "frozen_direction": C @ C.T}
