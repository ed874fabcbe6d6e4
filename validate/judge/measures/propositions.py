"""Propositions 2 and 3: the drive of an embedding in the one-layer Transformer, against its gradient."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory import (
    OneLayerParameters,
    Task,
    draw_tables,
    enumerate_population,
    expected_token_label_matrix,
    fit_exponent,
    labels_of,
    last_position_matrix,
    lemma3_flow,
    paper_transformer_drive,
    transformer_drive,
)
from theory.arrays import FloatArray

SCALES = (1e-4, 3e-4, 1e-3)
"""Factors on embeddings, queries and keys: at the largest, second-order terms are one in a hundred."""
D_K, D_F = 3, 7


@lru_cache(maxsize=1)
def small_task() -> Task:
    """Return a task with noise whose population can be enumerated."""
    return Task(
        keys=range(6, 10),
        reasoning_anchors=[3, 4, 5],
        memory_anchors=[1, 2],
        n_anchors=2,
        length=5,
        vocab_size=22,
    )


@lru_cache(maxsize=1)
def population() -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return every sequence with its label distribution, that of a memory sequence uniform on the keys."""
    task = small_task()
    found = enumerate_population(task)
    targets = np.eye(task.vocab_size)[labels_of(task, found, draw_tables(task, np.random.default_rng(0)))]
    tables = [i for i, mapping in enumerate(task.mappings) if mapping.is_table]
    targets[np.isin(found.mapping, tables)] = np.isin(range(task.vocab_size), task.keys) / len(task.keys)
    return found.sequences, targets


def parameters(draw: int, scale: float) -> OneLayerParameters:
    """Draw matrices of order one, and embeddings, queries and keys at the given scale."""
    d, rng = small_task().vocab_size, np.random.default_rng(draw)
    shapes = {"W_emb": (d, d), "W_Q": (d, D_K), "W_K": (d, D_K), "W_V": (d, D_K), "W_O": (D_K, d)}
    shapes |= {"W_f1": (d, D_F), "W_f2": (D_F, d)}
    drawn = {name: rng.standard_normal(shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
    small = {name: scale * drawn[name] for name in ("W_emb", "W_Q", "W_K")}
    return OneLayerParameters(**(drawn | small))


@lru_cache(maxsize=16)
def drives(draw: int, scale: float) -> dict[str, FloatArray]:
    """Return dW_emb/dt exactly, as printed (eq. 10, 11), and with the last position kept apart [derived]."""
    task, p = small_task(), parameters(draw, scale)
    C, W_f, W_VO = expected_token_label_matrix(task), p.W_f1 @ p.W_f2, p.W_V @ p.W_O
    return {
        "exact": lemma3_flow(p, *population()),
        "printed": paper_transformer_drive(C, task.length, W_f, W_VO),
        "derived": transformer_drive(C, last_position_matrix(task), task.length, W_f, W_VO),
    }


def form_error(draw: int, form: str, kind: str, scale: float = SCALES[0]) -> float:
    """Return the relative error of a form for the "reasoning" or "memory" anchors or the "keys"."""
    task, found = small_task(), drives(draw, scale)
    rows = {"reasoning": task.reasoning_anchors, "memory": task.memory_anchors, "keys": task.keys}[kind]
    exact = found["exact"][list(rows)]
    return float(np.linalg.norm(found[form][list(rows)] - exact) / np.linalg.norm(exact))


def error_power(draw: int, form: str, kind: str) -> float:
    """Return the power of the scale with which that error falls."""
    return fit_exponent(SCALES, [form_error(draw, form, kind, scale) for scale in SCALES]).value
