"""The engine: steps against torch's own optimisers, ensembles against members, resuming, diverging."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from sim import MemberConfig, RunConfig, Trainer, label_logits
from sim.seeds import stream_seed
from sim.training.schedule import learning_rate

Make = Callable[..., RunConfig]


def _plain_run(member: MemberConfig, steps: int) -> dict[str, torch.Tensor]:
    """Train one member as anyone would write it with torch: modules' optimiser, clipping, one loop."""
    trainer = Trainer([member])
    weights = {n: p[0].detach().clone().requires_grad_(True) for n, p in trainer.parameters.items()}
    t = member.training
    if t.optimizer == "adamw":
        optimizer: Any = torch.optim.AdamW(
            weights.values(),
            lr=t.learning_rate,
            betas=(t.beta1, t.beta2),
            eps=t.epsilon,
            weight_decay=t.weight_decay,
        )
    else:
        optimizer = torch.optim.SGD(
            weights.values(), lr=t.learning_rate, momentum=t.momentum, weight_decay=t.weight_decay
        )
    data = trainer.datasets[0]
    tokens, labels = data.tokens[data.train], data.labels[data.train]
    size = len(labels) if t.batch_size == "full" else int(t.batch_size)
    for step in range(steps):
        epoch_step = step % trainer.steps_per_epoch
        if step and epoch_step == 0:
            trainer.begin_epoch()
        rows = trainer.batches.order[0, epoch_step * size : (epoch_step + 1) * size]
        hidden = torch.tanh(weights["W_emb"][tokens[rows]].sum(dim=1) @ weights["W1"])
        loss = torch.nn.functional.cross_entropy(hidden @ weights["W2"], labels[rows])
        optimizer.zero_grad()
        loss.backward()
        if t.clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(list(weights.values()), t.clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(t, step, trainer.steps_per_epoch)
        optimizer.step()
    return {n: w.detach() for n, w in weights.items()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01, "learning_rate": 0.1},
        {"optimizer": "sgd", "batch_size": "full", "weight_decay": 0.01, "clip_norm": 0.0},
        {"clip_norm": 0.01, "weight_decay": 0.1},
        {"schedule": "warmup-cosine", "warmup_epochs": 1, "warmup_factor": 5.0},
    ],
    ids=["adamw", "sgd", "full batch", "clipped", "schedule"],
)
def test_steps_are_those_of_a_plain_loop(options: dict[str, Any], small: Make) -> None:
    member = small(dtype="float64", init_rates=[0.3], **options).members()[0]
    trainer = Trainer([member])
    for _ in range(3):
        trainer.run_epoch()
    plain = _plain_run(member, trainer.optimizer.step)
    for name, weight in plain.items():
        torch.testing.assert_close(trainer.parameters[name][0].detach(), weight, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-4)])
def test_a_member_alone_equals_itself_in_an_ensemble(dtype: str, tolerance: float, small: Make) -> None:
    """After 100 steps. float32: about 100 steps of AdamW, each amplifying rounding of 6e-8 in small
    gradients to at most a step of 1e-2 times their relative error; 2e-4 is a fiftieth of one step."""
    members = small(dtype=dtype, init_rates=[0.3, 0.8], seeds=[0, 1], epochs=20).members()
    together = Trainer(members)
    epochs = -(-100 // together.steps_per_epoch)
    for _ in range(epochs):
        together.run_epoch()
    assert together.optimizer.step >= 100
    for index, member in enumerate(members):
        alone = Trainer([member])
        for _ in range(epochs):
            alone.run_epoch()
        for name in together.parameters:
            difference = (together.parameters[name][index] - alone.parameters[name][0]).detach().abs().max()
            assert float(difference) < tolerance


def test_gradients_are_those_of_lemma_2(small: Make, record_error: Callable[[str, float], None]) -> None:
    """Eq. 19 summed over the batch by hand, in NumPy, against the engine's automatic differentiation."""
    trainer = Trainer(small(dtype="float64", init_rates=[0.2], batch_size="full").members())
    _, gradients, _ = trainer.gradients(*trainer.batches.at(0))
    W = {n: p[0].detach().numpy() for n, p in trainer.parameters.items()}
    data = trainer.datasets[0]
    X, y = data.tokens[data.train].numpy(), data.labels[data.train].numpy()
    hidden = W["W_emb"][X].sum(axis=1) @ W["W1"]
    logits = np.tanh(hidden) @ W["W2"]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    each = ((np.eye(48)[y] - p) @ W["W2"].T * (1 - np.tanh(hidden) ** 2)) @ W["W1"].T
    expected = np.eye(48)[X].sum(axis=1).T @ each / len(y)
    error = np.abs(expected + gradients["W_emb"][0].numpy()).max() / np.abs(expected).max()
    record_error("Lemma 2", error)
    assert error < 1e-12


def test_evaluating_changes_no_weight(small: Make) -> None:
    """Also where what is evaluated has to be drawn: from a stream of its own, once."""
    every, few = (Trainer(small(evaluation_size=size).members()) for size in (20_000, 7))
    for name, rows in every.evaluated[0].items():
        assert len(few.evaluated[0][name]) == min(len(rows), 7)
    drawn = {name: rows.clone() for name, rows in few.evaluated[0].items()}
    states = [g.get_state() for own in few.generators.values() for g in own]
    scores = few.evaluate()
    assert all(map(torch.equal, states, [g.get_state() for own in few.generators.values() for g in own]))
    assert scores == few.evaluate()
    assert scores != every.evaluate()
    for _ in range(3):
        for trainer in (every, few):
            trainer.run_epoch()
        few.evaluate()
        assert torch.equal(every.batches.order, few.batches.order)
    for name in every.parameters:
        assert torch.equal(every.parameters[name], few.parameters[name])
    assert all(torch.equal(few.evaluated[0][name], rows) for name, rows in drawn.items())


def test_scores_are_means_over_the_rows_that_are_evaluated(small: Make) -> None:
    """Of each member by its own weights, here of two that have learned a little."""
    trainer = Trainer(small(dtype="float64", seeds=[0, 1], evaluation_size=7).members())
    for _ in range(30):
        trainer.run_epoch()
    seen = []
    for m, (scores, data) in enumerate(zip(trainer.evaluate(), trainer.datasets, strict=True)):
        own = {name: values[m : m + 1] for name, values in trainer.parameters.items()}
        for name, rows in trainer.evaluated[m].items():
            logits = label_logits(own, data.tokens[rows].unsqueeze(0), trainer.model)[0]
            right = (logits.argmax(dim=1) == data.labels[rows]).double().mean()
            assert scores[name]["accuracy"] == pytest.approx(float(right))
            loss = torch.nn.functional.cross_entropy(logits, data.labels[rows])
            assert scores[name]["loss"] == pytest.approx(float(loss))
            seen.append(scores[name]["accuracy"])
    assert max(seen) > 0
    assert len(set(seen)) > 1


def test_every_use_of_randomness_has_a_stream_of_its_own(small: Make) -> None:
    """Of two members, pairwise different: order, noise, what is evaluated, data, tables and tensors."""
    members = small(seeds=[0, 1], evaluation_size=7).members()
    seeds: list[int] = []
    trainer = Trainer(members)
    for own in trainer.generators.values():
        seeds += [generator.initial_seed() for generator in own]
    others = ("evaluation", "data/draw", "data/table", "data/labels", "init/turn", "init/W1", "init/W_emb")
    seeds += [stream_seed(member.seed, name) for member in members for name in others]
    assert len(seeds) == 2 * (2 + len(others))
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("stop_after", [1, 3, 7, 8])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_resumed_run_equals_an_unbroken_one_bit_for_bit(
    stop_after: int, optimizer: str, small: Make
) -> None:
    member = small(optimizer=optimizer, momentum=0.9).members()[0]
    unbroken, first = Trainer([member]), Trainer([member])
    for _ in range(4):
        unbroken.run_epoch()
    left = [stop_after]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    while first.run_epoch(stop):
        pass
    assert first.optimizer.step == stop_after
    second = Trainer([member])
    second.restore([first.checkpoint(0)])
    while second.epoch < 4:
        second.run_epoch()
    assert second.sum_learning_rate == unbroken.sum_learning_rate
    for name in unbroken.parameters:
        assert torch.equal(second.parameters[name], unbroken.parameters[name])


def test_a_diverging_member_is_stopped_and_leaves_the_others_alone(small: Make) -> None:
    wild = small(optimizer="sgd", learning_rate=1e-2, init_rates=[0.8]).members()
    trainer = Trainer([wild[0], small(optimizer="sgd", learning_rate=1e-2, seeds=[1]).members()[0]])
    alone = Trainer(trainer.members[1:])
    with torch.no_grad():
        trainer.parameters["W2"][0, 0, 0] = float("inf")
    frozen = trainer.parameters["W1"][0].detach().clone()
    trainer.run_epoch()
    alone.run_epoch()
    assert list(trainer.failures) == [0]
    assert "diverged at step 0" in trainer.failures[0]
    assert torch.equal(trainer.parameters["W1"][0], frozen)
    torch.testing.assert_close(trainer.parameters["W1"][1], alone.parameters["W1"][0], rtol=1e-5, atol=1e-7)


def test_training_lowers_the_loss_and_reaches_the_tables(small: Make) -> None:
    """Two-sided: with a sensible rate a table is memorised as far as a sum of embeddings can tell its
    entries apart, (a, b) and (b, a) being one to it; with a tiny rate nothing happens.
    """
    wide = {"model": {"d_m": 24, "d_f": 48}, "init_rates": [0.4]}
    learned = Trainer(small(learning_rate=1e-2, **wide).members())
    idle = Trainer(small(learning_rate=1e-9, **wide).members())
    for trainer in (learned, idle):
        for _ in range(200):
            trainer.run_epoch()
    data = learned.datasets[0]
    rows = data.parts["mem"]
    bags: dict[tuple[int, ...], list[int]] = {}
    for tokens, label in zip(
        data.tokens[rows].sort(dim=1).values.tolist(), data.labels[rows].tolist(), strict=True
    ):
        bags.setdefault(tuple(tokens), []).append(label)
    attainable = sum(max(Counter(labels).values()) for labels in bags.values()) / len(rows)
    assert attainable < 0.8
    assert 0.95 * attainable < learned.evaluate()[0]["mem"]["accuracy"] <= attainable
    assert idle.evaluate()[0]["mem"]["accuracy"] < 0.2
