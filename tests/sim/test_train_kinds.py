"""The engine with every kind of model: plain loops, company, resuming, members with their own settings."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from sim import MemberConfig, RunConfig, Trainer, label_logits
from sim.config.run import TrainingConfig
from sim.data.dataset import TaskDataset
from sim.fast.gradients import gradient_norms
from sim.training.optimizer import Optimizer, clip_divisor, clip_divisors
from sim.training.schedule import learning_rate
from tests.sim.conftest import NOISY_TASK
from theory import InputError

Make = Callable[..., RunConfig]
KINDS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"kind": "emb-mlp", "d_m": 8, "d_f": 12},
    "one-layer": {"kind": "one-layer", "d_f": 12, "d_k": 4},
    "post": {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "norm": "post"},
    "pre": {
        "kind": "transformer",
        "d_m": 8,
        "d_f": 12,
        "d_k": 4,
        "norm": "pre",
        "n_heads": 2,
        "biases": True,
    },
    "none": {
        "kind": "transformer",
        "d_m": 8,
        "d_f": 12,
        "d_k": 4,
        "norm": "none",
        "activation": "tanh",
        "loss": "next-token",
    },
}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS.keys())


def _changed(member: MemberConfig, **training: float) -> MemberConfig:
    return member.model_copy(update={"training": member.training.model_copy(update=training)})


def _epochs(trainer: Trainer, steps: int) -> None:
    for _ in range(-(-steps // trainer.steps_per_epoch)):
        trainer.run_epoch()


@every_kind
def test_a_member_alone_equals_itself_in_an_ensemble(model: dict[str, Any], small: Make) -> None:
    """After 30 steps in float64, with different γ, seeds, learning rates and weight decays."""
    members = small(
        dtype="float64", init_rates=[0.3, 0.8], seeds=[0, 1], epochs=40, learning_rate=3e-3, model=model
    ).members()
    members[1] = _changed(members[1], learning_rate=1e-3, weight_decay=0.2)
    members[2] = _changed(members[2], learning_rate=2e-3, weight_decay=0.0)
    together = Trainer(members)
    _epochs(together, 30)
    assert together.optimizer.step >= 30
    for index, member in enumerate(members):
        alone = Trainer([member])
        _epochs(alone, 30)
        assert alone.sum_learning_rate == [together.sum_learning_rate[index]]
        for name, parameter in together.parameters.items():
            difference = (parameter[index] - alone.parameters[name][0]).detach().abs().max()
            assert float(difference) < 1e-10, name
    # They did go different ways.
    first = together.parameters[together.model.embedding]
    assert all(float((first[0] - first[k]).detach().abs().max()) > 1e-2 for k in (1, 2, 3))


@pytest.mark.parametrize("kind", ["one-layer", "post", "pre"])
def test_steps_are_those_of_a_plain_loop(kind: str, small: Make) -> None:
    """torch's own optimiser, clipping over all tensors, and cross entropy of the last position.

    The keys' bias has no gradient but rounding, some 1e-17, which AdamW divides by 1e-8 and multiplies by
    5e-3: its 27 steps of 5e-12 wander off by some 3e-11.
    """
    member = small(
        dtype="float64",
        init_rates=[0.3],
        model=KINDS[kind],
        clip_norm=0.05,
        schedule="warmup-cosine",
        warmup_epochs=1,
        warmup_factor=5.0,
        learning_rate=1e-3,
    ).members()[0]
    trainer = Trainer([member])
    weights = {n: p[0].detach().clone().requires_grad_(True) for n, p in trainer.parameters.items()}
    t = member.training
    optimizer = torch.optim.AdamW(weights.values(), lr=t.learning_rate, weight_decay=t.weight_decay)
    data = trainer.datasets[0]
    clipped = 0
    for _ in range(3):
        order = trainer.batches.order[0]
        for rows in order.split(16):
            step = trainer.optimizer.step
            trainer.step(*trainer.batches.of(rows.view(1, -1)))
            tokens, labels = data.tokens[data.train][rows], data.labels[data.train][rows]
            logits = label_logits({n: w[None] for n, w in weights.items()}, tokens[None], member.model)[0]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, labels).backward()
            clipped += float(torch.nn.utils.clip_grad_norm_(list(weights.values()), t.clip_norm)) > 0.05
            optimizer.param_groups[0]["lr"] = learning_rate(t, step, trainer.steps_per_epoch)
            optimizer.step()
    assert clipped > 3
    for name, weight in weights.items():
        torch.testing.assert_close(trainer.parameters[name][0], weight, rtol=1e-10, atol=1e-10)


def test_clipping_is_over_all_tensors_of_any_rank_and_each_members_own() -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4, 5), (3, 7), (3, 2, 2, 2)]
    gradients = {str(s): torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes}
    scale = torch.tensor([0.01, 1.0, 100.0], dtype=torch.float64)
    gradients = {n: g * scale.view(-1, *[1] * (g.ndim - 1)) for n, g in gradients.items()}
    before = [torch.cat([g[m].flatten() for g in gradients.values()]) for m in range(3)]
    norms = gradient_norms(gradients)
    divisors = clip_divisors(norms, 1.0)
    assert divisors is not None
    assert clip_divisors(norms, 0.0) is None
    assert clip_divisor(float(norms[2]), 0.0) == 1.0
    for m in range(3):
        assert clip_divisor(float(norms[m]), 1.0) == pytest.approx(float(divisors[m]), rel=1e-15)
        assert float(norms[m]) == pytest.approx(float(before[m].norm()), rel=1e-12)
        expected = before[m] * min(1.0, 1.0 / (float(before[m].norm()) + 1e-6))
        torch.testing.assert_close(before[m] / divisors[m], expected, rtol=1e-12, atol=0)
    assert float(norms[0]) < 1 < float(norms[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "options", [{"optimizer": "adamw"}, {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01}]
)
def test_a_clipped_step_is_one_with_divided_gradients(options: dict[str, Any], dtype: torch.dtype) -> None:
    """In float32 torch divides within the step, in float64 it is done before; each member by its own."""
    generator = torch.Generator().manual_seed(0)
    trainings = [TrainingConfig(**options, learning_rate=0.1)] * 3
    start, gradient = (torch.randn(3, 50, 7, generator=generator, dtype=dtype) for _ in range(2))
    divisors = [1.0, 3.7, 250.0]
    weights = {way: {"W": start.clone()} for way in ("within", "before")}
    optimizers = {way: Optimizer(own, trainings) for way, own in weights.items()}
    for _ in range(3):
        divided = {"W": gradient / torch.tensor(divisors, dtype=dtype).view(3, 1, 1)}
        for m, divisor in enumerate(divisors):
            step, clip = torch.tensor(1.0), torch.tensor(divisor, dtype=dtype)
            optimizers["within"].update(m, [gradient[m].clone()], 0.1, step, clip if divisor > 1 else None)
            optimizers["before"].update(m, [divided["W"][m]], 0.1, step, None)
    assert not torch.equal(weights["within"]["W"], start)
    torch.testing.assert_close(weights["within"]["W"], weights["before"]["W"])


@every_kind
@pytest.mark.parametrize("stop_after", [1, 9, 16])
def test_a_resumed_run_equals_an_unbroken_one_bit_for_bit(
    stop_after: int, model: dict[str, Any], small: Make
) -> None:
    members = small(model=model, seeds=[0, 1]).members()
    members[1] = _changed(members[1], learning_rate=1e-3)
    unbroken, first = Trainer(members), Trainer(members)
    for _ in range(4):
        unbroken.run_epoch()
    left = iter([False] * stop_after)
    while first.run_epoch(lambda: next(left, True)):
        pass
    second = Trainer(members)
    second.restore([first.checkpoint(m) for m in (0, 1)])
    while second.epoch < 4:
        second.run_epoch()
    assert second.sum_learning_rate == unbroken.sum_learning_rate
    for name in unbroken.parameters:
        assert torch.equal(second.parameters[name], unbroken.parameters[name])


@every_kind
def test_a_diverged_member_stays_frozen_also_after_resuming(model: dict[str, Any], small: Make) -> None:
    members = small(model=model, seeds=[0, 1]).members()
    trainer = Trainer(members)
    embedding = trainer.parameters[trainer.model.embedding]
    with torch.no_grad():
        embedding[0].fill_(float("inf"))
    trainer.run_epoch()
    assert list(trainer.failures) == [0]
    assert trainer.sum_learning_rate[0] == 0 < trainer.sum_learning_rate[1]
    resumed = Trainer(members)
    resumed.restore([trainer.checkpoint(m) for m in (0, 1)])
    assert resumed.failures == trainer.failures
    for name, parameter in resumed.parameters.items():
        torch.testing.assert_close(parameter, trainer.parameters[name], rtol=0, atol=0)
    resumed.run_epoch()
    assert resumed.sum_learning_rate[0] == 0
    assert torch.isfinite(resumed.parameters[trainer.model.embedding][1]).all()


@pytest.mark.parametrize(
    "kind", ["one-layer", "post", *(pytest.param(norm, marks=pytest.mark.long) for norm in ("pre", "none"))]
)
def test_transformers_learn_and_evaluating_says_so(kind: str, small: Make) -> None:
    """Evaluation against logits computed here; training lowers the loss, a tiny rate leaves it."""
    options = {"model": KINDS[kind], "init_rates": [0.5], "epochs": 60}
    learned = Trainer(small(learning_rate=1e-2, **options).members())
    idle = Trainer(small(learning_rate=1e-9, **options).members())
    start = idle.evaluate()[0]["mem"]["loss"]
    _epochs(learned, 480)
    _epochs(idle, 48)
    assert abs(idle.evaluate()[0]["mem"]["loss"] - start) < 1e-3
    score = learned.evaluate()[0]["mem"]
    assert score["loss"] < start - 1
    data = learned.datasets[0]
    rows = data.parts["mem"]
    logits = label_logits(learned.parameters, data.tokens[rows][None], learned.model)[0].detach()
    assert score["accuracy"] == float((logits.argmax(1) == data.labels[rows]).double().mean())
    expected = torch.nn.functional.cross_entropy(logits.double(), data.labels[rows])
    assert score["loss"] == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "section"),
    [
        ({"model": {"d_m": 8, "d_f": 16}}, "model"),
        ({"clip_norm": 2.0}, "training"),
        ({"data": {"table_seed": 3}}, "data"),
    ],
)
def test_members_that_cannot_share_a_trainer_are_refused(
    change: dict[str, Any], section: str, small: Make
) -> None:
    with pytest.raises(InputError, match=f"members = '{section}': differs"):
        Trainer([small().members()[0], small(**change).members()[0]])


def test_fresh_noise_draws_every_epoch_anew(small: Make) -> None:
    """Keys, anchors, labels and numbers per combination stay; noise and positions change."""
    data = {"source": "draw", "n_sequences": 700, "fresh_noise": True}
    members = small(task=NOISY_TASK, data=data, seeds=[0, 1]).members()
    trainer = Trainer(members)
    epochs = [trainer.batches.tokens.clone()]
    for _ in range(2):
        trainer.run_epoch()
        epochs.append(trainer.batches.tokens.clone())
    for member, dataset in enumerate(trainer.datasets):
        anchors = dataset.tokens[dataset.train].clamp(max=19).min(dim=1).values
        for tokens in epochs:
            assert torch.equal(tokens[member].min(dim=1).values, anchors)
            place = tokens[member].argmin(dim=1)
            keys = tokens[member].gather(1, place[:, None] - 1)[:, 0]
            assert isinstance(dataset, TaskDataset)
            expected = dataset.population.key[dataset.train.numpy()] + 20
            np.testing.assert_array_equal(keys, expected)
            # Three places, 600 sequences: 5 standard deviations of a binomial count.
            counts = torch.bincount(place, minlength=4)
            assert counts[0] == 0
            assert (np.abs(counts[1:].numpy() - 200) < 5 * np.sqrt(600 * 2 / 9)).all()
        assert torch.equal(trainer.batches.labels[member], dataset.labels[dataset.train])
    assert not any(torch.equal(a, b) for a, b in itertools.pairwise(epochs))
    assert not torch.equal(epochs[0][0], epochs[0][1])
    # The order of the data and the evaluated sequences are those of a run without it.
    still = Trainer(small(task=NOISY_TASK, data=data | {"fresh_noise": False}, seeds=[0, 1]).members())
    still.run_epoch()
    still.run_epoch()
    assert torch.equal(still.batches.order, trainer.batches.order)
    assert torch.equal(still.datasets[0].tokens, trainer.datasets[0].tokens)


def test_fresh_noise_resumes_bit_for_bit(small: Make) -> None:
    task = {"keys": "20..25", "n_anchors": 1, "length": 5, "vocab_size": 48, "reasoning_anchors": "4..7"}
    data = {"source": "draw", "n_sequences": 200, "fresh_noise": True}
    members = small(task=task, data=data, model=KINDS["post"]).members()
    unbroken, first, second = Trainer(members), Trainer(members), Trainer(members)
    for _ in range(3):
        unbroken.run_epoch()
    per_epoch = unbroken.steps_per_epoch
    left = iter([False] * (2 * per_epoch + 3))
    while first.run_epoch(lambda: next(left, True)):
        pass
    # In the third epoch: a new trainer's generators stand where those of the second were.
    assert (first.epoch, first.position) == (2, 3)
    assert not torch.equal(first.batches.tokens, second.batches.tokens)
    second.restore([first.checkpoint(0)])
    assert torch.equal(second.batches.tokens, first.batches.tokens)
    while second.epoch < 3:
        second.run_epoch()
    for name in unbroken.parameters:
        assert torch.equal(second.parameters[name], unbroken.parameters[name])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"fresh_noise": True}, "set source = 'draw'"),
        ({"fresh_noise": True, "source": "draw", "n_sequences": 250}, "no noise tokens"),
    ],
)
def test_fresh_noise_that_makes_no_sense_is_refused(data: dict[str, Any], words: str, small: Make) -> None:
    with pytest.raises(InputError, match=words):
        Trainer(small(data=data).members())
