"""Drives of the one-layer Transformer against its gradient (Propositions 2 and 3), and terms of Im et al."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import theory
from theory.edge.arrays import FloatArray

SCALES = (1e-4, 3e-4, 1e-3)
"""Factors on embeddings, queries and keys: at the largest, second-order terms are one in a hundred."""
D_K, D_F = 3, 7
TASK = theory.Task(
    keys=range(6, 10),
    reasoning_anchors=[3, 4, 5],
    memory_anchors=[1, 2],
    n_anchors=2,
    length=5,
    vocab_size=22,
)
"""A task with noise whose population can be enumerated."""


@lru_cache(maxsize=1)
def _population() -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return every sequence with its label distribution, uniform on the keys for memory sequences."""
    population = theory.enumerate_population(TASK)
    tables = theory.draw_tables(TASK, np.random.default_rng(0))
    targets = np.eye(TASK.vocab_size)[theory.labels_of(TASK, population, tables)]
    memory = [i for i, mapping in enumerate(TASK.mappings) if mapping.is_table]
    targets[np.isin(population.mapping, memory)] = np.isin(range(TASK.vocab_size), TASK.keys) / len(TASK.keys)
    return population.sequences, targets


def _parameters(draw: int, scale: float) -> theory.OneLayerParameters:
    """Draw matrices of order one, and embeddings, queries and keys at the given scale."""
    d, rng = TASK.vocab_size, np.random.default_rng(draw)
    shapes = {"W_emb": (d, d), "W_Q": (d, D_K), "W_K": (d, D_K), "W_V": (d, D_K), "W_O": (D_K, d)}
    shapes |= {"W_f1": (d, D_F), "W_f2": (D_F, d)}
    drawn = {name: rng.standard_normal(shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
    return theory.OneLayerParameters(
        **(drawn | {name: scale * drawn[name] for name in ("W_emb", "W_Q", "W_K")})
    )


@lru_cache(maxsize=16)
def _drives(draw: int, scale: float) -> dict[str, FloatArray]:
    """Return dW_emb/dt exactly, as printed (eq. 10, 11), and with the last position kept apart [derived]."""
    p = _parameters(draw, scale)
    C, W_f, W_VO = theory.expected_token_label_matrix(TASK), p.W_f1 @ p.W_f2, p.W_V @ p.W_O
    return {
        "exact": theory.lemma3_flow(p, *_population()),
        "printed": theory.paper_transformer_drive(C, TASK.length, W_f, W_VO),
        "derived": theory.transformer_drive(C, theory.last_position_matrix(TASK), TASK.length, W_f, W_VO),
    }


def form_error(draw: int, form: str, kind: str, scale: float = SCALES[0]) -> float:
    """Return the relative error of a form for the "reasoning" or "memory" anchors or the "keys"."""
    rows = {"reasoning": TASK.reasoning_anchors, "memory": TASK.memory_anchors, "keys": TASK.keys}[kind]
    drives = {name: drive[list(rows)] for name, drive in _drives(draw, scale).items()}
    return float(np.linalg.norm(drives[form] - drives["exact"]) / np.linalg.norm(drives["exact"]))


def error_power(draw: int, form: str, kind: str) -> float:
    """Return the power of the scale with which that error falls."""
    return theory.fit_exponent(SCALES, [form_error(draw, form, kind, scale) for scale in SCALES]).value


# --- leading terms of Im et al., against matrices kept by docs/corpus_associations.py --------------------

TRAINED = Path(__file__).resolve().parents[2] / "kept" / "associations.json"
"""The last step of each draw of the texts."""


@cache
def trained() -> dict[str, Any]:
    """Return the kept data: sizes, rate, steps, and under "seeds" the cosines of each draw."""
    record: dict[str, Any] = json.loads(TRAINED.read_text(encoding="utf-8"))
    return record


def smallest_cosine(draw: int, kind: str, terms: str = "cosines") -> float:
    """Return the smallest cosine over layers of a trained matrix and its leading term, for one draw of texts.

    ``terms`` are those of the texts themselves, or of the same texts shuffled.
    """
    return float(trained()["seeds"][draw][terms][kind])
