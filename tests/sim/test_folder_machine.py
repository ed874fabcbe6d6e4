"""A run folder stopped, killed, out of room and damaged in any order: the unbroken bytes or a refusal."""

import errno
import functools
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from sim import MemberConfig, Run, RunFolder, train_together
from sim.errors import UnwritableError
from sim.runs.files import read_tensors
from tests.run_folder import contents, every_file
from tests.sim.conftest import NOISY_TASK, small_member, stopped_after
from theory import InputError

OPTIONS: dict[str, Any] = {
    "task": NOISY_TASK,
    "data": {"source": "draw", "n_sequences": 35},
    "dtype": "float64",
    "evaluate_every": 1,
    "evaluations_per_epoch": 2,
    "snapshot_epochs": [1],
    "checkpoint_every": 1,
    "schedule": "warmup-cosine",
    "warmup_epochs": 1,
}


class Killed(BaseException):
    """What ends training where it stands."""


def member(epochs: int = 2) -> MemberConfig:
    return small_member(**OPTIONS, epochs=epochs)


@functools.cache
def unbroken() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        assert train_together([member()], [Path(folder) / "run"]) == "complete"
        return contents(Path(folder) / "run")


class RunInTrouble(RuleBasedStateMachine):
    """Whatever happened to it before, a run that reaches its end is the unbroken one."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.path, self.damaged = self.home / "run", False

    def teardown(self) -> None:
        """Train to the end, and look."""
        self.train()
        shutil.rmtree(self.home)

    def train(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Continue; a refusal is for damage alone, and what it says to do helps."""
        try:
            status = train_together([member()], [self.path], resume=True, stop=stop)
        except InputError as refused:
            if isinstance(refused, UnwritableError) or not self.damaged or not refused.remedy:
                raise
            self.path.rename(self.home / f"away{len(list(self.home.iterdir()))}")
            self.damaged = False
            return
        if status == "complete" and self.damaged:
            # A snapshot of before is not read when its run continues, and refused by whoever reads it.
            with suppress(InputError):
                run = Run.open(self.path)
                assert all(run.snapshot(epoch) for epoch in run.snapshot_epochs)
                assert RunFolder(self.path).read("statistics.safetensors", read_tensors)
                self.damaged = False
        if status == "complete" and not self.damaged:
            assert contents(self.path) == unbroken()
            assert not list(self.path.rglob(".*"))
            assert Run.open(self.path).metrics[-1]["epoch"] == 2

    @rule(steps=st.integers(0, 10))
    def stop(self, steps: int) -> None:
        """Be asked to stop after some steps."""
        self.train(stopped_after(steps))

    @rule(writes=st.integers(0, 40), full=st.booleans())
    def fail(self, writes: int, full: bool) -> None:
        """Be killed within a write, which leaves what is on the disk by then, or find that it is full."""
        left, fsync, seen = itertools.count(writes, -1), os.fsync, self.home.parent / f"{self.home.name}-seen"

        def failing(file: int) -> None:
            if next(left) > 0:
                fsync(file)
            elif full:
                raise OSError(errno.ENOSPC, "No space left on device")
            elif not seen.exists():
                shutil.copytree(self.path, seen)
                raise Killed

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "fsync", failing)
            try:
                with suppress(UnwritableError):
                    self.train()
            except Killed:
                shutil.rmtree(self.path)
                seen.rename(self.path)

    @rule(
        which=st.integers(0, 99),
        place=st.floats(0, 0.999),
        how=st.sampled_from(["flip", "cut", "empty", "delete"]),
    )
    def damage(self, which: int, place: float, how: str) -> None:
        """Flip a bit of a file, cut it short, empty it, or lose it."""
        files = sorted(file for file in self.path.rglob("*") if file.is_file())
        if not files:
            return
        file = files[which % len(files)]
        content = bytearray(file.read_bytes())
        at = int(place * len(content))
        if how == "delete":
            file.unlink()
        elif content:
            content[at] ^= 1 << which % 8
            file.write_bytes({"flip": content, "cut": content[:at], "empty": b""}[how])
        # A checkpoint that is not whole is passed over.
        self.damaged = self.damaged or file.parent.name != "checkpoints"

    @precondition(lambda self: (self.path / "config.json").exists() and not self.damaged)
    @rule()
    def extend(self) -> None:
        """Ask for more epochs: another run, which is refused and changes nothing."""
        before = every_file(self.path)
        with pytest.raises(InputError, match=r"training.epochs = 2, not 3"):
            train_together([member(epochs=3)], [self.path], resume=True)
        assert every_file(self.path) == before


TestRunInTrouble = RunInTrouble.TestCase
TestRunInTrouble.settings = settings(max_examples=12, stateful_step_count=6, phases=(Phase.generate,))
