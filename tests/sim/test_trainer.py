"""The engine's steps against a plain loop, members against their ensemble, and evaluations by hand."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sim import MemberConfig, Trainer, estimate, model_of, seeds, train_together
from sim.training import trainer as module
from tests.sim.conftest import DRAWN, NOISY_TASK, PARTLY, small, small_member
from theory import InputError

SMALL = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4}
KINDS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"kind": "emb-mlp", "d_m": 8, "d_f": 12},
    "one-layer": {"kind": "one-layer", "d_f": 12, "d_k": 4},
    "post": SMALL | {"norm": "post"},
    "pre": SMALL | {"norm": "pre", "n_heads": 2, "biases": True},
    "none": SMALL | {"norm": "none", "activation": "tanh", "loss": "next-token"},
}
SCHEDULE = {"schedule": "warmup-cosine", "warmup_epochs": 1, "warmup_factor": 5.0, "learning_rate": 1e-3}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS.keys())


def plain_run(member: MemberConfig, epochs: int) -> tuple[Trainer, dict[str, torch.Tensor]]:
    """Train one member beside the engine as anyone would: torch's optimiser and clipping, one loop."""
    trainer = Trainer([member])
    t: Any = member.training
    weights = {n: p[0].clone().requires_grad_(n not in t.frozen) for n, p in trainer.parameters.items()}
    moving = [w for w in weights.values() if w.requires_grad]
    optimizer: torch.optim.Optimizer
    if t.optimizer == "adamw":
        betas = t.beta1, t.beta2
        optimizer = torch.optim.AdamW(moving, t.learning_rate, betas, t.epsilon, weight_decay=t.weight_decay)
    else:
        optimizer = torch.optim.SGD(moving, t.learning_rate, t.momentum, weight_decay=t.weight_decay)
    data, model = trainer.datasets[0], model_of(member.model)
    tokens, labels = data.tokens[data.train], data.labels[data.train]
    for _ in range(epochs):
        order = trainer.batches.order[0].clone()
        for rows in order.split(trainer.batch):
            step = trainer.optimizer.step
            trainer.advance(trainer.position + 1)
            logits = model.logits({n: w[None] for n, w in weights.items()}, tokens[None, rows])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits[0], labels[rows]).backward()
            if t.clip_norm > 0:
                torch.nn.utils.clip_grad_norm_(moving, t.clip_norm)
            optimizer.param_groups[0]["lr"] = t.rate_at(step, trainer.steps_per_epoch)
            optimizer.step()
    return trainer, weights


@pytest.mark.parametrize(
    "options",
    [
        {"weight_decay": 0.5, "frozen": ["W2"]},
        {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01, "learning_rate": 0.1},
        {"optimizer": "sgd", "batch_size": "full", "weight_decay": 0.01, "clip_norm": 0.0},
        *({"model": KINDS[kind], "clip_norm": 0.05, **SCHEDULE} for kind in ("one-layer", "post", "pre")),
    ],
    ids=["adamw, frozen", "sgd", "full batch", "one-layer", "post", "pre"],
)
def test_steps_are_those_of_a_plain_loop(options: dict[str, Any]) -> None:
    """In float64. A keys' bias has no gradient but rounding, which AdamW makes steps of 5e-12."""
    member = small_member(dtype="float64", init_rates=[0.3], **options)
    trainer, plain = plain_run(member, 3)
    for name, weight in plain.items():
        torch.testing.assert_close(trainer.parameters[name][0], weight.detach(), rtol=1e-10, atol=1e-10)
    rates = [member.training.rate_at(s, trainer.steps_per_epoch) for s in range(trainer.optimizer.step)]
    assert trainer.sum_learning_rate == pytest.approx([sum(rates)])


@every_kind
def test_a_member_alone_equals_itself_in_an_ensemble(model: dict[str, Any]) -> None:
    """After 30 steps in float64, with different γ, seeds, learning rates, weight decays; one diverges."""
    members = small(dtype="float64", init_rates=[0.3, 0.8], seeds=[0, 1], model=model, **SCHEDULE).members()
    for index, changes in ((1, {"learning_rate": 3e-4, "weight_decay": 0.2}), (2, {"weight_decay": 0.0})):
        training = members[index].training.model_copy(update=changes)
        members[index] = members[index].model_copy(update={"training": training})
    together = Trainer(members)
    spoilt = together.parameters[together.model.embedding][3]
    spoilt[0] = float("nan")
    spoilt[:] = float("nan")
    trainers = [Trainer([member]) for member in members[:3]]
    for trainer in (together, *trainers):
        while trainer.optimizer.step < 30:
            trainer.advance()
    for index, alone in enumerate(trainers):
        assert alone.sum_learning_rate == [together.sum_learning_rate[index]]
        for name, parameter in together.parameters.items():
            torch.testing.assert_close(parameter[index], alone.parameters[name][0], rtol=0, atol=1e-10)
    assert list(together.failures) == [3]
    assert together.failures[3].startswith("diverged at step 0")
    assert together.sum_learning_rate[3] == 0
    first = together.parameters[together.model.embedding]
    assert all(float((first[0] - first[k]).abs().max()) > 1e-3 for k in (1, 2))


@pytest.mark.parametrize(("loss", "norm"), [(math.nan, 1.0), (1.0, math.inf)])
def test_what_is_not_finite_ends_a_member(loss: float, norm: float, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(small().members())
    batch = trainer.batches.at(0)
    before = {name: p.clone() for name, p in trainer.parameters.items()}
    found = torch.tensor([loss]), trainer.gradients(*batch)[1], torch.tensor([norm])
    monkeypatch.setattr(trainer, "gradients", lambda *_: found)
    trainer.step(*batch)
    assert trainer.failures[0] == f"diverged at step 0: loss {loss:.3g}, gradient norm {norm:.3g}"
    assert all(torch.equal(before[name], p) for name, p in trainer.parameters.items())
    assert not trainer.advance()


@pytest.mark.parametrize("model", [KINDS["emb-mlp"], KINDS["post"]], ids=["emb-mlp", "post"])
def test_scores_are_means_over_the_rows_that_are_evaluated(
    model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each member by its own weights; sampling, chunks and data sets change nothing else."""
    monkeypatch.setitem(module._CHUNK, "cpu", 7)  # Of 13 sequences, 7 and 6, or 6 × 2 and 1.
    own: Any = {"dtype": "float64", "seeds": [0, 1], "init_rates": [0.5], "model": model}
    trainer = Trainer(small(evaluation_size=13, **own).members())
    for _ in range(20):
        trainer.advance()
    seen = []
    for m, (scores, data) in enumerate(zip(trainer.evaluate(), trainer.datasets, strict=True)):
        weights = {name: values[m : m + 1] for name, values in trainer.parameters.items()}
        for name, rows in trainer.evaluated[m].items():
            logits = model_of(trainer.model).logits(weights, data.tokens[rows].unsqueeze(0))[0]
            right = (logits.argmax(dim=1) == data.labels[rows]).double().mean()
            loss = torch.nn.functional.cross_entropy(logits, data.labels[rows])
            assert scores[name] == pytest.approx({"accuracy": float(right), "loss": float(loss)})
            seen.append(scores[name]["accuracy"])
    assert len(set(seen)) > 2


def test_sampled_rows_are_a_uniform_draw_of_each_data_set() -> None:
    """Over 60 seeds every row is taken as often as chance has it: within 5 standard errors of a binomial."""
    most, counts = 9, dict[str, torch.Tensor]()
    trainer = Trainer(small(seeds=list(range(60)), evaluation_size=most).members())
    for data, parts in zip(trainer.datasets, trainer.evaluated, strict=True):
        for name, rows in parts.items():
            own = data.parts[name]
            assert set(rows.tolist()) <= set(own.tolist())
            assert len(set(rows.tolist())) == len(rows) == min(most, len(own))
            counts.setdefault(name, torch.zeros(len(own)))
            counts[name] += torch.isin(own, rows)
    for count in counts.values():
        share = min(most / len(count), 1)
        assert ((count - 60 * share).abs() <= 5 * math.sqrt(60 * share * (1 - share)) + 1e-6).all()


@every_kind
def test_every_draw_of_a_run_has_a_stream_of_its_own(
    model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the contributors' page; draws from one stream would depend on each other."""
    asked, seed_of = Counter[tuple[int, str]](), seeds.stream_seed

    def stream_seed(seed: int, stream: str) -> int:
        asked[seed, stream] += 1
        return seed_of(seed, stream)

    monkeypatch.setattr(seeds, "stream_seed", stream_seed)
    data = {"source": "draw", "n_sequences": 210, "shuffle_labels": True}
    own: Any = {"evaluation_size": 5, "model": model | {"initial_embedding": "shuffled-distributions"}}
    trainer = Trainer(small(seeds=[0, 1], task=NOISY_TASK, data=data, **own).members())
    names = ["evaluation", *(f"data/{name}" for name in ("shuffle", "draw", "labels", "table"))]
    names += [f"init/{name}" for name in ("turn", "exchange", *trainer.parameters)]
    assert asked == Counter((seed, name) for seed in (0, 1) for name in names)
    assert len({seed_of(*stream) for stream in asked}) == len(asked)


@pytest.mark.parametrize(
    ("members", "argument"),
    [
        (lambda: [*small().members(), *small(clip_norm=2.0).members()], "members"),
        (lambda: [*small().members(), *small(data={"shuffle_labels": True}).members()], "members"),
        (lambda: small(seeds=[0, 1], patience=1.0).members(), "training.patience"),
        (lambda: small(seeds=[0, 1], task=PARTLY, data=DRAWN).members(), "members"),
        (lambda: small(frozen=["W_em"]).members(), "training.frozen"),
        (lambda: small(frozen=["W_emb", "W1", "W2"]).members(), "training.frozen"),
        (list, "members"),
    ],
)
def test_members_that_make_no_trainer_are_refused(members: Callable[[], Any], argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument} = "):
        Trainer(members())


def test_subnormal_numbers_are_zero_while_a_run_trains(tmp_path: Path) -> None:
    """Moments of a unit that no longer answers decay below 1e-38, where a processor is slow."""
    found: list[float] = []

    def look() -> bool:
        found.append(float(torch.tensor([1e-40]) * 1))
        return False

    train_together(small(epochs=1).members(), [tmp_path / "run"], stop=look)
    assert set(found) == {0.0}
    assert float(torch.tensor([1e-40]) * 1) > 0


def test_runs_are_expected_to_take_their_steps_and_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that a step moves by 2 s and an evaluation by 10 s."""
    clock: Any = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    def taking(seconds: float) -> Callable[..., None]:
        return lambda *_: setattr(clock, "now", clock.now + seconds)

    monkeypatch.setattr("sim.training.cost.time", clock)
    monkeypatch.setattr(Trainer, "step", taking(2))
    monkeypatch.setattr(Trainer, "evaluate", taking(10))
    config = small(seeds=[0, 1, 2], epochs=6, evaluate_every=3)
    steps = Trainer(config.members()[:1]).steps_per_epoch
    epoch = 2 * steps + 10 / 3
    assert estimate(config, 1).seconds == pytest.approx(3 * 6 * epoch)
    assert estimate(config, 2).seconds == pytest.approx(2 * 6 * epoch)
    for asked, times in ((3, 3), (10_000, steps)):  # No more often than there are steps.
        often = small(epochs=1, evaluate_every=1, evaluations_per_epoch=asked)
        assert estimate(often, 1).seconds == pytest.approx(2 * steps + 10 * times)
