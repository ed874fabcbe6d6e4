"""Small runs that train in a moment."""

import itertools
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import MemberConfig, RunConfig, train
from sim.config.run import make_run_config
from sim.runs.files import only_writer
from sim.training.engines import local
from tests.tiny_task import TASK

SMALL_TASK = tomllib.loads(TASK) | {"held_out": [[4, 6]]}
NOISY_TASK = SMALL_TASK | {"n_anchors": 1, "length": 4, "held_out": [[4]]}
"""Sequences of a key, an anchor and two tokens of noise."""
PARTLY, DRAWN = SMALL_TASK | {"held_out": "key == 20"}, {"source": "draw", "n_sequences": 500}
TRANSFORMER = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 4, "n_layers": 1}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def forked_workers(forked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers that have loaded torch already; loading it is most of what a worker costs."""
    monkeypatch.setattr(local, "_CONTEXT", forked)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run, which no test changes."""
    return train(small(), tmp_path_factory.mktemp("made"))[0].path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A complete run that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "out" / made.name))


def _hold(path: Path, held: Any, let_go: Any) -> None:
    with only_writer(path):
        held.set()
        let_go.wait()


@pytest.fixture
def holder(forked: Any, tmp_path: Path) -> Iterator[Any]:
    """A process that holds the lock of the run that ``small()`` makes in ``tmp_path``, until told."""
    held, let_go = forked.Event(), forked.Event()
    process = forked.Process(target=_hold, args=(tmp_path / "gamma0.8_seed0", held, let_go))
    process.start()
    process.let_go = let_go
    assert held.wait(60)
    yield process
    process.kill()
    process.join()


def stopped_after(steps: int) -> Callable[[], bool]:
    """Return what ends a training after so many steps, as its ``stop``."""
    asked = itertools.count()
    return lambda: next(asked) >= steps


def small(**options: Any) -> RunConfig:
    """Make a configuration of a small task; keywords are training options except for the run's own."""
    own = {k: options.pop(k) for k in ("init_rates", "seeds", "task", "data", "model") if k in options}
    training: dict[str, Any] = {"epochs": 4, "batch_size": 16, "learning_rate": 1e-2}
    training |= {"evaluate_every": 2, "snapshot_epochs": [2], "checkpoint_every": 2}
    return make_run_config(
        {"task": SMALL_TASK, "model": {"d_m": 8, "d_f": 12}, "training": training | options} | own
    )


def small_member(**options: Any) -> MemberConfig:
    return small(**options).members()[0]
