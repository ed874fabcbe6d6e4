"""Made-up runs that look as the paper says, or the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from sim.config.run import make_member_config
from theory import Lookup, Mapping, Task, Window, cliff_sequence, eq14_embedding
from theory.task.task import task_to_dict
from validate.judge.condition import Needs, Sample
from validate.judge.measures.geometry import MATRICES
from validate.observe import Observations, tokens_of
from validate.observe.observables import embedding_geometry
from validate.predict.predictors import training_labels

SEEDS = (0, 1, 2, 3)
SCAN = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
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
MEMORIES = Task(
    keys=range(40, 60),
    mappings=[Mapping([1, 2, 3], Lookup(), "mem1"), Mapping([4, 5, 6], Window(), "mem2")],
    n_anchors=2, length=3, vocab_size=120,
)  # fmt: skip
Arrays = dict[str, np.ndarray[Any, Any]]


def ramp(middle: float) -> list[float]:
    """Return an accuracy that rises linearly, over two units of time, through one half at ``middle``."""
    return np.clip((TIMES - middle) / 2 + 0.5, 0.0, 1.0).tolist()


def losses(accuracy: Sequence[float]) -> list[float]:
    return [math.log(20) * (1 - a) for a in accuracy]


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
    **training: Any,
) -> Observations:
    """Return a run of eleven evaluations and three snapshots."""
    data = {
        "task": task_to_dict(task),
        "init_rate": rate,
        "seed": seed,
        "training": {"learning_rate": learning_rate, **training},
    }
    loss = loss or {part: losses(values) for part, values in accuracy.items()}
    metrics = [
        {
            "epoch": k,
            "step": 100 * k,
            "sum_learning_rate": float(TIMES[k]),
            "loss": {part: values[k] for part, values in loss.items()},
            "accuracy": {part: values[k] for part, values in accuracy.items()},
        }
        for k in range(len(TIMES))
    ]
    provenance = {"sources": {"model.d_m": "paper", "training.learning_rate": "chosen"} | (sources or {})}
    return Observations(make_member_config(data), provenance, metrics, EPOCHS, arrays or {})


_EXACT = (
    "gram",
    "norms",
    "pca",
    "frozen",
    "token",
    "held_out",
    "last_logits",
    "mean_cosine",
    "predicted",
    "control",
)
"""What seeds draw for themselves, or what a world sets."""


def jittered(found: Observations) -> Observations:
    """Return a run with the scatter that seeds have and made-up numbers lack; seed 0 stays as it was made.

    Accuracies move towards one half by up to 0.4 %, and what is observed shrinks by 0.2 % or so.
    """
    seed, rate = found.config.seed, found.config.init_rate
    rng = np.random.default_rng([7, seed, round(100 * rate)])
    for line in found.metrics if seed else []:
        for kind, values in line.items():
            if kind == "accuracy":
                line[kind] = {
                    p: a + 1e-3 * seed * rng.uniform(0.5, 1) * (1 - 2 * a) for p, a in values.items()
                }
            elif kind == "loss":
                line[kind] = {p: x + 1e-4 * abs(rng.standard_normal()) for p, x in values.items()}
    arrays = {
        name: array
        if not seed or name.startswith(_EXACT)
        else array * (1 - 2e-3 * np.abs(rng.standard_normal(np.shape(array))))
        for name, array in found.arrays.items()
    }
    return replace(found, arrays=arrays)


def refined(found: Observations) -> Observations:
    """Return a run of few evaluations with ten times as many, linear between those that it had."""
    lines = found.metrics
    if len(lines) > len(TIMES):
        return found
    own = np.arange(len(lines))
    fine = np.linspace(0, own[-1], 10 * own[-1] + 1)

    def course(values: list[float]) -> list[float]:
        return np.interp(fine, own, values).tolist()

    plain = {key: course([line[key] for line in lines]) for key in ("epoch", "sum_learning_rate")}
    plain["step"] = [round(step) for step in course([line["step"] for line in lines])]
    nested = {
        kind: {part: course([line[kind][part] for line in lines]) for part in lines[0][kind]}
        for kind in ("loss", "accuracy")
        if kind in lines[0]
    }
    metrics = [
        {key: values[k] for key, values in plain.items()}
        | {kind: {part: values[k] for part, values in parts.items()} for kind, parts in nested.items()}
        for k in range(len(fine))
    ]
    return replace(found, metrics=metrics)


def learning(*, small: bool, shift: float = 0.0) -> dict[str, list[float]]:
    """Return accuracies: reasoning long before memory, or both at once and the test set never."""
    if small:
        return {"mem": ramp(8 + shift), "rsn_train": ramp(2 + shift), "rsn_test": ramp(2.5 + shift)}
    return {"mem": ramp(3 + shift), "rsn_train": ramp(3.5 + shift), "rsn_test": [0.0] * len(TIMES)}


def embedding(kind: str, seed: int, task: Task = TASK) -> np.ndarray[Any, Any]:
    """Return an embedding whose rows are the label distributions, eq. 14's, or random directions."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((task.vocab_size, 1600))
    if kind == "random":
        return noise
    tokens = list(tokens_of(task))
    rows = training_labels(task, tuple(tokens)) - 1 / task.vocab_size
    if kind == "eq. 14":
        shaped = [*task.reasoning_anchors, *task.keys]
        rows[[tokens.index(t) for t in shaped]] = eq14_embedding(task, shaped)
    W = 1e-5 * noise
    W[tokens, : task.vocab_size] += rows
    return W


@cache
def _geometry(kind: str, seed: int) -> Arrays:
    """Return what is observed of an embedding; worlds share a few of them among hundreds of runs."""
    return embedding_geometry(embedding(kind, seed), TASK)


def of_embeddings(kinds: Sequence[str], seed: int) -> Arrays:
    found = [_geometry(kind, seed + 10 * i) for i, kind in enumerate(kinds)]
    arrays = {name: np.stack([each[name] for each in found]) for name in found[0]}
    C = np.stack([*(training_labels(TASK, TASK.anchors) - 1 / TASK.vocab_size)])
    return arrays | {"token_label_matrix_anchors": C, "frozen_direction": C @ C.T}


def attention(*, small: bool, seed: int) -> Arrays:
    """Return attention and value matrix as the paper describes them at small γ, or with no structure."""
    rng = np.random.default_rng(100 + seed)
    L, q = TASK.length, TASK.n_anchors
    P, tokens = L - q, tokens_of(TASK)
    average = np.tril(np.ones((L, L))) / np.arange(1, L + 1)[:, None]
    rows = np.array([cliff_sequence(1e-3, L, p + 1, q) for p in range(P)])
    for p in range(P):
        rows[p, p + 1 : p + q + 1] -= np.arange(1, q + 1)  # a slight fall within the window
    if not small:
        rows = np.tile(np.array([0.0, 2, -1, 1, 0, -2, 1, 0, 1]), (P, 1))
    weights = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
    direction = 0.05 * rng.choice([-1.0, 1.0], len(tokens))
    if small:
        direction[[tokens.index(t) for t in TASK.reasoning_anchors]] = 0.9
    values = np.array([5.0, 1.0, 0.9] if small else [1.03, 1.0, 0.9])
    none = np.array([1.0, 0, 3, 0, -1, 2, 0, -1, 0])
    climb = np.arange(L, dtype=float) if small else none
    share = np.full(3, 1.0 if small else 0.5)
    later = {
        "lemma1_share": share,
        "first_attention": average if small else np.eye(L),
        "last_logits": rows,
        "last_attention": weights,
        "key_attention": np.diagonal(weights),
        "last_logits_positions": climb,
        "wv_direction": direction,
        "singular/0.W_V": values,
    }
    arrays = {name: np.stack([value] * len(EPOCHS)) for name, value in later.items()}
    arrays["last_logits_positions"][0] = none
    arrays["key_attention"][0] = 1 / L
    return arrays


def ranks(*, small: bool) -> Arrays:
    """Return effective ranks that fall to a third in training, or stay."""
    course = np.array([100.0, 30.0, 30.0] if small else [100.0, 100.0, 100.0])
    return {f"effective_rank/{name}": course for name in (*MATRICES, "W_emb")}


def looks(
    rate: float, seed: int, *, small: bool, shape: str = "distributions", **options: Any
) -> Observations:
    """Return a run that looks like one at small or at large initial weights."""
    kinds = ["random", shape, shape] if small else ["random"] * 3
    arrays = of_embeddings(kinds, seed) | attention(small=small, seed=seed) | ranks(small=small)
    return jittered(run(rate, seed, learning(small=small, shift=0.05 * seed), arrays=arrays, **options))


def world(build: Callable[[str, float, int], Observations], variants: tuple[str, ...] = ("",)) -> Any:
    """Return what finds the runs of a made-up world."""

    @cache
    def runs(variant: str, rate: float) -> list[Observations]:
        return [refined(jittered(build(variant, rate, seed))) for seed in SEEDS]

    def find(needs: Needs) -> Sample:
        return {
            (variant, rate): runs(variant, rate)
            for variant in needs.variants or variants
            for rate in needs.init_rates or SCAN
        }

    return find
