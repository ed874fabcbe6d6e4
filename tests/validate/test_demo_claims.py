"""The demo's verdicts: measures by hand, and each able to fail."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from sim import Run
from theory import cosine_matrix
from validate.claims.demo import (
    CLAIMS,
    distance_correlation,
    judge_demo,
    mean_memory_cosine,
    neighbour_excess,
)
from validate.claims.statements import LARGE, SMALL
from validate.judge.groups import Setting
from validate.observe import Observations, observe
from validate.observe.embedding import embedding_geometry


def fake(run: Run, embedding: np.ndarray[Any, Any], test: float, memory: float) -> Observations:
    """Return a run with a made-up embedding, at its last epoch alone, and made-up accuracies."""
    metrics = [{"accuracy": {"rsn_test": test, "mem": memory}}]
    arrays = {name: array[None] for name, array in embedding_geometry(embedding, run.task).items()}
    return Observations(run.config, {}, metrics, (run.config.training.epochs,), arrays)


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
    made = fake(runs[0], _ordered(), 0.9, 0.0)
    assert mean_memory_cosine(made) == pytest.approx(1)
    assert distance_correlation(made) == pytest.approx(-1)
    assert neighbour_excess(made) == pytest.approx(np.cos(0.08) - np.cos(0.72))
    real = runs[-1]
    cosines = cosine_matrix(real.embedding(6)[1:6])
    assert mean_memory_cosine(observe(real)) == pytest.approx((cosines.sum() - 5) / 20)


def _settings(small: Observations, large: Observations) -> list[Setting]:
    """Return two settings, each of one made-up run twice, the second with embeddings a trace less alike."""
    made = []
    for rate, run in ((LARGE, large), (SMALL, small)):
        arrays = run.arrays | {"gram": 0.999 * run.arrays["gram"]}
        made.append(Setting("", (_at(rate, run), _at(rate, dataclasses.replace(run, arrays=arrays)))))
    return made


def _at(rate: float, run: Observations) -> Observations:
    return dataclasses.replace(run, config=run.config.model_copy(update={"init_rate": rate}))


def test_all_hold_for_the_papers_picture_and_fail_for_its_opposite(runs: list[Run]) -> None:
    picture = _settings(fake(runs[0], _ordered(), 0.9, 0.02), fake(runs[0], _random(), 0.0, 0.2))
    assert all(outcome.holds for outcome in judge_demo(picture))
    opposite = _settings(fake(runs[0], _random(), 0.1, 0.9), fake(runs[0], _ordered(), 0.9, 0.2))
    assert not any(outcome.holds for outcome in judge_demo(opposite))
    assert {outcome.decision for outcome in judge_demo(picture)} == {"holds"}
    assert {outcome.cells()[-1] for outcome in judge_demo(opposite)} == {"fails"}


def test_a_mean_beyond_the_threshold_is_not_enough(runs: list[Run]) -> None:
    apart = [fake(runs[0], _ordered(), test, 0.02) for test in (0.75, 0.85, 0.95, 0.69)]
    rates = {LARGE: apart[:1], SMALL: apart}
    (first, *_) = judge_demo([Setting("", tuple(_at(rate, run) for run in of)) for rate, of in rates.items()])
    assert first.holds
    assert first.cells()[-1] == "undecided"


def test_an_undefined_measure_does_not_hold(runs: list[Run]) -> None:
    none = np.zeros((110, 3))
    settings = _settings(fake(runs[0], none, float("nan"), 0.0), fake(runs[0], _random(), 0.0, 0.2))
    failed = [o.condition.what for o in judge_demo(settings) if not o.holds]
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
