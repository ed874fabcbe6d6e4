"""Observations of language models made without training: losses and cosines whose values a test knows."""

from __future__ import annotations

import numpy as np

from sim.config.run import make_member_config
from tests.validate.figures.synthetic import PROVENANCE
from validate.observe import Observations
from validate.observe.language import PREDICTORS

NAMES = ("prontoqa", "tinystories")
EPOCHS = (0, 1, 4)
WORDS = 8


def make_language_observations(gamma: float = 0.8, seed: int = 0) -> Observations:
    """Return observations of a made-up run: the smaller the weights, the further the second loss behind."""
    task = {
        "corpora": [{"name": name, "files": [f"{name}.txt"]} for name in NAMES],
        "n_sequences": 10,
        "length": 8,
        "vocab_size": 30,
    }
    config = make_member_config(
        {
            "task": task,
            "model": {"kind": "gpt2", "d_m": 8},
            "training": {"epochs": EPOCHS[-1]},
            "init_rate": gamma,
            "seed": seed,
        }
    )
    rng = np.random.default_rng([seed, round(100 * gamma)])
    arrays = {"entropy/prontoqa": np.array([2.0, 1.0]), "entropy/tinystories": np.array([3.0, 2.0])}
    for name in NAMES:
        own = _cosines(rng)
        for kind in ("predicted", "control"):
            for predictor in PREDICTORS:
                for which in (name, f"centred/{name}"):
                    arrays[f"{kind}/{predictor}/{which}"] = own if kind == "predicted" else _cosines(rng)
                arrays[f"{kind}_mean/{predictor}/{name}"] = np.asarray(own.mean())
        for which in (name, f"centred/{name}"):
            arrays[f"cosine/{which}"] = np.stack([np.eye(WORDS), own, own])
        for mean in ("mean_cosine", "mean_cosine_centred", "mean_cosine_matched"):
            arrays[f"{mean}/{name}"] = np.array([0.0, 0.1, 0.2]) + seed / 100
    lines = [
        {
            "epoch": epoch,
            "step": 10 * epoch,
            "sum_learning_rate": 0.1 * epoch,
            "loss": {"prontoqa": 4.0 - 0.5 * epoch, "tinystories": 4.0 + gamma + seed / 10 - 0.5 * epoch},
            "accuracy": dict.fromkeys(NAMES, 0.1 * epoch),
        }
        for epoch in range(EPOCHS[-1] + 1)
    ]
    return Observations(config, dict(PROVENANCE), lines, EPOCHS, arrays)


def _cosines(rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(WORDS, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def several_language(gammas: tuple[float, ...] = (0.3, 0.5, 0.8)) -> list[Observations]:
    return [make_language_observations(gamma, seed) for gamma in gammas for seed in (0, 1)]
