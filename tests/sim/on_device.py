"""A trainer whose steps are a device's, on a CPU too, and its comparison with the host's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from sim import MemberConfig, Trainer
from sim.training.device_steps import DeviceLoop

EXACT = 2.0**-8
"""A learning rate that float32 holds exactly, as the device's schedule does."""
gpu = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
)


def on_device(members: Sequence[MemberConfig], device: str) -> Trainer:
    trainer = Trainer(members, device)
    if device == "cpu":  # Where it is not taken by itself.
        trainer._loop = DeviceLoop(trainer)
        trainer._loop.begin_epoch()
    return trainer


def compare(trainer: Trainer, other: Trainer, tolerance: float) -> None:
    assert (trainer.epoch, trainer.position) == (other.epoch, other.position)
    assert trainer.optimizer.step == other.optimizer.step
    assert trainer.sum_learning_rate == pytest.approx(other.sum_learning_rate, rel=1e-12)
    for name, weight in trainer.parameters.items():
        torch.testing.assert_close(other.parameters[name].cpu(), weight, rtol=tolerance, atol=tolerance)
