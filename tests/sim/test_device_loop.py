"""Steps without the host's help take the host's steps; on a CPU always, on a GPU where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sim import Trainer, train
from tests.sim.conftest import small
from tests.sim.on_device import EXACT, compare, gpu, on_device

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
        {"schedule": "warmup-cosine", "warmup_epochs": 1, "warmup_factor": 4.0},
        {"model": TRANSFORMER, "seeds": [0, 1], "clip_norm": 0.01},
    ],
    ids=lambda o: "-".join(map(str, o)) or "plain",
)
def test_the_device_takes_the_hosts_steps(options: dict[str, Any], device: str) -> None:
    """Same arithmetic in float64; a GPU's products add in another order, a schedule's rates are float32."""
    config = small(**({"dtype": "float64", "learning_rate": EXACT} | options))
    host, own = Trainer(config.members()), on_device(config.members(), device)
    for _ in range(3):
        assert host.run_epoch()
        assert own.run_epoch()
    exact = device == "cpu" and "schedule" not in options
    compare(host, own, 1e-11 if exact else 1e-5 if "schedule" in options else 1e-7)


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_a_diverging_member_is_frozen_where_it_was_and_named(device: str) -> None:
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


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_a_member_that_diverges_after_very_many_steps_is_named_too(device: str) -> None:
    """From 2^24 on, a number in float32 does not grow by one."""
    own = on_device(small(seeds=[0, 1]).members(), device)
    own.optimizer.step = 2**24 + 1
    with torch.no_grad():
        own.parameters["W1"][1, 0, 0] = float("nan")
    assert own.advance(3)
    assert list(own.failures) == [1]
    assert own.failures[1].startswith(f"diverged at step {2**24 + 1}: loss nan")
    assert own.sum_learning_rate == pytest.approx([3 * 1e-2, 0.0])


@pytest.mark.parametrize("device", [gpu])
def test_a_run_on_the_gpu_agrees_with_one_on_the_host(device: str, tmp_path: Path) -> None:
    config = small(dtype="float64", seeds=[0, 1], model=TRANSFORMER)
    there = train(config, tmp_path / "there", device=device)
    here = train(config, tmp_path / "here")
    for a, b in zip(there, here, strict=True):
        torch.testing.assert_close(
            torch.from_numpy(a.embedding(4)), torch.from_numpy(b.embedding(4)), rtol=1e-6, atol=1e-8
        )
        assert a.provenance["device"].startswith("cuda")
