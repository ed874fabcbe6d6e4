"""The arguments of ``validate``'s public callables, by name."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

import sim
import validate
from tests.validate.conftest import tiny_config

RESULTS = frozenset(
    [
        *("Answer", "Audit", "Claim", "Condition", "CorpusPrediction", "EmbeddingComparison"),
        *(
            "EmbeddingSeries",
            "Endpoint",
            "Escape",
            "Estimate",
            "Finding",
            "Findings",
            "GivenRuns",
            "Observations",
        ),
        *("Other", "Outcome", "PaperFigure", "Prediction", "Predictor", "Report", "Row", "RungDistance"),
        *("Runs", "Setting", "Study", "above", "at_least", "at_most", "below", "within"),
        *("register_claim", "register_predictor"),  # Which take a number or a name once.
    ]
)
"""What functions return, or what the package's own tables are made of."""


@functools.cache
def runs() -> list[sim.Run]:
    config = tiny_config(epochs=2, snapshot_epochs=[1])
    few = config.model_copy(update={"init_rates": (0.3, 0.8), "seeds": (0,)})
    return sim.train(few, tempfile.mkdtemp(prefix="anchorflow-fuzz-"))


@functools.cache
def checkpoint() -> Path:
    path = Path(tempfile.mkdtemp(prefix="anchorflow-fuzz-")) / "model.safetensors"
    safetensors.numpy.save_file({"wte.weight": np.eye(3)}, path)
    return path


def arguments() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    made = runs()
    settings, corpus = validate.group_runs(made), sim.build_corpus(["a b c a", "b a c"] * 30)
    linear, few = torch.nn.Linear(3, 2), np.array([[0.1, 0.4, 0.2], [0.3, 0.1, 0.9]])
    values: dict[str, Any] = {
        **{"runs": made, "run": made[0], "settings": settings, "epoch": 1, "tokens": (11, 12, 13)},
        **{"corpus": corpus, "top": 3, "predictors": ("bigram",), "controls": 1, "padded": False, "seed": 0},
        **{"path": checkpoint(), "tensor": "wte.weight", "overwrite": True},
        **{"predicted": few, "observed": few, "values": [0.1, 0.2], "within": (0.0, 1.0), "bands": (1, 5)},
        **{"module": linear, "rate": 0.5, "inputs": torch.ones(1, 3), "fan_in": {"weight": 3}},
        **{"number": 2, "observations": [], "functions": ["theory.label_distribution"]},
        **{"claims": validate.ledger([1]), "find": validate.GivenRuns(()).find, "numbers": (1, 2)},
        **{"source": "emb-mlp", "study": [], "root": Path("runs")},
        **{"task": made[0].task, "words": ["a", "b"], "nearest": ["a"], "candidates": 3},
        **{"embedding": np.array([[0.1, 0.4], [0.3, 0.1], [0.2, -0.5]]), "checkpoints": [checkpoint()]},
        **{"data": [[0, 1], [1, 0], [0, 2]], "every": 10, "out": "record.csv", "ranks": ["weight"]},
    }
    one: dict[str, Any] = {"runs": settings[:1]}
    otherwise: dict[str, dict[str, Any]] = {
        "CorpusPrediction.of": {"top": 2},
        "Prediction.of": {},
        "answers": one,
        "compare_runs": one | {"epochs": [1]},
        "compare_embedding": {"tokens": (0, 1, 2), "tensor": None},
        "compare_series": {"corpus": [[0, 1, 2, 0], [1, 2, 0, 1]] * 3, "tokens": (0, 1, 2), "padded": True},
        "Recorder": {"model": torch.nn.Embedding(3, 2), "embedding": "weight", "losses": {}},
        "observe_path": {"path": made[0].path},
        "rung_distances": {"settings": settings[:1]},
    }
    return values, otherwise
