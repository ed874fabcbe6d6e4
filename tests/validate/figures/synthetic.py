"""Observations made without training, whose values a test knows."""

import json
from functools import cache
from typing import Any

import numpy as np

from sim.config.run import MemberConfig, make_member_config
from sim.models.initial import tensor_specs
from tests.validate.conftest import TASK as TINY
from theory import cosine_matrix, label_table, marginal_distribution
from theory.task.task import task_from_dict, task_to_dict
from validate.figures import Sheet
from validate.figures.paper import draw_figure
from validate.observe import Observations
from validate.observe.language import PREDICTORS
from validate.observe.parameters import draw_probe, observe_parameters

TASK = TINY | {"length": 5, "reasoning_anchors": "11..16"}
RANGES = {
    "keys": "40..49",
    "n_anchors": 1,
    "length": 3,
    "vocab_size": 80,
    "mappings": [
        {"name": "range1", "anchors": [1, 2, 3], "rule": "lookup", "low": 10, "high": 19},
        {"name": "range2", "anchors": [4, 5, 6], "rule": "lookup", "low": 10, "high": 39},
    ],
}
MEMORIES = RANGES | {
    "mappings": [
        {"name": "mem1", "anchors": [1, 2, 3], "rule": "lookup"},
        {"name": "mem2", "anchors": [4, 5, 6], "rule": "window"},
    ]
}
PROVENANCE = {"status": "complete", "wall_seconds": 1.0, "peak_memory_mib": 1.0}
EPOCHS = (0, 2, 9, 10)
NAMES, SHORT, WORDS = ("prontoqa", "tinystories"), (0, 1, 4), 8
"""Corpora, epochs and shown words of the language models."""
MODELS = {
    "emb-mlp": {"kind": "emb-mlp", "d_m": 16, "d_f": 20},
    "transformer": {"kind": "transformer", "d_m": 16, "d_f": 20, "d_k": 8},
    "no-norm": {"kind": "transformer", "norm": "none", "d_m": 16, "d_f": 20, "d_k": 8},
}
"""The early and late epochs of a figure are 2, where half of the sums are solved, and 9, nearest to 90 %."""


def make_observations(
    model: str = "transformer",
    gamma: float = 0.8,
    seed: int = 0,
    task: dict[str, Any] = TASK,
    **training: Any,
) -> Observations:
    """Return observations of a made-up run: Gaussian matrices, embeddings that grow along P^s − P̄."""
    config = make_member_config(
        {
            "task": task_to_dict(task_from_dict(task)),
            "model": MODELS[model],
            "training": {"epochs": EPOCHS[-1]} | training,
            "init_rate": gamma,
            "seed": seed,
        }
    )
    arrays = dict(_arrays(config.model_dump_json(exclude={"training"})))
    return Observations(config, dict(PROVENANCE), _metrics(config), EPOCHS, arrays)


def several(
    model: str = "transformer", gammas: tuple[float, ...] = (0.3, 0.8), **other: Any
) -> list[Observations]:
    return [make_observations(model, gamma, seed, **other) for gamma in gammas for seed in (0, 1)]


def runs_for(number: int) -> list[Observations]:
    """Return runs that a figure can be drawn from."""
    if number in (1, 7, 14):
        return several_language()
    if number == 8:
        return [make_observations(m, task=t) for t in (RANGES, MEMORIES) for m in ("emb-mlp", "transformer")]
    if number == 17:
        return [o for rate in (1e-4, 1e-3) for o in several(learning_rate=rate)]
    if number in (3, 16):
        return several("no-norm") if number == 16 else several("transformer") + several("emb-mlp")
    return several("emb-mlp" if number in (4, 10) else "transformer", (0.3, 0.5, 0.8))


@cache
def drawn(number: int) -> Sheet:
    """Return a drawn figure of such runs, its texts where a file has them."""
    sheet = draw_figure(number, runs_for(number))
    sheet.figure_.draw_without_rendering()
    return sheet


@cache
def _arrays(described: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return what is observed of a configuration in JSON, without its training, which changes nothing."""
    config = make_member_config(json.loads(described))
    probe = draw_probe(config.build_task())
    found = [observe_parameters(_parameters(config, epoch), config, probe) for epoch in EPOCHS]
    return {name: np.stack([f[name] for f in found]) for name in found[0]} | _of_data(config)


def _parameters(config: MemberConfig, epoch: int) -> dict[str, np.ndarray[Any, Any]]:
    task = config.build_task()
    rng = np.random.default_rng([config.seed, round(100 * config.init_rate)])
    made = {
        name: rng.normal(size=spec.shape) * spec.fan_in**-config.init_rate
        if spec.fan_in
        else np.ones(spec.shape)
        for name, spec in tensor_specs(config).items()
    }
    drive = label_table(task, held_out=True) - marginal_distribution(task, held_out=True)
    growth = drive @ rng.normal(size=(task.vocab_size, config.model_dump()["model"]["d_m"]))
    made[config.model.embedding] += epoch * (config.init_rate > 0.4) * growth
    return made


def _metrics(config: MemberConfig) -> list[dict[str, Any]]:
    """Return losses that fall by 0.1 an epoch from 4 + seed/10, and rise once by the learning rate × 1000.

    The accuracy of the training sums is a quarter more after each epoch.
    """
    parts = ["mem", *(m.name for m in config.build_task().mappings if m.is_table)]
    parts += ["rsn_train", "rsn_test"] if config.build_task().reasoning_anchors else []
    rate = config.training.learning_rate
    return [
        {
            "epoch": epoch,
            "step": 10 * epoch,
            "sum_learning_rate": 10 * epoch * rate,
            "loss": dict.fromkeys(parts, 4 + config.seed / 10 - epoch / 10 + 1000 * rate * (epoch == 5)),
            "accuracy": dict.fromkeys(parts, epoch / 20 + config.seed / 100)
            | ({"rsn_train": min(1.0, epoch / 4)} if "rsn_train" in parts else {}),
        }
        for epoch in range(EPOCHS[-1] + 1)
    ]


def _of_data(config: MemberConfig) -> dict[str, np.ndarray[Any, Any]]:
    task = config.build_task()
    rng = np.random.default_rng(config.seed)
    distributions = label_table(task, held_out=True)[list(task.anchors)] - 1 / task.vocab_size
    found = {"token_label_matrix_anchors": distributions + 1e-4 * rng.normal(size=distributions.shape)}
    if config.model.kind == "emb-mlp":
        found["frozen_direction"] = 9 * cosine_matrix(distributions)
    return found


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
            "training": {"epochs": SHORT[-1]},
            "init_rate": gamma,
            "seed": seed,
        }
    )
    rng = np.random.default_rng([seed, round(100 * gamma)])

    def cosines() -> np.ndarray:
        return cosine_matrix(rng.normal(size=(WORDS, 3)))

    arrays = {"entropy/prontoqa": np.array([2.0, 1.0]), "entropy/tinystories": np.array([3.0, 2.0])}
    for name in NAMES:
        own = cosines()
        for kind in ("predicted", "control"):
            for predictor in PREDICTORS:
                for which in (name, f"centred/{name}"):
                    arrays[f"{kind}/{predictor}/{which}"] = own if kind == "predicted" else cosines()
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
        for epoch in range(SHORT[-1] + 1)
    ]
    return Observations(config, dict(PROVENANCE), lines, SHORT, arrays)


def several_language(gammas: tuple[float, ...] = (0.3, 0.5, 0.8)) -> list[Observations]:
    return [make_language_observations(gamma, seed) for gamma in gammas for seed in (0, 1)]
