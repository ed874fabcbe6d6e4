"""Whatever interrupts it, a run that continues is the unbroken run, bit for bit: steps, folders, kernels."""

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim import Run, RunConfig, Trainer, train, train_members, train_together
from sim.models.layers import Parameters
from sim.runs import provenance
from sim.runs.folder import RunFolder, read_config
from sim.runs.records import RouteReport
from sim.training import kernels
from tests.run_folder import every_file
from tests.sim.conftest import NOISY_TASK, small, small_member, stopped_after
from tests.sim.test_device_loop import on_device
from theory import InputError

DRAWN: dict[str, Any] = {
    "task": NOISY_TASK,
    "data": {"source": "draw", "n_sequences": 105},
    "dtype": "float64",
    "seeds": [0, 1],
    "frozen": ["W2"],
    "schedule": "warmup-cosine",
    "warmup_epochs": 1,
    "warmup_factor": 4.0,
}


def trainer(kind: str) -> Trainer:
    """Return two members on drawn sequences, whose steps are the host's or a device's."""
    members = small(**DRAWN).members()
    return Trainer(members) if kind == "host" else on_device(members, "cpu")


@functools.cache
def unbroken(kind: str) -> list[tuple[Parameters, list[float]]]:
    """Return weights and sums of learning rates before and after every step of four epochs."""
    whole, states = trainer(kind), []
    while whole.epoch < 4:
        states.append(({n: p.clone() for n, p in whole.parameters.items()}, [*whole.sum_learning_rate]))
        whole.advance(whole.position + 1)
    return [*states, (whole.parameters, whole.sum_learning_rate)]


class Interrupted(RuleBasedStateMachine):
    """Trains to anywhere, evaluates, and leaves and is taken up by a new trainer."""

    kind = "host"

    def __init__(self) -> None:
        super().__init__()
        self.trainer = trainer(self.kind)

    @rule(steps=st.integers(1, 9))
    def train(self, steps: int) -> None:
        """Train to a position of the epoch, unless all are done."""
        own = self.trainer
        if own.epoch < 4:
            own.advance(min(own.position + steps, own.steps_per_epoch))

    @rule(steps=st.integers(0, 5))
    def stop(self, steps: int) -> None:
        """Be asked to stop within an epoch."""
        if self.trainer.epoch < 4:
            self.trainer.advance(stop=stopped_after(steps))

    @rule()
    def evaluate(self) -> None:
        """Evaluate: nothing of the training changes."""
        self.trainer.evaluate()

    @rule()
    def take_up(self) -> None:
        """Continue in a new trainer from checkpoints."""
        checkpoints = [self.trainer.checkpoint(m) for m in range(2)]
        self.trainer = trainer(self.kind)
        self.trainer.restore(checkpoints)

    @invariant()
    def is_the_unbroken_run(self) -> None:
        """Weights and clocks are those of the unbroken run at this step."""
        weights, sums = unbroken(self.kind)[self.trainer.optimizer.step]
        assert self.trainer.sum_learning_rate == pytest.approx(sums, rel=1e-12)
        assert all(torch.equal(p, weights[name]) for name, p in self.trainer.parameters.items())


class InterruptedDevice(Interrupted):
    """The same with steps that need no host."""

    kind = "device"


TestInterrupted = Interrupted.TestCase
TestInterruptedDevice = InterruptedDevice.TestCase
TestInterrupted.settings = TestInterruptedDevice.settings = settings(max_examples=12, stateful_step_count=12)


def interrupt(config: RunConfig, out: Path, steps: int, **options: Any) -> list[Path]:
    """Train a configuration's members together until so many steps are taken, and return their folders."""
    members = config.members()
    paths = [out / member.name for member in members]
    assert train_together(members, paths, stop=stopped_after(steps), **options) == "interrupted"
    return paths


def test_evaluating_more_often_changes_no_weight(tmp_path: Path) -> None:
    often = {"evaluate_every": 1, "evaluations_per_epoch": 4}
    few, many = (
        train(small(dtype="float64", **options), tmp_path / str(len(options)))[0] for options in ({}, often)
    )
    for epoch in few.snapshot_epochs:
        assert (few.embedding(epoch) == many.embedding(epoch)).all()
    assert [line for line in many.metrics if line["epoch"] in (0, 2, 4)] == few.metrics
    per_epoch = many.metrics[-1]["step"] / 4
    assert len(many.metrics) == 1 + 4 * 4
    for number, line in enumerate(many.metrics):
        assert line["epoch"] == pytest.approx(line["step"] / per_epoch)
        assert line["epoch"] == pytest.approx(number / 4, abs=0.51 / per_epoch)


def test_members_without_a_checkpoint_in_common_keep_their_progress(tmp_path: Path) -> None:
    """One is at step 5, the other has not begun: together both would start from zero."""
    (first,) = interrupt(small(seeds=[0]), tmp_path, 5)
    before = every_file(first)
    both = small(seeds=[0, 1]).members()
    paths = [tmp_path / member.name for member in both]
    with pytest.raises(InputError, match="no checkpoint in common"):
        train_together(both, paths, resume=True)
    assert every_file(first) == before
    assert train_together(both[:1], paths[:1], resume=True) == "complete"


def test_no_checkpoint_outlives_the_evaluations_before_it(tmp_path: Path) -> None:
    """Two runs begin again together, since one has lost its checkpoints, and are killed before the next."""
    config = small(seeds=[0, 1], evaluate_every=1, dtype="float64")
    whole = train(config, tmp_path / "whole")[0]
    paths = interrupt(config, tmp_path, whole.metrics[3]["step"])
    for checkpoint in (paths[1] / "checkpoints").iterdir():
        checkpoint.write_bytes(b"")

    def kill(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_together(config.members(), paths, resume=True, report=kill)
    train_together(config.members()[:1], paths[:1], resume=True)
    assert Run.open(paths[0]).metrics == whole.metrics


def test_every_snapshot_is_evaluated_also_where_a_run_was_resumed(tmp_path: Path) -> None:
    """How much was learned at a snapshot decides which one is early; more evaluations change no weight."""
    config = small(seeds=[0], epochs=6, evaluate_every=4, snapshot_epochs=[1, 3], checkpoint_every=2)
    whole = train(config, tmp_path / "whole")[0]
    assert [line["epoch"] for line in whole.metrics] == [0, 1, 3, 4, 6]
    interrupt(config, tmp_path, whole.metrics[2]["step"] + 1)
    resumed = train(config, tmp_path, resume=True)[0]
    assert resumed.metrics == whole.metrics
    seldom = train(small(seeds=[0], epochs=6, evaluate_every=6, snapshot_epochs=[]), tmp_path / "seldom")[0]
    assert (seldom.embedding(6) == resumed.embedding(6)).all()


def test_overwriting_that_is_stopped_continues(tmp_path: Path) -> None:
    """Of the runs to be replaced none is left that would be in the way, or taken for one of the new ones."""
    old, new = (small(seeds=[0, 1], learning_rate=rate) for rate in (1e-2, 2e-2))
    paths = [run.path for run in train(old, tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        train_members(new.members(), paths, overwrite=True, stop=stopped_after(5))
    assert [read_config(path) for path in paths] == new.members()
    assert [run.config for run in train(new, tmp_path, resume=True)] == new.members()


def test_a_run_continued_by_other_code_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {"dirty": False, "diff": None, "python": "3.11"}
    old = shared | {"commit": "a" * 40, "dirty": True, "diff": "+ a line", "versions": {"torch": "1"}}
    new = shared | {"commit": "b" * 40, "versions": {"torch": "2"}}
    config = small(seeds=[0])
    monkeypatch.setattr(provenance, "software", lambda: old)
    (path,) = interrupt(config, tmp_path, 5)
    assert RunFolder(path).read_provenance()["parts"] == []
    # Code that takes no step is none that trained.
    monkeypatch.setattr(provenance, "software", lambda: new | {"commit": "c" * 40})
    interrupt(config, tmp_path, 0, resume=True)
    monkeypatch.setattr(provenance, "software", lambda: new)
    interrupt(config, tmp_path, 2, resume=True)
    found = train(config, tmp_path, resume=True)[0].provenance
    (part,) = found["parts"]
    assert part["until_step"] == 5
    assert part | old == part
    assert part["arithmetic"] == found["arithmetic"]
    assert found["arithmetic"].startswith("torch kernels, ")
    assert found | new == found


def test_code_whose_steps_were_lost_is_not_named() -> None:
    """The newest checkpoint was damaged, and the one before is of the first code."""
    a, b, c = ({"commit": each} for each in "abc")
    earlier = b | {"parts": [a | {"until_step": 5}]}
    for step, now, expected in (
        (7, c, [a | {"until_step": 5}, b | {"until_step": 7}]),
        (3, c, [a | {"until_step": 3}]),
        (3, a, []),
        (0, c, []),
    ):
        assert provenance.parts_before(earlier, now, step) == expected


def test_a_product_that_is_not_exact_here_is_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    member = small_member()
    earlier = {"matmul": {"route": "bf16-named", "gflops": {}, "error": {"bf16-named": 1e-7}}}
    for error, taken in ((1e-7, True), (2.0**-9, False)):
        report = RouteReport(route="default", gflops={}, error={"default": 1e-7, "bf16-named": error})
        monkeypatch.setattr(kernels, "member_route", lambda *_, report=report: report)
        assert (kernels.route_for(member, earlier, "cpu").route == "bf16-named") is taken
    assert kernels.route_for(member, {}, "cpu").route == "default"
