"""Engines: how runs become jobs, what is asked of SLURM, and runs that another process has."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sim import Execution, Progress, Run, RunConfig, train, train_members
from sim.errors import BusyError, UnfinishedRunsError
from sim.runs.folder import RunFolder
from sim.runs.lock import is_being_written, only_writer
from sim.training.engines import ENGINES, engine_of
from sim.training.jobs import Ended, Job, WorkerDiedError, jobs_of, train_job, watching
from theory import InputError

Make = Callable[..., RunConfig]
HOLD = """
import sys, time
from pathlib import Path
from sim.runs.folder import RunFolder
from sim.runs.lock import only_writer
with only_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_engines_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="did you mean 'slurm'"):
        engine_of("slurn")
    monkeypatch.setitem(ENGINES, "mine", "library_that_is_missing:train_jobs")
    with pytest.raises(InputError, match=r"needs library_that_is_missing.*anchorflow\[sweep\]"):
        engine_of("mine")


def test_an_engine_of_ones_own_is_one_function(
    small: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[int] = []

    def train_jobs(jobs: list[Job], execution: Execution, stop: Any, report: Any) -> list[Ended]:
        seen.append(len(jobs))
        ended = [Ended("died", WorkerDiedError("its battery is empty")) for _ in jobs]
        return [*ended[1:], engine_of("local")(jobs[-1:], execution, stop, report)[0]]

    monkeypatch.setitem(ENGINES, "mine", f"{__name__}:train_jobs")
    monkeypatch.setitem(sys.modules[__name__].__dict__, "train_jobs", train_jobs)
    with pytest.raises(
        UnfinishedRunsError, match=r"1 of 2 runs did not finish: .*seed0: its battery is empty"
    ):
        train(small(seeds=[0, 1], epochs=1), tmp_path, engine="mine")
    assert seen == [2]
    assert Run.open(tmp_path / "gamma0.8_seed1").config.seed == 1


def test_runs_that_were_stopped_did_not_finish_either(
    small: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As when a signal to all processes ends a worker before this one has noted it."""

    def train_jobs(jobs: list[Job], *_: Any) -> list[Ended]:
        died = Ended("died", WorkerDiedError("was asked to stop (SIGTERM)"))
        return [Ended("complete"), died, *(Ended("interrupted") for _ in jobs[2:])]

    monkeypatch.setitem(ENGINES, "mine", f"{__name__}:train_jobs")
    monkeypatch.setitem(sys.modules[__name__].__dict__, "train_jobs", train_jobs)
    whole = r"^3 of 4 runs did not finish: \S+seed1: was asked to stop \(SIGTERM\); 2 more were stopped$"
    with pytest.raises(UnfinishedRunsError, match=whole) as seen:
        train(small(seeds=[0, 1, 2, 3]), tmp_path, engine="mine")
    assert str(pickle.loads(pickle.dumps(seen.value))) == str(seen.value)


def test_what_goes_wrong_with_one_run_does_not_keep_the_others_from_training(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process as in many; an error that leaves a process has its traceback as a note."""
    config = small(seeds=[0, 1], epochs=1)
    spoilt, _ = config.members()
    write = RunFolder.write_statistics

    def fail(folder: RunFolder, *given: Any) -> None:
        if folder.path.name == spoilt.name:
            raise RuntimeError("no statistics today")
        write(folder, *given)

    monkeypatch.setattr(RunFolder, "write_statistics", fail)
    with pytest.raises(RuntimeError, match="no statistics today") as caught:
        train(config, tmp_path / "runs")
    assert not hasattr(caught.value, "__notes__")
    assert Run.open(tmp_path / "runs" / "gamma0.8_seed1").config.seed == 1
    job = [(spoilt, tmp_path / spoilt.name)]
    ended = train_job(job, Execution(), lambda _: None, lambda: False)
    assert ended.status == "failed"
    assert ended.error is not None
    assert "write_statistics" in ended.error.__notes__[0]


def test_a_gpu_of_other_machines_is_not_looked_for_here(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sbatch is there is often none. A name that no device has is refused before any work."""
    asked: list[str] = []

    def train_jobs(jobs: list[Job], execution: Execution, stop: Any, report: Any) -> list[Ended]:
        asked.append(execution.device)
        return [Ended("interrupted") for _ in jobs]

    monkeypatch.setitem(ENGINES, "slurm", f"{__name__}:train_jobs")
    monkeypatch.setitem(sys.modules[__name__].__dict__, "train_jobs", train_jobs)
    monkeypatch.setattr("torch.zeros", no_gpu)
    with pytest.raises(KeyboardInterrupt):
        train(small(), tmp_path / "slurm", engine="slurm", device="cuda")
    assert asked == ["cuda"]
    with pytest.raises(InputError, match="no such device"):
        train(small(), tmp_path / "wrong", engine="slurm", device="gpu")
    with pytest.raises(InputError, match="cannot be used"):
        train(small(), tmp_path / "here", engine="dask", device="cuda")
    assert {path.name for path in tmp_path.iterdir()} == {"slurm"}


def no_gpu(*_: Any, device: str) -> None:
    raise RuntimeError(f"no {device} here")


def test_cpu_workers_take_one_run_and_gpu_workers_what_may_train_together(small: Make) -> None:
    members = [*small(seeds=[0, 1, 2]).members(), *small(seeds=[3], batch_size=8).members()]
    runs = [(member, Path(member.name)) for member in members]
    seeds = [[member.seed for member, _ in job] for job in jobs_of(runs, "cpu", 2)]
    assert seeds == [[0], [1], [2], [3]]
    assert [[m.seed for m, _ in job] for job in jobs_of(runs, "cuda")] == [[0, 1, 2], [3]]
    assert [[m.seed for m, _ in job] for job in jobs_of(runs, "cuda", 2)] == [[0, 2], [1], [3]]


def test_a_run_that_another_process_has_is_refused_or_waited_for(small: Make, tmp_path: Path) -> None:
    (member,) = small(epochs=1).members()
    path = tmp_path / "run"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_being_written(path)
        with pytest.raises(BusyError, match="another process is writing it"):
            train_members([member], [path])
        let_go = time.monotonic() + 0.3
        threading.Timer(0.3, holder.stdin.close).start()
        train_members([member], [path], resume=True, shared=True)
        assert time.monotonic() >= let_go
        assert holder.wait(30) == 0
    assert not is_being_written(path)
    assert Run.open(path).config == member


def test_what_another_process_completed_meanwhile_is_left_alone(small: Make, tmp_path: Path) -> None:
    """Seen before the lock is taken as missing, and under it as complete."""
    from sim import train_together

    (member,) = small(epochs=1).members()
    (run,) = train(small(epochs=1), tmp_path)
    before = (run.path / "provenance.json").stat().st_mtime_ns
    assert train_together([member], [run.path], resume=True, shared=True) == "complete"
    assert (run.path / "provenance.json").stat().st_mtime_ns == before


def test_epochs_are_read_from_folders(small: Make, tmp_path: Path) -> None:
    config = small(epochs=4, evaluate_every=2)
    (member,) = config.members()
    path, seen = tmp_path / member.name, list[Progress]()
    with watching([(member, path)], seen.append, every=60):
        train(config, tmp_path)
    assert [(progress.epoch, progress.epochs) for progress in seen] == [(epoch, 4) for epoch in (1, 2, 3, 4)]
    assert [progress.has_ended for progress in seen] == [False, False, False, True]


def test_the_lock_is_not_left_behind_by_looking(tmp_path: Path) -> None:
    assert not is_being_written(tmp_path / "run")
    (tmp_path / ".run.lock").write_text("")
    assert not is_being_written(tmp_path / "run")
    with only_writer(tmp_path / "run"):
        assert is_being_written(tmp_path / "run")


@pytest.fixture
def fake_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of SLURM's names: ``sbatch`` keeps the script that it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    kept = tmp_path / "script.sh"
    for name, what in {"srun": ":", "sbatch": f'cp "$1" {kept}; echo Submitted batch job 7'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{what}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return kept


@pytest.mark.long
def test_slurm_is_asked_for_one_array_with_a_task_for_each_job(
    small: Make, fake_slurm: Path, tmp_path: Path
) -> None:
    pytest.importorskip("submitit")
    from sim.training.engines.on_slurm import Training, executor_of

    members = small(seeds=[0, 1, 2]).members()
    jobs = jobs_of([(member, tmp_path / "out" / member.name) for member in members], "cpu")
    how = Execution(engine="slurm", workers=2, engine_options={"slurm_partition": "cpu", "timeout_min": 30})
    submitted = executor_of(jobs, how).map_array(Training(Execution()), jobs)
    script = fake_slurm.read_text()
    for line in ("array=0-2%2", "partition=cpu", "time=30", "job-name=anchorflow", "cpus-per-task=1"):
        assert f"#SBATCH --{line}" in script
    assert "#SBATCH --signal=USR2@" in script  # Before the time limit: to be queued again.
    assert f"{sys.executable} -u -m submitit.core._submit" in script
    assert str(tmp_path / "out" / ".slurm") in script
    assert [job.job_id for job in submitted] == ["7_0", "7_1", "7_2"]


@pytest.mark.long
def test_slurm_that_is_not_there_or_an_unknown_parameter_is_refused(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("submitit")
    with pytest.raises(InputError, match="wrong"):
        train(small(), tmp_path, engine="slurm", engine_options={"cluster": "local", "wrong": 3})
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="srun"):
        train(small(), tmp_path, engine="slurm")
    assert [path.name for path in tmp_path.iterdir()] in ([], [".slurm"])


@pytest.mark.long
def test_a_scheduler_that_does_not_answer_is_refused(small: Make, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        train(small(), tmp_path, engine="dask", workers=2, engine_options={"scheduler": "tcp://127.0.0.1:9"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "what answers there is no Dask scheduler"),
        (b"\x08" + bytes(15), "what answers there is no Dask scheduler"),
        (b"", r"no Dask scheduler answers \(in 1 s\)"),
    ],
)
def test_what_is_no_scheduler_is_refused_before_anything_is_written(
    said: bytes, problem: str, small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("sim.training.engines.on_dask._ANSWER", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        address = "tcp://{}:{}".format(*server.getsockname())
        threading.Thread(target=_say, args=(server, said), daemon=True).start()
        with pytest.raises(InputError, match=problem):
            train(small(), tmp_path, engine="dask", engine_options={"scheduler": address})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["foo://x:1", "tcp://127.0.0.1"])
def test_an_address_that_dask_cannot_read_is_refused(address: str, small: Make, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="is no address that Dask can find"):
        train(small(), tmp_path, engine="dask", engine_options={"scheduler": address})


def _say(server: socket.socket, said: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(said)
        while connection.recv(1000):
            pass


@pytest.mark.long
@pytest.mark.parametrize("lost_in", ["wait", "result", "exception", "stop"])
def test_a_scheduler_that_goes_ends_its_client_and_no_job(
    lost_in: str, monkeypatch: pytest.MonkeyPatch, small: Make, tmp_path: Path
) -> None:
    """Whichever call notices it first: the jobs are left for the scheduler that takes its place."""
    lost = pytest.importorskip("distributed").CancelledError
    from sim.training.engines import on_dask

    client = Mock(status="running")
    future = client.submit.return_value
    future.status = "error" if lost_in == "exception" else "finished"
    future.result.side_effect = lost
    future.exception.return_value = None
    client.run.side_effect = OSError
    monkeypatch.setattr(on_dask, "wait", Mock(side_effect=lost if lost_in == "wait" else None))
    session = on_dask._Session(jobs_of([(small().members()[0], tmp_path)], "cpu"), Execution())
    session.run(client, lambda: lost_in == "stop")
    assert session.left == [0]
    assert session.stopped == (lost_in == "stop")


def test_a_scheduler_that_is_gone_is_told_from_one_that_was_never_there(small: Make, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from sim.training.engines import on_dask

    session = on_dask._Session(jobs_of([(small().members()[0], tmp_path)], "cpu"), Execution())
    error = session.unreachable("tcp://nowhere:1", OSError("refused"))
    assert isinstance(error, InputError)
    assert "no Dask scheduler answers (refused)" in str(error)
    session.begun = True
    error = session.unreachable("tcp://nowhere:1", OSError("refused"))
    assert isinstance(error, UnfinishedRunsError)
    assert error.reasons == {str(tmp_path): "the scheduler at tcp://nowhere:1 is gone"}
