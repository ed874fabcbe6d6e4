"""Whether 95 % intervals over few seeds hold the truth as often as they say, for measures such as ours.

Student's t promises its level for normal values. Other shapes are simulated here, and the coverage that
docs/claims.md reports for them is what these simulations give, to four standard errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from validate.judge.stats import COSINE, SHARE, over_seeds

Draw = Callable[[np.random.Generator, int], np.ndarray]
TRIALS = 4000
SEEDS = (2, 3, 5)
PAGE = (Path(__file__).parents[3] / "docs" / "claims.md").read_text()
SHAPES: dict[str, tuple[Draw, float, tuple[float, float]]] = {
    "normal": (lambda rng, n: rng.normal(0.5, 0.1, n), 0.5, (-math.inf, math.inf)),
    "uniform": (lambda rng, n: rng.uniform(0, 1, n), 0.5, SHARE),
    "lognormal ratio": (lambda rng, n: rng.lognormal(0, 0.5, n), math.exp(0.125), (0, math.inf)),
    "accuracy near 1": (lambda rng, n: rng.beta(19, 1, n), 0.95, SHARE),
    "lognormal, σ = 1": (lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5), (0, math.inf)),
    "two humps, one seed in six": (
        lambda rng, n: (rng.random(n) < 1 / 6) + 0.02 * rng.standard_normal(n),
        1 / 6,
        (-math.inf, math.inf),
    ),
    "cosine near −1": (lambda rng, n: 2 * rng.beta(1, 19, n) - 1, -0.9, COSINE),
}


def coverage(draw: Draw, truth: float, within: tuple[float, float], n: int) -> float:
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(TRIALS):
        estimate = over_seeds(draw(rng, n).tolist(), within)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= truth <= estimate.high
    return hits / TRIALS


def error(share: float) -> float:
    return math.sqrt(share * (1 - share) / TRIALS)


@pytest.mark.statistical
@pytest.mark.parametrize("n", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_coverage_is_the_one_reported(shape: str, n: int) -> None:
    found = coverage(*SHAPES[shape], n)
    cell = r" ([\d.]+) ± ([\d.]+) \|"
    row = re.search(rf"^\| {re.escape(shape)} \|" + len(SEEDS) * cell, PAGE, re.M)
    assert row is not None
    reported, own = map(float, row.groups()[2 * SEEDS.index(n) :][:2])
    assert abs(found - reported) < 4 * error(found)
    assert own == pytest.approx(error(reported), abs=6e-4)
