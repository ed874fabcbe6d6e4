"""The demo's verdicts: measures by hand, and each able to fail."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest

from sim import Run
from theory import cosine_matrix
from validate.demo_claims import (  # type: ignore[attr-defined]
    CLAIMS,
    LARGE,
    SMALL,
    distance_correlation,
    judge,
    mean_memory_cosine,
    neighbour_excess,
)
from validate.settings import Setting


class Fake(Run):
    """A run with a made-up embedding and accuracies."""

    def __init__(self, run: Run, embedding: np.ndarray[Any, Any], test: float, memory: float) -> None:
        metrics = [{"accuracy": {"rsn_test": test, "mem": memory}}]
        super().__init__(run.path, run.config, {}, metrics, run.snapshot_epochs)
        self._embedding = embedding

    __setattr__ = object.__setattr__

    def embedding(self, epoch: int) -> np.ndarray[Any, Any]:
        assert epoch == self.config.training.epochs
        return self._embedding


def _ordered() -> np.ndarray[Any, Any]:
    """Memory anchors alike, reasoning anchors on an arc: what small initial weights should give."""
    W = np.zeros((110, 3))
    W[1:6] = [0, 0, 1.0]
    angles = np.arange(10) * 0.08
    W[11:21] = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return W


def _random() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal((110, 400))


def test_measures_by_hand(runs: list[Run]) -> None:
    fake: Any = Fake(runs[0], _ordered(), 0.9, 0.0)
    assert mean_memory_cosine(fake) == pytest.approx(1)
    assert distance_correlation(fake) == pytest.approx(-1)
    assert neighbour_excess(fake) == pytest.approx(np.cos(0.08) - np.cos(0.72))
    real = runs[-1]
    cosines = cosine_matrix(real.embedding(6)[1:6])
    assert mean_memory_cosine(real) == pytest.approx((cosines.sum() - 5) / 20)


def _settings(runs: list[Run], small: Fake, large: Fake) -> list[Setting]:
    made = []
    for rate, fake in ((LARGE, large), (SMALL, small)):
        run = copy.copy(next(r for r in runs if r.config.init_rate == rate))
        fake.config = run.config  # type: ignore[misc]
        made.append(dataclasses.replace(Setting("", (run,)), runs=(fake, fake)))  # type: ignore[arg-type]
    return made


def test_all_hold_for_the_papers_picture_and_fail_for_its_opposite(runs: list[Run]) -> None:
    picture = _settings(runs, Fake(runs[0], _ordered(), 0.9, 0.02), Fake(runs[0], _random(), 0.0, 0.2))
    assert all(outcome.holds for outcome in judge(picture))
    opposite = _settings(runs, Fake(runs[0], _random(), 0.1, 0.9), Fake(runs[0], _ordered(), 0.9, 0.2))
    assert not any(outcome.holds for outcome in judge(opposite))


def test_an_undefined_measure_does_not_hold(runs: list[Run]) -> None:
    settings = _settings(
        runs, Fake(runs[0], np.zeros((110, 3)), float("nan"), 0.0), Fake(runs[0], _random(), 0.0, 0.2)
    )
    failed = [o.condition.what for o in judge(settings) if not o.holds]
    assert "reasoning test accuracy" in failed
    assert "mean cosine among memory anchors" in failed


def test_thresholds_are_the_ones_that_were_fixed() -> None:
    found = {
        (claim.name, c.init_rate, c.what): (c.relation, c.threshold)
        for claim in CLAIMS
        for c in claim.conditions
    }
    assert found == {
        ("reasoning first", 0.8, "reasoning test accuracy"): (">=", 0.7),
        ("reasoning first", 0.8, "memory accuracy"): ("<=", 0.1),
        ("no reasoning", 0.3, "reasoning test accuracy"): ("<=", 0.1),
        ("memory anchors align", 0.8, "mean cosine among memory anchors"): (">=", 0.9),
        ("memory anchors align", 0.3, "|mean cosine among memory anchors|"): ("<=", 0.2),
        ("reasoning anchors are ordered", 0.8, "Spearman of distance and cosine"): ("<=", -0.9),
        ("reasoning anchors are ordered", 0.8, "neighbours minus nine apart"): (">=", 0.1),
        ("no order", 0.3, "Spearman of distance and cosine"): (">", -0.8),
    }
