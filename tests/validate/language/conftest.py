"""Tiny runs of a language model on two corpora: questions by the project's generator, and the toy text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sim import Run, make_run_config, prontoqa_questions, train
from sim.config.run import RunConfig
from tests.toy_text import toy_documents
from validate.observe import Observations, observe


def tiny_config(folder: Path) -> RunConfig:
    """Write two corpora into a folder and return a configuration for them: two γ, two seeds, seconds."""
    (folder / "questions.txt").write_text("\n".join(q.text for q in prontoqa_questions(60)))
    (folder / "toy.txt").write_text("\n".join(toy_documents(60)))
    corpora = [
        {"name": name, "files": [str(folder / f"{name}.txt")], "documents": "line"}
        for name in ("questions", "toy")
    ]
    return make_run_config(
        {
            "task": {"corpora": corpora, "n_sequences": 50, "length": 24, "vocab_size": 80},
            "model": {"kind": "gpt2", "n_layers": 1, "n_heads": 2, "d_m": 16},
            "init_rates": [0.3, 0.8],
            "seeds": [0, 1],
            "training": {
                "epochs": 4,
                "batch_size": 10,
                "learning_rate": 3e-3,
                "evaluate_every": 1,
                "snapshot_epochs": [1, 2],
                "checkpoint_every": 4,
            },
        }
    )


@pytest.fixture(scope="session")
def language_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("language")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return train(tiny_config(folder), folder / "runs")
    finally:
        os.chdir(before)


@pytest.fixture(scope="session")
def observed(language_runs: list[Run]) -> list[Observations]:
    return [observe(run) for run in language_runs]
