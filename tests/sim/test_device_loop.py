"""Steps without the host's help, and those of the benchmarks' loop, are the engine's.

A device's are tested on a CPU always, on a GPU where there is one.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sim import MemberConfig, RunConfig, Trainer, train
from sim.training.device_steps import DeviceLoop
from sim.training.kernels import choose_kernels
from tests.bench.reference import PlainLoop
from tests.sim.conftest import small

TRANSFORMER = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "norm": "pre", "biases": True}
EXACT = 2.0**-8
"""A learning rate that float32 holds exactly: a GPU's fused update reads it in no other type."""
gpu = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
)


def on_device(members: Sequence[MemberConfig], device: str) -> Trainer:
    trainer = Trainer(members, device)
    if device == "cpu":  # Where it is not taken by itself.
        trainer.loop = DeviceLoop(trainer)
        trainer.loop.begin_epoch()
    return trainer


def compare(trainer: Trainer, other: Trainer, tolerance: float) -> None:
    assert (trainer.epoch, trainer.position) == (other.epoch, other.position)
    assert trainer.optimizer.step == other.optimizer.step
    assert trainer.sum_learning_rate == pytest.approx(other.sum_learning_rate, rel=1e-12)
    for name, weight in trainer.parameters.items():
        torch.testing.assert_close(other.parameters[name].cpu(), weight, rtol=tolerance, atol=tolerance)


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
    """Same arithmetic in float64; a GPU's products add in another order, and its rates are float32."""
    config = small(**({"dtype": "float64", "learning_rate": EXACT} | options))
    host, own = Trainer(config.members()), on_device(config.members(), device)
    for _ in range(3):
        assert host.advance()
        assert own.advance()
    compare(host, own, 1e-11 if device == "cpu" else 1e-5 if "schedule" in options else 1e-7)


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_the_compiled_update_takes_the_hosts_steps(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that has failed stays where it was. Keys' biases have no gradient: theirs is rounding.

    The second trainer's settings are its own, though its tensors are of the first one's shapes.
    """
    if device == "cpu":  # To torch's own operations.
        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    for options in (
        {"clip_norm": 0.0},
        {"clip_norm": 0.01, "beta1": 0.5, "beta2": 0.99, "epsilon": 1e-4},
        {"optimizer": "sgd", "momentum": 0.5},
    ):
        own: Any = {"dtype": "float64", "model": TRANSFORMER} | options
        members = small(seeds=[0], weight_decay=0.3, **own).members() + small(seeds=[1, 2], **own).members()
        host, together = Trainer(members), on_device(members, device)
        assert choose_kernels(together, "compiled").used == "compiled"
        assert together.loop.compiled_update is not None
        for trainer in (host, together):
            with torch.no_grad():
                trainer.parameters["W_U"][2, 0, 0] = float("nan")
            for _ in range(3):
                assert trainer.advance()
            assert list(trainer.failures) == [2]
            trainer.parameters["W_U"][2, 0, 0] = 0.0
        compare(host, together, 1e-9 if device == "cpu" else 1e-7)


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize(("factor", "failing"), [(1e60, 0), (float("nan"), 2)])
def test_members_fail_where_the_hosts_do(factor: float, failing: int, device: str) -> None:
    """In float64 not beyond float32's range; once all have failed, no step counts."""
    members = small(dtype="float64", seeds=[0, 1]).members()
    host, own = Trainer(members), on_device(members, device)
    for trainer in (host, own):
        trainer.parameters["W2"].mul_(factor)
        trainer.advance()
        assert len(trainer.failures) == failing
    assert own.failures == host.failures
    assert (own.epoch, own.position, own.optimizer.step) == (host.epoch, host.position, host.optimizer.step)


@pytest.mark.parametrize("device", ["cpu", gpu])
def test_members_restored_from_before_they_failed_go_on(device: str) -> None:
    members = small(dtype="float64", learning_rate=EXACT, seeds=[0, 1]).members()
    host, own = Trainer(members), on_device(members, device)
    own.advance(2)
    kept = [own.checkpoint(m) for m in range(2)]
    own.parameters["W2"][1] = float("nan")
    own.advance()
    assert list(own.failures) == [1]
    own.restore(kept)
    for trainer in (host, own):
        assert trainer.advance()
    compare(host, own, 1e-11 if device == "cpu" else 1e-7)


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize(("begun", "dtype"), [(0, "float64"), (2**24 + 1, "float32")])
def test_a_diverging_member_is_frozen_where_it_was_and_named(begun: int, dtype: str, device: str) -> None:
    """Also after very many steps: beyond 2^24, float32 has no odd number."""
    config = small(dtype=dtype, learning_rate=EXACT, seeds=[0, 1, 2])
    own, healthy = on_device(config.members(), device), Trainer(config.members())
    own.optimizer.step = healthy.optimizer.step = begun
    own.advance(2)
    with torch.no_grad():
        own.parameters["W1"][1, 0, 0] = float("nan")
    before = own.parameters["W2"][1].clone()
    assert own.advance()
    assert healthy.advance()
    assert list(own.failures) == [1]
    assert own.failures[1].startswith(f"diverged at step {begun + 2}: loss nan")
    assert torch.equal(own.parameters["W2"][1], before)
    tolerance = 1e-7 if dtype == "float64" else 1e-5
    for m in (0, 2):
        for name, weight in healthy.parameters.items():
            torch.testing.assert_close(
                own.parameters[name][m].cpu(), weight[m], rtol=tolerance, atol=tolerance
            )
    assert own.sum_learning_rate[0] == pytest.approx(healthy.sum_learning_rate[0])
    assert own.sum_learning_rate[1] == pytest.approx(2 * EXACT)


@pytest.mark.parametrize("device", [gpu])
def test_a_run_on_the_gpu_agrees_with_one_on_the_host(device: str, tmp_path: Path) -> None:
    config = small(dtype="float64", seeds=[0, 1], model=TRANSFORMER)
    there = train(config, tmp_path / "there", device=device)
    here = train(config, tmp_path / "here")
    for a, b in zip(there, here, strict=True):
        np.testing.assert_allclose(a.embedding(4), b.embedding(4), rtol=1e-6, atol=1e-8)
        assert a.provenance["device"].startswith("cuda")


@pytest.mark.parametrize("norm", ["pre", "post", "none", "emb-mlp"])
def test_the_plain_loop_and_the_engine_go_through_the_same_losses(norm: str) -> None:
    """The same batches in the same order; both in float32, so equal to the rounding of some sums."""
    model = {"kind": "transformer", "norm": norm, "d_m": 40, "d_f": 60, "d_k": 16}
    own: Any = {"task": "paper", "model": model, "data": {"source": "draw", "n_sequences": 2000}}
    config = RunConfig(
        **own if norm != "emb-mlp" else {}, init_rates=(0.4,), training={"learning_rate": 1e-3}
    )
    trainer = Trainer(config.members())
    plain, ours = PlainLoop(trainer).steps(15), []
    for position in range(15):
        ours.append(float(trainer.gradients(*trainer.batches.at(position))[0]))
        trainer.advance(position + 1)
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(plain), rtol=3e-5, atol=0)
    assert abs(plain[-1] - plain[0]) > 1e-3
