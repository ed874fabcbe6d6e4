"""Sweeps on a real SLURM of one node; skipped where its packages are not installed or do not start."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.runs.table import csv_text
from tests.processes import command, end_of
from tests.slurm import NoSlurmError, slurm
from tests.validate.sweeps.at_work import holders, wait_for
from tests.validate.sweeps.toy import write_toy
from validate.sweeps import load_sweep, plan_of, records_of, run_sweep

pytestmark = pytest.mark.long
ON_SLURM = ("--engine", "slurm", "--workers", "2", "--slurm", "mem_gb", "1", "timeout_min", "30")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        try:
            with slurm(Path(folder)) as configuration:
                patch.setenv("SLURM_CONF", str(configuration))
                yield
        except NoSlurmError as error:
            pytest.skip(f"no SLURM: {error}")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, long enough to be found while they train."""
    axes = "weight_decay = [0.0, 0.1]\nseed = [0]\ninit_rate = [0.8]"
    file = write_toy(tmp_path_factory.mktemp("toy"), epochs=400, axes=axes)
    text = file.read_text()
    file.write_text(text.replace("init_rates = [0.3, 0.8]\nseeds = [0, 1]\n", ""))
    return file


@pytest.fixture(scope="module")
def serial(toy: Path) -> str:
    """The table of the sweep, trained one run after the other."""
    return csv_text(records_of(run_sweep(load_sweep(toy), toy.parent / "serial")))


def test_a_sweep_on_slurm_has_the_serial_table(toy: Path, serial: str, tmp_path: Path) -> None:
    process = command("sweep", str(toy), "--out", str(tmp_path), *ON_SLURM)
    _, said = end_of(process, 900)
    assert process.returncode == 0, said
    assert (tmp_path / "table.csv").read_text() == serial
    assert len(list((tmp_path / ".slurm").glob("*_result.pkl"))) == 2
    assert "accounting" not in said  # Which this SLURM does not have.


def test_ctrl_c_cancels_the_tasks_and_the_same_command_finishes(
    toy: Path, serial: str, tmp_path: Path
) -> None:
    line = ("sweep", str(toy), "--out", str(tmp_path), *ON_SLURM, "--workers", "1")
    process = command(*line)
    wait_for(lambda: holders(tmp_path))
    os.killpg(process.pid, signal.SIGINT)
    _, said = end_of(process, 120)
    assert process.returncode == 130, said
    wait_for(lambda: not queue(), 60)
    assert sorted(plan_of(load_sweep(toy), tmp_path).states.values()) == ["missing", "unfinished"]
    again = command(*line)
    _, said = end_of(again, 900)
    assert again.returncode == 0, said
    assert (tmp_path / "table.csv").read_text() == serial


def queue() -> list[str]:
    line = ["squeue", "--noheader"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
