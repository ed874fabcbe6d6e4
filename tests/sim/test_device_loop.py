"""Steps without the host's help take the host's steps; on a CPU always, on a GPU where there is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import RunConfig, Trainer, train
from sim.training.members import groups_of_members
from tests.sim.on_device import EXACT, compare, gpu, on_device
from theory import InputError

Make = Callable[..., RunConfig]
TRANSFORMER = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "norm": "pre", "biases": True}


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": TRANSFORMER},
        {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
        {"clip_norm": 0.0},
        {"batch_size": "full"},
        {"model": TRANSFORMER, "seeds": [0, 1], "clip_norm": 0.01},
    ],
    ids=lambda o: "-".join(map(str, o)) or "plain",
)
def test_the_device_takes_the_hosts_steps(options: dict[str, Any], device: str, small: Make) -> None:
    """Same arithmetic in float64; only a GPU's products may add in another order."""
    config = small(**({"dtype": "float64", "learning_rate": EXACT} | options))
    host, own = Trainer(config.members()), on_device(config.members(), device)
    for _ in range(3):
        assert host.run_epoch()
        assert own.run_epoch()
    compare(host, own, 1e-11 if device == "cpu" else 1e-7)


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_the_schedule_lives_on_the_device(device: str, small: Make) -> None:
    """In float32: rates agree to 6e-8, and so do some dozens of steps of 5e-2 at most to 1e-6."""
    config = small(dtype="float64", schedule="warmup-cosine", warmup_epochs=1, warmup_factor=5.0)
    host, own = Trainer(config.members()), on_device(config.members(), device)
    for trainer in (host, own):
        while trainer.epoch < 4:
            trainer.run_epoch()
    compare(host, own, 1e-5)


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize("position", [1, 5, 8])
def test_a_block_can_be_left_and_taken_up(position: int, device: str, small: Make) -> None:
    config = small(dtype="float64", learning_rate=EXACT, seeds=[0, 1])
    whole, cut = on_device(config.members(), device), on_device(config.members(), device)
    whole.run_epoch()
    whole.run_epoch()
    cut.run_epoch()
    assert cut.advance(position)
    again = on_device(config.members(), device)
    again.restore([cut.checkpoint(m) for m in range(2)])
    again.run_epoch()
    compare(_moved(whole), _moved(again), 0.0)


def _moved(trainer: Trainer) -> Trainer:
    trainer.parameters = {name: p.cpu() for name, p in trainer.parameters.items()}
    return trainer


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_a_diverging_member_is_frozen_where_it_was_and_named(device: str, small: Make) -> None:
    config = small(dtype="float64", learning_rate=EXACT, seeds=[0, 1, 2])
    own, healthy = on_device(config.members(), device), Trainer(config.members())
    own.advance(2)
    with torch.no_grad():
        own.parameters["W1"][1, 0, 0] = float("nan")
    before = own.parameters["W2"][1].clone()
    assert own.run_epoch()
    assert healthy.run_epoch()
    assert list(own.failures) == [1]
    assert own.failures[1].startswith("diverged at step 2: loss nan")
    assert torch.equal(own.parameters["W2"][1], before)
    for m in (0, 2):
        for name, weight in healthy.parameters.items():
            torch.testing.assert_close(own.parameters[name][m].cpu(), weight[m], rtol=1e-7, atol=1e-9)
    assert own.sum_learning_rate[0] == pytest.approx(healthy.sum_learning_rate[0])
    assert own.sum_learning_rate[1] == pytest.approx(2 * EXACT)


def test_a_loss_and_a_norm_are_named_as_what_they_are(small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    own = on_device(small(clip_norm=0.0).members(), "cpu")
    gradients = own.gradients

    def overflown(tokens: torch.Tensor, labels: torch.Tensor) -> Any:
        losses, found, norms = gradients(tokens, labels)
        return losses, found, torch.full_like(norms, float("inf"))

    monkeypatch.setattr(own, "gradients", overflown)
    own.advance(1)
    assert re.fullmatch(r"diverged at step 0: loss 3\.\d+, gradient norm inf", own.failures[0])


def test_a_device_that_cannot_be_used_is_refused_before_any_work(small: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device = 'abacus': cannot be used"):
        train(small(), tmp_path / "runs", device="abacus")
    assert not (tmp_path / "runs").exists()


def test_members_train_together_that_may(small: Make) -> None:
    members = [*small(seeds=[0, 1]).members(), *small(clip_norm=2.0).members()]
    members.append(small(seeds=[3], learning_rate=0.5).members()[0])
    assert groups_of_members(members) == [[0, 1, 3], [2]]


@pytest.mark.parametrize("device", [gpu])
def test_a_run_on_the_gpu_agrees_with_one_on_the_host(device: str, small: Make, tmp_path: Path) -> None:
    config = small(dtype="float64", seeds=[0, 1], model=TRANSFORMER)
    there = train(config, tmp_path / "there", device=device)
    here = train(config, tmp_path / "here")
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(
            torch.from_numpy(a.embedding(4)), torch.from_numpy(b.embedding(4)), rtol=1e-6, atol=1e-8
        )
        assert a.provenance["device"].startswith("cuda")
