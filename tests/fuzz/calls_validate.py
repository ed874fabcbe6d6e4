"""One small valid call of every public callable of ``validate``."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

import sim
import validate
from tests.validate.conftest import tiny_config

Call = tuple[Callable[..., Any], dict[str, Any]]
RESULTS = frozenset(
    [
        *("Answer", "Audit", "Claim", "Condition", "CorpusPrediction", "EmbeddingComparison"),
        *("EmbeddingSeries", "Escape", "Estimate", "Finding", "GivenRuns", "Observations", "Outcome"),
        *("PaperFigure", "Prediction", "Report", "Row", "RungDistance", "Setting", "Study"),
    ]
)
"""What functions return, or what the package's own tables are made of."""


@functools.cache
def runs() -> list[sim.Run]:
    """Return tiny runs, trained once."""
    config = tiny_config(epochs=2, snapshot_epochs=[1])
    few = config.model_copy(update={"init_rates": (0.3, 0.8), "seeds": (0,)})
    return sim.train(few, tempfile.mkdtemp(prefix="anchorflow-fuzz-"))


@functools.cache
def checkpoint() -> Path:
    """Return a checkpoint with one embedding."""
    path = Path(tempfile.mkdtemp(prefix="anchorflow-fuzz-")) / "model.safetensors"
    safetensors.numpy.save_file({"wte.weight": np.eye(3)}, path)
    return path


def calls() -> dict[str, Call]:
    """Return the callables of ``validate``, each with the arguments of a valid call."""
    made = runs()
    settings = validate.group_runs(made)
    tokens = (11, 12, 13)
    cosines: dict[str, Any] = {"runs": made, "epoch": 1, "tokens": tokens}
    few = np.array([[0.1, 0.4, 0.2], [0.3, 0.1, 0.9]])
    corpus = sim.build_corpus(["a b c a", "b a c"] * 30)
    return {
        "CorpusPrediction.of": (
            validate.CorpusPrediction.of,
            {"corpus": corpus, "words": ["a", "b"], "top": 2, "nearest": ["a"], "candidates": 3},
        ),
        "answers": (validate.answers, {"runs": settings[:1]}),
        "audit": (
            validate.audit,
            {
                "module": torch.nn.Linear(3, 2),
                "rate": 0.5,
                "inputs": torch.ones(1, 3),
                "fan_in": {"weight": 3},
                "norm_loss": 0.01,
                "level": 0.95,
            },
        ),
        "compare_embedding": (
            validate.compare_embedding,
            {
                "embedding": np.array([[0.1, 0.4], [0.3, 0.1], [0.2, -0.5]]),
                "corpus": corpus,
                "predictors": ("bigram",),
                "tokens": (0, 1, 2),
                "top": 3,
                "bands": (1, 5),
                "controls": 1,
                "padded": False,
                "seed": 0,
            },
        ),
        "compare_series": (
            validate.compare_series,
            {
                "checkpoints": [checkpoint()],
                "corpus": [[0, 1], [1, 0], [0, 2]],
                "tensor": "wte.weight",
                "predictors": ("bigram",),
                "tokens": (0, 1),
                "top": 3,
                "controls": 1,
                "padded": True,
                "seed": 0,
            },
        ),
        "Recorder": (
            validate.Recorder,
            {
                "model": torch.nn.Embedding(3, 2),
                "data": [[0, 1], [1, 0], [0, 2]],
                "every": 10,
                "out": "record.csv",
                "embedding": "weight",
                "ranks": ["weight"],
                "losses": {},
                "top": 3,
                "overwrite": True,
                "seed": 0,
            },
        ),
        "read_embedding": (validate.read_embedding, {"path": checkpoint(), "tensor": "wte.weight"}),
        "compare_runs": (validate.compare_runs, {"runs": settings[:1], "epochs": [1]}),
        "draw_figure": (validate.draw_figure, {"number": 2, "observations": []}),
        "equations_behind": (validate.equations_behind, {"functions": ["theory.label_distribution"]}),
        "fitted_widths": (validate.fitted_widths, cosines),
        "group_runs": (validate.group_runs, {"runs": made}),
        "judge_demo": (validate.judge_demo, {"settings": settings}),
        "judge_claims": (
            validate.judge_claims,
            {"claims": validate.ledger([1]), "find": validate.GivenRuns(()).find},
        ),
        "ledger": (validate.ledger, {"numbers": (1, 2)}),
        "load_study": (validate.load_study, {"source": "emb-mlp"}),
        "measures": (validate.measures, {"predicted": few, "observed": few}),
        "observe_path": (validate.observe_path, {"path": made[0].path}),
        "observed_cosines": (validate.observed_cosines, {"run": made[0], "epoch": 1, "tokens": tokens}),
        "over_seeds": (validate.over_seeds, {"values": [0.1, 0.2], "within": (0.0, 1.0), "level": 0.95}),
        "predicted_cosines": (validate.predicted_cosines, cosines),
        "Prediction.of": (validate.Prediction.of, {"task": made[0].task}),
        "run_study": (validate.run_study, {"study": [], "root": Path("runs"), "workers": 1, "resume": True}),
        "rung_distances": (validate.rung_distances, {"settings": settings[:1]}),
        "study_names": (validate.study_names, {}),
    }
