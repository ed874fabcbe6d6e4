"""When a run evaluates: whole epochs, or within them; never at the cost of the weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim import RunConfig, train
from theory import InputError

Make = Callable[..., RunConfig]


def test_evaluating_within_epochs_changes_no_weight(small: Make, tmp_path: Path) -> None:
    rarely, often = (
        train(small(dtype="float64", epochs=4, **options), tmp_path / name)[0]
        for name, options in (
            ("rarely", {"evaluate_every": 2}),
            ("often", {"evaluate_every": 1, "evaluations_per_epoch": 4}),
        )
    )
    for epoch in rarely.snapshot_epochs:
        np.testing.assert_array_equal(rarely.embedding(epoch), often.embedding(epoch))
    assert len(often.metrics) == 1 + 4 * 4
    epochs = [line["epoch"] for line in often.metrics]
    steps = [line["step"] for line in often.metrics]
    assert epochs == sorted(epochs)
    per_epoch = steps[-1] // 4
    np.testing.assert_allclose(epochs, np.array(steps) / per_epoch, atol=1e-12)
    np.testing.assert_allclose(epochs, np.arange(17) / 4, atol=0.5 / per_epoch)
    # Where both evaluated, they found the same.
    assert [line for line in often.metrics if line["epoch"] in (0, 2, 4)] == rarely.metrics


@pytest.mark.parametrize("stop_after", [3, 4, 5, 11])
def test_stopping_at_any_step_repeats_and_loses_no_evaluation(
    stop_after: int, small: Make, tmp_path: Path
) -> None:
    from sim.training.session import train_together

    options = {"dtype": "float64", "epochs": 3, "evaluate_every": 1, "evaluations_per_epoch": 3}
    member = small(**options).members()[0]
    train_together([member], [tmp_path / "whole"])
    left = iter([False] * stop_after)
    assert train_together([member], [tmp_path / "cut"], stop=lambda: next(left, True)) == "interrupted"
    assert train_together([member], [tmp_path / "cut"], resume=True) == "complete"
    whole, cut = ((tmp_path / name / "metrics.jsonl").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


def test_evaluations_within_epochs_need_every_epoch(small: Make) -> None:
    with pytest.raises(InputError, match="evaluate_every = 1"):
        small(evaluate_every=5, evaluations_per_epoch=2)
