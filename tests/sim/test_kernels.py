"""Compiled gradients: torch's numbers, chosen when they pay, and the same after an interruption.

Where nothing is compiled yet, each model of another kind, size or number of members takes some seconds: the
tests share theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import Run, RunConfig, Trainer, train, train_together
from sim.fast import losses_and_gradients
from sim.fast.gradients import torch_gradients
from sim.training import kernels
from sim.training.kernels import check_kernels, choose_kernels
from theory import InputError

Make = Callable[..., RunConfig]
EMB_MLP = {"d_m": 8, "d_f": 12}
TRANSFORMER = {
    "kind": "transformer",
    "d_m": 12,
    "d_f": 14,
    "d_k": 5,
    "n_heads": 2,
    "biases": True,
    "n_layers": 1,
}
TWO_MEMBERS: dict[str, Any] = {"dtype": "float64", "seeds": (0, 1)}


@pytest.fixture(scope="module")
def compiler() -> None:
    """Skip where torch cannot compile."""
    try:
        check_kernels("compiled", "cpu")
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(EMB_MLP, id="emb-mlp"),
        pytest.param(TRANSFORMER, id="transformer"),
        pytest.param(TRANSFORMER | {"n_layers": 2}, id="two layers", marks=pytest.mark.long),
    ],
)
def test_compiled_gradients_are_torchs(model: dict[str, Any], small: Make) -> None:
    """For two members at once, after a few steps, and for a batch of another size."""
    config = small(model=model, learning_rate=1e-3, **TWO_MEMBERS)
    trainer = Trainer(config.members())
    report = choose_kernels(trainer, "compiled")
    assert report.used == "compiled"
    for position in range(3):
        trainer.step(*trainer.batches.at(position))
    for rows in (trainer.batches.rows(0), trainer.batches.rows(0)[:, :5]):
        tokens, labels = trainer.batches.of(rows)
        losses, found, norms = trainer.gradients(tokens, labels)
        expected = losses_and_gradients(trainer.parameters, tokens, labels, trainer.model)
        torch.testing.assert_close(losses, expected[0], rtol=1e-13, atol=0)
        for name, gradient in expected[1].items():
            largest = max(float(gradient.abs().max()), 1e-6)  # That of keys' biases is rounding alone.
            torch.testing.assert_close(found[name], gradient, rtol=0, atol=1e-12 * largest)
        for member, norm in enumerate(norms):
            whole = torch.cat([gradient[member].flatten() for gradient in expected[1].values()])
            torch.testing.assert_close(norm, whole.norm(), rtol=1e-13, atol=0)


@pytest.mark.usefixtures("compiler")
def test_every_trainer_has_compiled_gradients_of_its_own(small: Make) -> None:
    """Two models whose tensors are alike, which torch is not asked to tell apart at every call."""
    models = [EMB_MLP | {"activation": name} for name in ("tanh", "gelu")]
    trainers = [Trainer(small(model=model, init_rates=[0.1], **TWO_MEMBERS).members()) for model in models]
    assert [choose_kernels(trainer, "compiled").used for trainer in trainers] == ["compiled"] * 2
    found = []
    for trainer in trainers:
        batch = trainer.batches.at(0)
        losses, _ = losses_and_gradients(trainer.parameters, *batch, trainer.model)
        torch.testing.assert_close(trainer.gradients(*batch)[0], losses, rtol=1e-13, atol=0)
        found.append(losses)
    assert ((found[0] - found[1]).abs() > 1e-6 * found[0]).all()


@pytest.mark.usefixtures("compiler")
def test_a_resumed_run_keeps_its_kernels_and_its_numbers(small: Make, tmp_path: Path) -> None:
    """Float64, since there the matrix product has one route."""
    own = small(**TWO_MEMBERS).members()
    whole, parts = ([tmp_path / name / f"{n}" for n in range(2)] for name in ("whole", "parts"))
    asked = iter(range(10_000))
    train_together(own, whole, kernels="compiled")
    stopped = train_together(own, parts, kernels="compiled", stop=lambda: next(asked) == 7)
    assert stopped == "interrupted"
    assert train_together(own, parts, resume=True) == "complete"
    for folders in zip(whole, parts, strict=True):
        _have_the_same_numbers(*map(Run.open, folders))


def _have_the_same_numbers(whole: Run, parts: Run) -> None:
    assert parts.provenance["kernels"]["used"] == whole.provenance["kernels"]["used"] == "compiled"
    assert parts.metrics == whole.metrics
    for epoch in whole.snapshot_epochs:
        for name, array in whole.snapshot(epoch).items():
            assert (parts.snapshot(epoch)[name] == array).all(), (epoch, name)


def test_short_runs_are_not_compiled(small: Make, tmp_path: Path) -> None:
    run = train(small(), tmp_path)[0]
    assert run.provenance["kernels"] == {
        "used": "torch",
        "reason": "fewer than 20000 steps",
        "seconds": None,
        "difference": None,
    }


def _long(small: Make) -> Trainer:
    return Trainer(small(epochs=kernels.COMPILE_FROM).members())


def test_long_runs_go_on_with_torch_where_nothing_can_be_compiled(
    small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no compiler\nand more")

    monkeypatch.setattr(kernels, "compiled_gradients", lambda *_: fails)
    trainer = _long(small)
    report = choose_kernels(trainer)
    assert report.used == "torch"
    assert report.reason == "cannot be compiled here (RuntimeError: no compiler)"
    assert trainer.compiled is None
    with pytest.raises(InputError, match=r"kernels.*no compiler.*install a C\+\+ compiler"):
        choose_kernels(trainer, "compiled")


@pytest.mark.parametrize("wrong", [1.001, float("nan")])
def test_compiled_gradients_that_differ_are_not_taken(
    wrong: float, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def differ(*arguments: Any) -> Any:
        losses, found, norms = torch_gradients(trainer.model, trainer.trained)(*arguments)
        return losses, found | {"W1": found["W1"] * wrong}, norms

    monkeypatch.setattr(kernels, "compiled_gradients", lambda *_: differ)
    trainer = _long(small)
    report = choose_kernels(trainer)
    assert report.used == "torch"
    assert "differ" in report.reason
    assert trainer.compiled is None


@pytest.mark.parametrize(("times", "used"), [(0.5, "compiled"), (2.0, "torch")])
def test_compiled_gradients_may_differ_by_rounding_and_no_more(
    times: float, used: str, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On both sides of the limit: B L ε of a tensor's largest entry."""
    limit = 16 * 3 * torch.finfo(torch.float64).eps

    def differ(*arguments: Any) -> Any:
        losses, found, norms = torch_gradients(trainer.model, trainer.trained)(*arguments)
        largest = found["W1"].abs().max()
        off = torch.where(found["W1"].abs() == largest, found["W1"] * (1 + times * limit), found["W1"])
        return losses, found | {"W1": off}, norms

    monkeypatch.setattr(kernels, "compiled_gradients", lambda *_: differ)
    trainer = Trainer(small(epochs=kernels.COMPILE_FROM, dtype="float64").members())
    report = choose_kernels(trainer)
    assert report.used == used
    assert report.difference == pytest.approx(times * limit, rel=0.1)


def test_what_cannot_be_compiled_is_refused_before_any_work(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no C++ compiler found")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: fails)
    with pytest.raises(InputError, match=r"kernels.*no C\+\+ compiler found"):
        train(small(), tmp_path / "out", kernels="compiled")
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match=r"kernels.*not for the device cuda"):
        check_kernels("compiled", "cuda")
