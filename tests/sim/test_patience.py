"""The learning rate of each step, against torch's schedulers; the end of a run that fits nothing new."""

import itertools
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sim import Run, train
from sim.config.training import TrainingConfig
from sim.runs.run import is_complete
from sim.training.session import train_together
from tests.sim.conftest import small, small_member, stopped_after

OPTIONS = {"dtype": "float64", "epochs": 40, "evaluate_every": 1, "learning_rate": 0.05}


def evaluations(*rows: tuple[float, float, float, float], rate: float = 1.0) -> list[dict[str, Any]]:
    """Return metrics from the epoch and the accuracies of memory, training sums and held-out sums."""
    found: list[dict[str, Any]] = []
    for epoch, *fitted in rows:
        accuracy = dict(zip(("mem", "rsn_train", "rsn_test"), fitted, strict=True))
        found.append({"epoch": epoch, "sum_learning_rate": rate * epoch, "accuracy": accuracy})
    return found


@pytest.mark.parametrize(
    ("rows", "ended"),
    [
        ([(0, 0.0, 0.0, 0.0), (1, 0.0, 0.5, 0.0)], False),
        ([(0, 0.0, 0.0, 0.0), (1, 0.0, 0.5, 0.0), (2, 0.4, 0.4, 0.0)], True),
        ([(0, 0.0, 0.0, 0.0), (2, 0.0, 0.6, 0.0), (3, 0.5, 0.6, 0.0), (5, 0.5, 0.6, 0.0)], False),
        ([(0, 0.0, 0.0, 0.0), (2, 0.0, 0.6, 0.0), (3, 0.5, 0.6, 0.0), (6, 0.5, 0.6, 0.0)], True),
        # The held-out sums do not count, nor does a set that the initial weights fit.
        ([(0, 0.0, 0.0, 0.0), (1, 0.0, 0.5, 0.0), (2, 0.0, 0.6, 0.6)], True),
        ([(0, 0.0, 0.0, 0.0), (1, 0.0, 0.0, 0.9), (9, 0.0, 0.0, 0.9)], False),
        ([(0, 0.9, 0.0, 0.0), (9, 0.9, 0.0, 0.0)], False),
        # It ends with an epoch.
        ([(0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.5, 0.0), (1.5, 0.0, 0.5, 0.0)], False),
        ([(0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.5, 0.0), (1.5, 0.0, 0.5, 0.0), (2, 0.0, 0.5, 0.0)], True),
        ([(0, 0.0, 0.0, 0.0), (10, 0.0, 0.0, 0.0)], True),
        ([], False),
    ],
)  # fmt: skip
def test_a_run_ends_one_doubling_after_the_last_set_was_fitted(
    rows: list[tuple[float, float, float, float]], ended: bool
) -> None:
    metrics = evaluations(*rows, rate=0.1)
    assert small(epochs=10, patience=1.0).training.has_ended(metrics) is ended
    assert small(epochs=10).training.has_ended(metrics) is (bool(rows) and rows[-1][0] == 10)


@pytest.mark.parametrize("rate", [1e-4, 3e-4, 5e-6])
def test_rounded_sums_make_no_run_longer(rate: float) -> None:
    """Twice the sum of some rates is often above the sum of twice as many."""
    training, sums = small(epochs=1000, patience=1.0).training, list(accumulate([rate] * 400, initial=0.0))
    assert any(sums[2 * n] < 2 * sums[n] for n in range(200))
    for fitted in range(2, 200):
        for now in (2 * fitted - 1, 2 * fitted):
            metrics = evaluations((0, 0.0, 0.0, 0.0), (fitted, 0.0, 0.5, 0.0), (now, 0.0, 0.5, 0.0))
            summed = [line | {"sum_learning_rate": sums[line["epoch"]]} for line in metrics]
            assert training.has_ended(summed) is (now == 2 * fitted)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small(**OPTIONS, patience=1.0), tmp_path_factory.mktemp("patience"))[0]


def test_it_changes_no_weight_before_the_end(ended: Run, tmp_path: Path) -> None:
    last = ended.snapshot_epochs[-1]
    assert 2 < last < 40
    assert last == ended.metrics[-1]["epoch"]
    assert f"epoch {last}," in repr(ended)
    times, found = zip(*((m["sum_learning_rate"], m["accuracy"]) for m in ended.metrics), strict=True)
    fitted = max(
        next((t for t, a in zip(times, found, strict=True) if a[part] >= 0.5), 0)
        for part in ("mem", "rsn_train")
    )
    assert times[-2] < 2 * fitted <= times[-1] * (1 + 1e-8)
    (whole,) = train(small(**OPTIONS | {"snapshot_epochs": [2, last]}), tmp_path)
    np.testing.assert_array_equal(ended.embedding(last), whole.embedding(last))
    assert ended.metrics == whole.metrics[: last + 1]


@pytest.mark.parametrize("stop_after", [1, 30])
def test_an_interrupted_run_ends_as_it_would_have(stop_after: int, ended: Run, tmp_path: Path) -> None:
    config = small_member(**OPTIONS, patience=1.0)
    assert train_together([config], [tmp_path / "cut"], stop=stopped_after(stop_after)) == "interrupted"
    assert not is_complete(tmp_path / "cut")
    assert train_together([config], [tmp_path / "cut"], resume=True) == "complete"
    assert Run.open(tmp_path / "cut").metrics == ended.metrics


START, FACTOR, FINAL = 1e-5, 20.0, 2e-6
STEPS = 7


def _rates(**options: Any) -> list[float]:
    """Return the learning rate of each step of a run."""
    scale: Any = {"learning_rate": START, "warmup_factor": FACTOR, "final_learning_rate": FINAL}
    training = TrainingConfig(schedule="warmup-cosine", **scale, **options)
    found = [training.rate_at(step, STEPS) for step in range(training.epochs * STEPS)]
    assert training.peak_learning_rate == pytest.approx(START * FACTOR)
    return found


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
    found = _rates(schedule_every=every, warmup_epochs=warmup, epochs=epochs)
    if every == "step":
        expected = _by_torch(warmup * STEPS, epochs * STEPS)
    else:
        expected = [rate for rate in _by_torch(warmup, epochs) for _ in range(STEPS)]
    assert found == pytest.approx(expected, rel=1e-12)
    peak = warmup * STEPS
    assert found[peak] == max(found) == pytest.approx(START * FACTOR)
    assert found[-1] == pytest.approx(FINAL)
    assert all(a <= b for a, b in itertools.pairwise(found[: peak + 1]))


def test_a_shorter_run_follows_the_beginning_of_a_schedule_and_a_longer_one_stays_at_its_end() -> None:
    rates = _rates(warmup_epochs=2, epochs=10)
    assert _rates(warmup_epochs=2, epochs=4, schedule_epochs=10) == rates[: 4 * STEPS]
    after = _rates(warmup_epochs=2, epochs=12, schedule_epochs=10)
    assert after == pytest.approx(rates + [FINAL] * 2 * STEPS, rel=1e-12)
