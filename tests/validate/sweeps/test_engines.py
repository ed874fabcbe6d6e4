"""Sweeps on real worker processes: whatever dies, the table is that of a serial run, byte for byte."""

import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from sim import Execution
from sim.errors import UnfinishedRunsError
from sim.runs.table import csv_text
from tests.processes import command, end_of, is_empty, wait_for
from tests.slurm import NoSlurmError, slurm
from tests.validate.sweeps.toy import holders, write_toy
from validate.sweeps import load_sweep, plan_of, records_of, run_sweep

pytestmark = pytest.mark.long
EPOCHS = 150
"""So many that a run takes some seconds, and is begun when it is found."""
ON_SLURM = ("--engine", "slurm", "--slurm", "mem_gb", "1", "timeout_min", "30")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("toy"), epochs=EPOCHS)


@pytest.fixture(scope="module")
def serial(toy):
    """The table of the sweep, trained one run after the other."""
    run_sweep(load_sweep(toy), toy.parent / "serial")
    return table(toy, toy.parent / "serial")


@pytest.fixture(scope="module")
def cluster():
    """A real SLURM of one node; tests are skipped where its packages are not installed or do not start."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        try:
            with slurm(Path(folder)) as configuration:
                patch.setenv("SLURM_CONF", str(configuration))
                yield
        except NoSlurmError as error:
            pytest.skip(f"no SLURM: {error}")


def table(toy, out):
    return csv_text(records_of(plan_of(load_sweep(toy), out)))


def kill_a_worker(out):
    """Kill a worker in the middle of a run, stopped first so that the run cannot end before; return it."""
    while True:
        wait_for(lambda: holders(out))
        for _, worker in holders(out):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
                if any(process == worker for _, process in holders(out)):
                    os.kill(worker, signal.SIGKILL)
                    return worker
                os.kill(worker, signal.SIGCONT)


def test_two_sweeps_in_one_folder_share_the_work(toy, serial, tmp_path):
    line = ("sweep", str(toy), "--out", str(tmp_path / "out"), "--workers", "2")
    both = [command(*line), command(*line)]
    ends: dict[Path, set[int]] = {}

    def watch():
        """Note the last snapshot of each run: to train it again would replace the file by another."""
        while any(process.poll() is None for process in both):
            for file in (tmp_path / "out").glob(f"*/snapshots/epoch_{EPOCHS:06d}.safetensors"):
                ends.setdefault(file, set()).add(file.stat().st_ino)
            time.sleep(0.02)

    with ThreadPoolExecutor(1) as beside:
        watched = beside.submit(watch)
        for process in both:
            _, said = end_of(process, 500)
            assert process.returncode == 0, said
        watched.result()
    assert table(toy, tmp_path / "out") == serial
    assert (tmp_path / "out" / "table.csv").read_text() == serial
    assert len(ends) == 8
    assert all(seen == {file.stat().st_ino} for file, seen in ends.items())


def test_a_sweep_on_slurm_has_the_serial_table(cluster, toy, serial, tmp_path):
    process = command("sweep", str(toy), "--out", str(tmp_path), *ON_SLURM, "--workers", "2")
    _, said = end_of(process, 900)
    assert process.returncode == 0, said
    assert (tmp_path / "table.csv").read_text() == serial
    assert len(list((tmp_path / ".slurm").glob("*_result.pkl"))) == 8
    assert "accounting" not in said  # Which this SLURM does not have.


@pytest.mark.parametrize("engine", ["dask", "slurm"])
def test_ctrl_c_leaves_checkpoints_and_the_same_command_finishes(engine, toy, serial, tmp_path, request):
    if engine == "slurm":
        request.getfixturevalue("cluster")
    how, workers = (ON_SLURM, 1) if engine == "slurm" else (("--engine", "dask"), 2)
    line = ("sweep", str(toy), "--out", str(tmp_path), *how, "--workers", str(workers))
    process = command(*line)
    wait_for(lambda: holders(tmp_path))
    os.killpg(process.pid, signal.SIGINT)
    _, said = end_of(process, 120)
    assert process.returncode == 130, said
    assert "the same command continues" in said
    assert "Traceback" not in said
    assert is_empty(process.pid, 10)
    if engine == "slurm":
        queue = ["squeue", "--noheader"]
        wait_for(lambda: not subprocess.run(queue, capture_output=True, check=True).stdout, 60)
    states = list(plan_of(load_sweep(toy), tmp_path).states.values())
    assert 1 <= states.count("unfinished") <= workers
    assert "missing" in states
    again = command(*line)
    _, said = end_of(again, 900)
    assert again.returncode == 0, said
    assert table(toy, tmp_path) == (tmp_path / "table.csv").read_text() == serial


def test_a_killed_dask_worker_loses_nothing(toy, serial, tmp_path):
    """What it leaves is its own command's and is continued; test_options.py has what commands ask for."""
    process = command("sweep", str(toy), "--out", str(tmp_path), "--engine", "dask", "--workers", "2")
    with ThreadPoolExecutor(1) as beside:
        killed = beside.submit(kill_a_worker, tmp_path)
        _, said = end_of(process, 900)
    assert process.returncode == 0, said
    assert killed.result() != process.pid
    assert table(toy, tmp_path) == serial


def test_submitit_trains_a_sweep_and_names_a_killed_task(toy, serial, tmp_path):
    """On submitit's executor for this machine, which starts all tasks at once."""
    how = Execution(engine="slurm", workers=2, engine_options={"cluster": "local"})
    with ThreadPoolExecutor(1) as beside:
        beside.submit(kill_a_worker, tmp_path)
        with pytest.raises(UnfinishedRunsError, match="gave no result"):
            run_sweep(load_sweep(toy), tmp_path, how)
    run_sweep(load_sweep(toy), tmp_path, how)
    assert table(toy, tmp_path) == serial
