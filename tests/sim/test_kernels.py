"""Compiled gradients and the matrix product: chosen when they pay, never at the cost of accuracy.

Where nothing is compiled yet, each model of another kind, size or number of members takes some seconds: the
tests share theirs.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from sim import Run, Trainer, train_together
from sim.models.base import model_of
from sim.training import kernels
from sim.training.kernels import ERROR_LIMIT, check_kernels, choose_kernels, choose_route
from sim.training.optimizer import torch_gradients
from tests.run_folder import contents
from tests.sim.conftest import TRANSFORMER, small, small_member, stopped_after
from theory import InputError

DEEP = TRANSFORMER | {"n_heads": 2, "biases": True}
TWO_MEMBERS: dict[str, Any] = {"dtype": "float64", "seeds": (0, 1)}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_kernels_for_a_device_that_is_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="kernels = 'compiled': cannot be compiled here"):
        check_kernels("compiled", "cuda")
    check_kernels("auto", "cuda")


def test_what_cannot_be_compiled_is_refused_or_leaves_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text on a GPU, and a device's update that fails to compile."""
    monkeypatch.setattr(kernels, "compiled_gradients", lambda model, _, *own: torch_gradients(model, own[0]))
    trainer: Any = Trainer(small(epochs=kernels.COMPILE_FROM).members())
    trainer.loop = SimpleNamespace(rates=[])
    assert choose_kernels(trainer).reason.startswith("cannot be compiled here (")
    trainer.device, trainer.model = torch.device("cuda"), SimpleNamespace(reads_text=True)
    assert choose_kernels(trainer).used == "torch"
    with pytest.raises(
        InputError, match="kernels = 'compiled': on a GPU, compiled ones are for sequences of"
    ):
        choose_kernels(trainer, "compiled")


def test_a_batch_of_any_size_has_its_product_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data may have fewer sequences, and a thousand rows are enough."""
    measured = list[int]()
    monkeypatch.setattr(kernels, "choose_route", lambda rows, *_: measured.append(rows))
    for size in (10, 10**9, "full"):
        kernels.member_route(small_member(batch_size=size, model=TRANSFORMER))
    assert measured == [30, 1000, 1000]


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
        pytest.param({"d_m": 8, "d_f": 12}, id="emb-mlp"),
        pytest.param(DEEP, id="transformer"),
        pytest.param(DEEP | {"n_layers": 2}, id="two layers", marks=pytest.mark.long),
    ],
)
def test_compiled_gradients_are_torchs(model: dict[str, Any]) -> None:
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
        expected = model_of(trainer.model).gradients(trainer.parameters, tokens, labels)
        torch.testing.assert_close(losses, expected[0], rtol=1e-13, atol=0)
        for name, gradient in expected[1].items():
            largest = max(float(gradient.abs().max()), 1e-6)  # That of keys' biases is rounding alone.
            torch.testing.assert_close(found[name], gradient, rtol=0, atol=1e-12 * largest)
        for member, norm in enumerate(norms):
            whole = torch.cat([gradient[member].flatten() for gradient in expected[1].values()])
            torch.testing.assert_close(norm, whole.norm(), rtol=1e-13, atol=0)


@pytest.mark.usefixtures("compiler")
def test_a_resumed_run_keeps_its_kernels_and_its_numbers(tmp_path: Path) -> None:
    """Float64, since there the matrix product has one route."""
    own = small(**TWO_MEMBERS).members()
    whole, parts = ([tmp_path / name / f"{n}" for n in range(2)] for name in ("whole", "parts"))
    train_together(own, whole, kernels="compiled")
    stopped = train_together(own, parts, kernels="compiled", stop=stopped_after(7))
    assert stopped == "interrupted"
    assert train_together(own, parts, resume=True) == "complete"
    for one, other in zip(whole, parts, strict=True):
        assert {Run.open(path).provenance["kernels"]["used"] for path in (one, other)} == {"compiled"}
        assert contents(other) == contents(one)


@pytest.mark.parametrize(("times", "used"), [(0.5, "compiled"), (2.0, "torch"), (float("nan"), "torch")])
def test_compiled_gradients_may_differ_by_rounding_and_no_more(
    times: float, used: str, monkeypatch: pytest.MonkeyPatch
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
    assert (trainer.compiled is not None) == (used == "compiled")
    # What is not finite is no number of a record.
    assert report.difference == (pytest.approx(times * limit, rel=0.1) if times == times else None)


QUOTED = "C++ compile error\n\nCommand:\nc++ -O3\n\nOutput:\na.cpp:1: fatal error: no Python.h\n"


@pytest.mark.parametrize(
    ("said", "told"), [((), "no reason given"), ((QUOTED,), "a.cpp:1: fatal error: no Python.h")]
)
def test_a_compiler_that_fails_leaves_torchs_kernels_and_the_cause(
    said: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped: Any = RuntimeError("backend='inductor' raised:\nand more")
    wrapped.inner_exception = AssertionError(*said)
    monkeypatch.setattr(kernels, "compiled_gradients", lambda *_: Mock(side_effect=wrapped))
    for epochs, recorded in ((kernels.COMPILE_FROM, None), (1, {"kernels": {"used": "compiled"}})):
        report = choose_kernels(Trainer(small(epochs=epochs).members()), recorded=recorded)
        assert report.used == "torch"
        assert report.reason == f"cannot be compiled here (AssertionError: {told})"


def test_the_chosen_route_is_accurate(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast the other is, it is taken up to the limit of error and not above."""
    report = choose_route(64, (48, 96, 48), 1)
    assert 0 < report.error["default"] <= ERROR_LIMIT
    assert set(report.gflops) == set(report.error)
    if "bf16-named" not in report.error:
        pytest.skip("this torch has one float32 product")
    for error, speed, route in (
        (1.01 * ERROR_LIMIT, 1000.0, "default"),
        (ERROR_LIMIT, 1000.0, "bf16-named"),
        (ERROR_LIMIT, 1.0, "default"),
    ):
        measured = iter([(1.0, 1e-7), (speed, error)])
        monkeypatch.setattr("sim.training.kernels._measure", lambda *_, own=measured: next(own))
        assert choose_route.__wrapped__(64, (48, 96, 48), 1).route == route
