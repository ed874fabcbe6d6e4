"""Every optimiser's step is torch's, alike in place and for members together; one of one's own is a file."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import SGD, AdamW, Run, Trainer, TrainingConfig, make_run_config, register_optimizer, train
from sim.config.run import make_member_config
from sim.config.training import OPTIMIZERS, Step
from tests.sim.conftest import TRANSFORMER, small
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


def test_a_folder_from_before_holds_every_optimisers_settings() -> None:
    """Those of others are passed over where they are as they were by default."""
    member = small(optimizer="sgd").members()[0]
    saved = member.model_dump(mode="json")
    saved["training"] |= {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    assert make_member_config(saved) == member
    saved["training"]["beta1"] = 0.8
    with pytest.raises(InputError, match="beta1"):
        make_member_config(saved)


def test_a_name_is_given_once() -> None:
    class Other(SGD):
        """Another with the same name."""

    with pytest.raises(InputError, match="SGD has that name"):
        register_optimizer(Other)


def test_one_of_ones_own_trains_stops_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lion's step written out, over some epochs, for two members that differ in rate."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr("sim.config.training.OPTIMIZERS", OPTIMIZERS)
    try:
        import lion

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
        assert isinstance(config.training, lion.Lion)
        (run,) = train(config, tmp_path, workers=1)
        assert Run.open(run.path).config.training == config.training
        assert any(name.startswith("momentum/") for name in trainer.checkpoint(0)[0])
    finally:
        OPTIMIZERS.pop("lion", None)
        sys.modules.pop("lion", None)
