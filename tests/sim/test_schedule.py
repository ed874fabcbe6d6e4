"""The learning rate of each step, against torch's own schedulers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from sim.config.run import TrainingConfig
from sim.training.schedule import learning_rate

START, FACTOR, FINAL = 1e-5, 20.0, 2e-6
STEPS = 7


def _schedule(**options: Any) -> TrainingConfig:
    return TrainingConfig(
        schedule="warmup-cosine",
        learning_rate=START,
        warmup_factor=FACTOR,
        final_learning_rate=FINAL,
        **options,
    )


def _by_torch(warmup: int, total: int) -> list[float]:
    """Return the rates of LinearLR followed by CosineAnnealingLR."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=START * FACTOR)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total - warmup - 1, eta_min=FINAL)
    whole: Any = cosine
    if warmup:
        rise = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / FACTOR, total_iters=warmup)
        whole = torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, cosine], [warmup])
    rates = []
    for _ in range(total):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        whole.step()
    return rates


@pytest.mark.parametrize(("warmup", "epochs"), [(0, 3), (1, 3), (2, 10), (5, 8)])
@pytest.mark.parametrize("every", ["step", "epoch"])
def test_the_schedule_is_that_of_torchs_schedulers(every: Any, warmup: int, epochs: int) -> None:
    training = _schedule(schedule_every=every, warmup_epochs=warmup, epochs=epochs)
    found = [learning_rate(training, step, STEPS) for step in range(epochs * STEPS)]
    if every == "step":
        expected = _by_torch(warmup * STEPS, epochs * STEPS)
    else:
        expected = [rate for rate in _by_torch(warmup, epochs) for _ in range(STEPS)]
    assert found == pytest.approx(expected, rel=1e-12)
    peak = warmup * STEPS
    assert found[peak] == max(found) == pytest.approx(START * FACTOR)
    assert training.peak_learning_rate == max(found)
    assert found[-1] == pytest.approx(FINAL)
    assert all(a <= b for a, b in itertools.pairwise(found[: peak + 1]))


def test_a_shorter_run_follows_the_beginning_of_a_schedule_and_a_longer_one_stays_at_its_end() -> None:
    whole = _schedule(warmup_epochs=2, epochs=10)
    rates = [learning_rate(whole, step, STEPS) for step in range(10 * STEPS)]
    shorter = _schedule(warmup_epochs=2, epochs=4, schedule_epochs=10)
    assert [learning_rate(shorter, step, STEPS) for step in range(4 * STEPS)] == rates[: 4 * STEPS]
    longer = _schedule(warmup_epochs=2, epochs=12, schedule_epochs=10)
    after = [learning_rate(longer, step, STEPS) for step in range(12 * STEPS)]
    assert after == pytest.approx(rates + [FINAL] * 2 * STEPS, rel=1e-12)
