"""The trainer's state: its random streams, its clock, what it restores, and when it calls a member lost."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from sim import RunConfig
from sim.seeds import torch_stream
from sim.training import trainer as module
from sim.training.trainer import Trainer

Make = Callable[..., RunConfig]


def test_no_two_random_streams_of_a_run_are_one(small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str]] = []

    def stream(seed: int, name: str) -> torch.Generator:
        asked.append((seed, name))
        return torch_stream(seed, name)

    monkeypatch.setattr(module, "torch_stream", stream)
    monkeypatch.setattr("sim.models.initial.torch_stream", stream)
    Trainer(small(seeds=[0, 1], evaluation_size=5).members())
    assert len(asked) == len(set(asked)) >= 2 * (3 + 3)


def test_evaluation_takes_at_most_so_many_rows_of_each_data_set(small: Make) -> None:
    trainer = Trainer(small(evaluation_size=5).members())
    for name, rows in trainer.evaluated[0].items():
        own = trainer.datasets[0].parts[name]
        assert len(rows) == min(5, len(own)) == len(set(rows.tolist()) & set(own.tolist()))


def test_the_clock_is_the_sum_of_the_rates_of_all_steps(small: Make) -> None:
    trainer = Trainer(small(learning_rate=3e-3, schedule="constant").members())
    trainer.run_epoch()
    assert trainer.steps_per_epoch > 1
    assert trainer.sum_learning_rate == pytest.approx([3e-3 * trainer.steps_per_epoch])


def test_each_member_gets_its_own_moments_back(small: Make) -> None:
    members = small(seeds=[0, 1]).members()
    trained, restored = Trainer(members), Trainer(members)
    trained.run_epoch()
    restored.restore([trained.checkpoint(m) for m in range(2)])
    for part in ("first", "second"):
        for name, moment in getattr(trained.optimizer, part).items():
            assert not torch.equal(moment[0], moment[1])
            assert torch.equal(getattr(restored.optimizer, part)[name], moment)


@pytest.mark.parametrize(("loss", "norm"), [(math.nan, 1.0), (1.0, math.inf)])
def test_a_loss_or_a_gradient_that_is_not_finite_ends_a_member(
    loss: float, norm: float, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(small().members())
    batch = trainer.batches.at(0)
    gradients = trainer.gradients(*batch)[1]
    found = torch.tensor([loss]), gradients, torch.tensor([norm])
    monkeypatch.setattr(trainer, "gradients", lambda *_: found)
    trainer.step(*batch)
    assert trainer.failures[0].startswith("diverged at step 0")
