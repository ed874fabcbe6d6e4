"""Every command that trains many runs takes the same engines, by the same options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sim import Execution
from sim.training.engines import ENGINES, Ended, Job, engine_of
from tests.conftest import Cli
from tests.tiny_task import TASK, TINY
from tests.validate.sweeps.toy import write_toy

Seen = list[tuple[int, Execution]]
COMMANDS = [
    ["train", "task.toml", "--out", "out", *TINY],
    ["study", "toy.toml", "--run", "--root", "out", "--kept", "kept"],
    ["sweep", "toy.toml", "--out", "out"],
]


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    write_toy(here)
    (here / "task.toml").write_text(TASK)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What an engine in Dask's stead is given; the jobs are trained in this process."""
    calls: Seen = []

    def train_jobs(jobs: list[Job], execution: Execution, stop: Any, report: Any) -> list[Ended]:
        calls.append((len(jobs), execution))
        here = Execution(resume=execution.resume, shared=execution.shared)
        return engine_of("local")(jobs, here, stop, report)

    for name in ("dask", "slurm"):
        monkeypatch.setitem(ENGINES, name, f"{__name__}:train_jobs")
    monkeypatch.setitem(sys.modules[__name__].__dict__, "train_jobs", train_jobs)
    return calls


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--scheduler", "tcp://x:1", "--engine", "local"], "is for the engine dask"),
        (["--slurm", "timeout_min", "3"], "is for the engine slurm"),
        (["--slurm", "timeout_min", "--engine", "slurm"], "give a value after each name"),
        (["--engine", "ray"], "one of local, dask, slurm"),
        (["--engine", "dask", "--workers", "-1"], "workers = -1"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    command: list[str], arguments: list[str], named: str, cli: Cli
) -> None:
    assert named in cli(*command, *arguments, code=2).err
    assert not Path("out").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_jobs_go_to_the_engine_that_is_asked_for(command: list[str], seen: Seen, cli: Cli) -> None:
    printed = cli(*command, "--scheduler", "tcp://x:1", "--workers", "3")
    ((n_jobs, execution),) = seen
    assert n_jobs == len(list(Path("out").rglob("config.json"))) > 1
    options = {"scheduler": "tcp://x:1"}
    assert execution == Execution(engine="dask", workers=3, engine_options=options, resume=True, shared=True)
    assert "engine: dask, workers: 3" in printed.err  # This machine's rates say nothing.
