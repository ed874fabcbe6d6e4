"""Every optimiser's step and each step's rate are torch's; a run that fits nothing new ends."""

import itertools
import runpy
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest
import torch

from sim import SGD, AdamW, Run, Trainer, TrainingConfig, make_run_config, train
from sim.config.run import make_member_config
from sim.config.training import OPTIMIZERS, Step
from sim.runs.run import is_complete
from sim.training.session import train_together
from tests.sim.conftest import TRANSFORMER, small, small_member, stopped_after
from theory import AdamSettings, InputError, SGDSettings

EXAMPLES = Path(__file__).parents[2] / "docs" / "extending"
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "adamw": [{}, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3, "weight_decay": 0.3}],
    "sgd": [{}, {"momentum": 0.9, "weight_decay": 0.3}],
}


def test_every_optimiser_is_tested() -> None:
    assert OPTIONS.keys() == OPTIMIZERS.complete().keys()


@pytest.mark.parametrize("frozen", [None, 0.0, 1.0])
@pytest.mark.parametrize(
    ("name", "options"), [(name, own) for name, each in OPTIONS.items() for own in each], ids=str
)
def test_torchs_kernel_takes_the_same_steps(name: str, options: dict[str, Any], frozen: float | None) -> None:
    training = TrainingConfig(optimizer=name, learning_rate=0.1, **options)
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, 4, generator=generator, dtype=torch.float64) for _ in range(2)]
    results = []
    for step in (type(training).step_in_place, TrainingConfig.step_in_place):
        weights = [w.clone() for w in start]
        each = [training.initial_state(w) for w in weights]
        state = {kind: [own[kind] for own in each] for kind in each[0]}
        gradients = torch.Generator().manual_seed(1)
        for number in range(1, 6):
            found = [torch.randn(w.shape, generator=gradients, dtype=w.dtype) for w in weights]
            held = None if frozen is None else torch.tensor(frozen)
            step(training, weights, found, state, Step(0.1, torch.tensor(float(number)), None, held))
        results.append([*weights, *(tensor for own in state.values() for tensor in own)])
    torch.testing.assert_close(*results, rtol=1e-12, atol=1e-12)
    assert torch.equal(results[0][0], start[0]) == (frozen == 1.0)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("together", [False, True])
def test_weight_decay_shrinks_every_tensor_norms_too(name: str, together: bool) -> None:
    """Without a gradient a step multiplies each weight by 1 − ηλ, of each member its own λ."""
    kind = {"optimizer": name, "dtype": "float64", "seeds": [0]}
    members = [
        small(model=TRANSFORMER | {"norm": "pre"}, weight_decay=d, **kind).members()[0] for d in (0.5, 0.1)
    ]
    trainer = Trainer(members)
    before = {tensor: weight.clone() for tensor, weight in trainer.parameters.items()}
    assert {"0.ln1.w", "ln_final.w"} < before.keys()
    zeros = {tensor: torch.zeros_like(weight) for tensor, weight in before.items()}
    rates, number = torch.full((2,), 0.1, dtype=torch.float64), torch.tensor(1.0)
    if together:
        trainer.optimizer.update_together(zeros, torch.zeros(2), rates, number, torch.full((2,), -1))
    else:
        for member in range(2):
            own = [gradient[member] for gradient in zeros.values()]
            trainer.optimizer.update(member, own, Step(0.1, number, None, None))
    for tensor, weight in trainer.parameters.items():
        for member, factor in enumerate((0.95, 0.99)):
            torch.testing.assert_close(weight[member], factor * before[tensor][member], rtol=1e-12, atol=0)


def test_each_has_settings_of_its_own_and_its_flow() -> None:
    adam, sgd = AdamW(beta1=0.5), TrainingConfig(optimizer="sgd", learning_rate=0.1)
    assert (type(TrainingConfig()), type(sgd)) == (AdamW, SGD)
    assert (adam.flow(), sgd.flow()) == (AdamSettings(1e-4, (0.5, 0.999)), SGDSettings(0.1))
    assert SGD(momentum=0.5).flow() is None
    with pytest.raises(InputError, match="beta1"):
        make_run_config({"training": {"optimizer": "sgd", "beta1": 0.5}})
    with pytest.raises(InputError, match="choose one of adamw, sgd"):
        make_run_config({"training": {"optimizer": "rmsprop"}})


def test_a_folder_from_before_holds_every_optimisers_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of others are passed over as they were by default, also where a third one has another default."""

    class Signum(TrainingConfig):
        optimizer: Literal["signum"] = "signum"
        momentum: float = 0.9

    monkeypatch.setitem(OPTIMIZERS, "signum", Signum)
    for optimizer, others, changed in (
        ("sgd", {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}, {"beta1": 0.8}),
        ("adamw", {"momentum": 0.0}, {"momentum": 0.5}),
    ):
        member = small(optimizer=optimizer).members()[0]
        saved = member.model_dump(mode="json")
        assert make_member_config(saved | {"training": saved["training"] | others}) == member
        with pytest.raises(InputError, match=next(iter(changed))):
            make_member_config(saved | {"training": saved["training"] | others | changed})


def test_one_that_remembers_nothing_of_some_tensors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the memory of one tensor would be taken for another's."""

    class Partial(AdamW):
        optimizer: Literal["partial"] = "partial"  # type: ignore[assignment]

        def initial_state(self, weight: torch.Tensor) -> dict[str, torch.Tensor]:
            return super().initial_state(weight) if weight.shape[-1] == 12 else {}

    monkeypatch.setitem(OPTIMIZERS, "partial", Partial)
    with pytest.raises(InputError, match="optimizer = 'partial': remembers no first of each tensor"):
        Trainer(small(optimizer="partial").members())


@patch.dict(OPTIMIZERS)
def test_one_of_ones_own_takes_its_own_steps(tmp_path: Path) -> None:
    """Lion's step written out, over some epochs; its settings and what it remembers are kept."""
    lion = runpy.run_path(str(EXAMPLES / "lion.py"))["Lion"]
    config = small(optimizer="lion", dtype="float64", weight_decay=0.1, clip_norm=0.0)
    trainer = Trainer(config.members())
    weights = {name: w.clone() for name, w in trainer.parameters.items()}
    momenta = {name: torch.zeros_like(w) for name, w in weights.items()}
    rate = config.training.learning_rate
    for _ in range(5):
        _, gradients, _ = trainer.gradients(*trainer.batches.at(trainer.position))
        for name, g in gradients.items():
            sign = torch.sign(0.9 * momenta[name] + 0.1 * g)
            weights[name] -= rate * (sign + 0.1 * weights[name])
            momenta[name] = 0.99 * momenta[name] + 0.01 * g
        trainer.advance(trainer.position + 1)
    for name, w in weights.items():
        torch.testing.assert_close(trainer.parameters[name], w, rtol=1e-12, atol=1e-12)
    assert isinstance(config.training, lion)
    (run,) = train(config, tmp_path, workers=1)
    assert Run.open(run.path).config.training == config.training
    assert any(name.startswith("momentum/") for name in trainer.checkpoint(0)[0])


PATIENT = {"dtype": "float64", "epochs": 40, "evaluate_every": 1, "learning_rate": 0.05}


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
    assert small_member(epochs=10, patience=1.0).has_ended(metrics) is ended
    assert small_member(epochs=10).has_ended(metrics) is (bool(rows) and rows[-1][0] == 10)


@pytest.mark.parametrize("rate", [1e-4, 3e-4, 5e-6])
def test_rounded_sums_make_no_run_longer(rate: float) -> None:
    """Twice the sum of some rates is often above the sum of twice as many."""
    member, sums = small_member(epochs=1000, patience=1.0), list(accumulate([rate] * 400, initial=0.0))
    assert any(sums[2 * n] < 2 * sums[n] for n in range(200))
    for fitted in range(2, 200):
        for now in (2 * fitted - 1, 2 * fitted):
            metrics = evaluations((0, 0.0, 0.0, 0.0), (fitted, 0.0, 0.5, 0.0), (now, 0.0, 0.5, 0.0))
            summed = [line | {"sum_learning_rate": sums[line["epoch"]]} for line in metrics]
            assert member.has_ended(summed) is (now == 2 * fitted)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small(**PATIENT, patience=1.0), tmp_path_factory.mktemp("patience"))[0]


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
    (whole,) = train(small(**PATIENT | {"snapshot_epochs": [2, last]}), tmp_path)
    np.testing.assert_array_equal(ended.embedding(last), whole.embedding(last))
    assert ended.metrics == whole.metrics[: last + 1]


@pytest.mark.parametrize("stop_after", [1, 30])
def test_an_interrupted_run_ends_as_it_would_have(stop_after: int, ended: Run, tmp_path: Path) -> None:
    config = small_member(**PATIENT, patience=1.0)
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
