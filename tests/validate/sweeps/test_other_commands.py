"""``study`` and ``train`` on real Dask workers: the same runs as serial ones, also if a worker is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from sim import Run
from sim.runs.table import csv_text, long_records
from tests.processes import command, end_of
from tests.validate.sweeps.at_work import holders, meanwhile, wait_for
from tests.validate.sweeps.toy import TOY, write_toy
from validate.studies import load_study, members_of, run_study

pytestmark = pytest.mark.long
EPOCHS = 150
"""So many that a run takes some seconds, and is begun when it is found."""
ON_DASK = ("--engine", "dask", "--workers", "2")


def table(folder: Path, paths: Iterable[Path]) -> str:
    """Return the long table of runs, each named by its path inside a folder."""
    runs = [Run.open(path) for path in paths]
    return csv_text(
        long_records((str(run.path.relative_to(folder)), run.config, run.metrics) for run in runs)
    )


def finish_with_a_killed_worker(out: Path, *arguments: str) -> None:
    """Run a command to its end; kill one of its workers as soon as that has begun a run below ``out``."""
    pytest.importorskip("cryptography", reason="needs the extra anchorflow[sweep]")
    killed: list[int] = []

    def kill() -> None:
        wait_for(lambda: holders(out))
        killed.append(holders(out)[0][1])
        os.kill(killed[0], signal.SIGKILL)

    process = command(*arguments, *ON_DASK)
    with meanwhile(kill):
        _, said = end_of(process, 900)
    assert process.returncode == 0, said
    assert killed[0] != process.pid


def test_a_study_on_dask_is_the_serial_one(tmp_path: Path) -> None:
    file = write_toy(tmp_path, epochs=EPOCHS)
    study = load_study(file)
    serial, on_dask = tmp_path / "serial", tmp_path / "dask"
    run_study(study, serial, workers=1)
    places = ("--root", str(on_dask), "--kept", str(tmp_path / "kept"))
    finish_with_a_killed_worker(on_dask, "study", str(file), "--run", *places)
    tables = [table(root, [m.path for m in members_of(study, root)]) for root in (serial, on_dask)]
    assert tables[0].count("\n") > 8 * EPOCHS
    assert tables[0] == tables[1]


def test_runs_of_train_on_dask_are_the_serial_ones(tmp_path: Path) -> None:
    """Without --resume: what the killed worker left is its own command's, and is continued."""
    text = TOY.partition("[axes]")[0].replace('purpose = "toy"\n', "")
    (tmp_path / "toy.toml").write_text(
        text.replace("epochs = 2\n", f"epochs = {EPOCHS}\ncheckpoint_every = 7\n")
    )
    serial, on_dask = tmp_path / "serial", tmp_path / "dask"
    line = ("train", str(tmp_path / "toy.toml"), "--out")
    process = command(*line, str(serial), "--workers", "1")
    _, said = end_of(process, 900)
    assert process.returncode == 0, said
    finish_with_a_killed_worker(on_dask, *line, str(on_dask))
    names = [f"gamma{init_rate}_seed{seed}" for init_rate in (0.3, 0.8) for seed in (0, 1)]
    tables = [table(out, [out / name for name in names]) for out in (serial, on_dask)]
    assert tables[0].count("\n") > 4 * EPOCHS
    assert tables[0] == tables[1]
