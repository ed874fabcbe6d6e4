"""Engines: how runs become jobs, how many train at a time, what is asked of SLURM and Dask, busy runs."""

import pickle
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sim import Execution, Progress, Run, train, train_members, train_together
from sim.errors import BusyError, UnfinishedRunsError
from sim.runs.files import is_being_written
from sim.runs.folder import RunFolder
from sim.runs.manifest import Manifest
from sim.training import engines, launch
from sim.training.engines import ENGINES, Ended, Job, WorkerDiedError, engine_of, jobs_of, watching
from sim.training.engines.local import train_sent_job
from tests.processes import wait_for
from tests.sim.conftest import DRAWN, PARTLY, small, small_member, stopped_after
from theory import InputError


@pytest.mark.parametrize("name", ["workers", "resume", "kernels", "device", "engine"])
def test_an_execution_that_makes_no_sense_is_refused_before_any_work(name: str, tmp_path: Path) -> None:
    values = {"workers": 0, "resume": "yes", "kernels": "fast", "device": "abacus", "engine": "slurn"}
    wrong: Any = values[name]
    with pytest.raises(InputError, match=f"^{name} = "):
        train(small(), tmp_path / "runs", **{name: wrong})
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"data": {"source": "draw", "n_sequences": 1001}}, "n_sequences"),
        ({"frozen": ["W_typo"]}, "training.frozen"),
    ],
)
def test_nonsense_is_refused_before_any_run(options: dict[str, Any], argument: str, tmp_path: Path) -> None:
    members = [small_member(), small_member(**options)]
    with pytest.raises(InputError, match=f"^{argument} = "):
        train_members(members, [tmp_path / "good", tmp_path / "bad"])
    with pytest.raises(InputError, match=r"^paths = 2"):
        train_members(members[:1], [tmp_path / "good", tmp_path / "bad"])
    assert not list(tmp_path.iterdir())


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "mine", "library_that_is_missing:train_jobs")
    with pytest.raises(InputError, match="library_that_is_missing"):
        engine_of("mine")


def test_an_engine_of_ones_own_is_one_function(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four runs one dies and two are stopped: all that did not finish are counted.

    The engine gets whole paths: its workers may have another working folder, where nobody looks for a run.
    """
    given = list[Path]()

    def train_jobs(jobs: list[Job], execution: Execution, stop: Any, report: Any) -> list[Ended]:
        given.extend(path for job in jobs for _, path in job)
        (done,) = engine_of("local")(jobs[:1], execution, stop, report)
        return [done, WorkerDiedError("an empty battery"), *("interrupted" for _ in jobs[2:])]

    monkeypatch.setitem(ENGINES, "mine", f"{__name__}:train_jobs")
    monkeypatch.setitem(globals(), "train_jobs", train_jobs)
    with pytest.raises(UnfinishedRunsError) as seen:
        train_members([small_member(epochs=1)] * 4, ["runs/a", here / "b", "c", "d"], engine="mine")
    assert given == [here / "runs" / "a", here / "b", here / "c", here / "d"]
    assert seen.value.reasons == {str(here / "b"): "an empty battery"}
    assert (seen.value.n_runs, seen.value.n_stopped) == (4, 2)
    assert str(pickle.loads(pickle.dumps(seen.value))) == str(seen.value)
    assert str(UnfinishedRunsError({"a": "killed"}, 2, 1)).endswith("a: killed; 1 more was stopped")
    assert Run.open("runs/a").provenance["status"] == "complete"


def test_after_a_runs_error_the_others_still_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process as in many; an error that leaves a process has its traceback as a note."""
    config = small(seeds=[0, 1], epochs=1)
    spoilt, _ = config.members()
    write = RunFolder.write_arrays

    def fail(folder: RunFolder, *given: Any) -> None:
        if folder.path.name == spoilt.name:
            raise RuntimeError("no statistics today")
        write(folder, *given)

    monkeypatch.setattr(RunFolder, "write_arrays", fail)
    with pytest.raises(RuntimeError, match="no statistics today") as caught:
        train(config, tmp_path / "runs")
    assert not hasattr(caught.value, "__notes__")
    assert Run.open(tmp_path / "runs" / "gamma0.8_seed1").config.seed == 1
    ended = train_sent_job([(spoilt, tmp_path / spoilt.name)], Execution(), lambda: False)
    assert "in fail" in pickle.loads(pickle.dumps(ended)).__notes__[0]


def test_cpu_workers_take_one_run_and_gpu_workers_what_may_train_together() -> None:
    members = [
        *small(seeds=[0, 1, 2]).members(),
        *small(seeds=[3], batch_size=8).members(),
        *small(seeds=[4], learning_rate=0.5).members(),
        *small(seeds=[5, 6], patience=1.0).members(),
        # Of drawn sequences, more or fewer have the key that is held out.
        *small(seeds=[7, 8], init_rates=[0.3, 0.8], task=PARTLY, data=DRAWN).members(),
    ]
    runs = [(member, Path(member.name)) for member in members]
    expected: dict[tuple[str, int], list[list[int]]] = {
        ("cpu", 2): [[0], [1], [2], [3], [4], [5], [6], [7], [8], [7], [8]],
        ("cuda", 1): [[0, 1, 2, 4], [3], [5], [6], [7, 7], [8, 8]],
        ("cuda", 2): [[0, 2], [1, 4], [3], [5], [6], [7], [7], [8], [8]],
    }
    for (device, parts), seeds in expected.items():
        assert [[m.seed for m, _ in job] for job in jobs_of(runs, device, parts)] == seeds


def test_a_run_that_another_process_has_is_waited_for(holder: Any, tmp_path: Path) -> None:
    (member,) = small(epochs=1).members()
    path = tmp_path / member.name
    assert is_being_written(path)
    let_go = time.monotonic() + 0.3
    threading.Timer(0.3, holder.let_go.set).start()
    train_members([member], [path], resume=True, shared=True)
    assert time.monotonic() >= let_go
    holder.join(30)
    assert holder.exitcode == 0
    assert not is_being_written(path)
    # Seen before the lock is taken as missing, and under it as complete: it is left alone.
    before = (path / "provenance.json").stat().st_mtime_ns
    assert train_together([member], [path], resume=True, shared=True) == "complete"
    assert (path / "provenance.json").stat().st_mtime_ns == before
    for wrong in ({"shared": True}, {"resume": True, "overwrite": True}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            train_members([member], [path], **wrong)


def test_an_interruption_is_told_after_a_busy_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = small(seeds=[0, 1]).members()
    busy = BusyError("out", "run", "another process is writing it", "wait")
    passes = iter([["interrupted", busy], ["complete"]])
    monkeypatch.setattr(launch, "engine_of", lambda name: lambda *_: next(passes))
    with pytest.raises(KeyboardInterrupt):
        train_members(members, [tmp_path / member.name for member in members], resume=True, shared=True)


def test_epochs_are_read_from_folders(tmp_path: Path) -> None:
    config = small(epochs=4, evaluate_every=2)
    (member,) = config.members()
    told, seen = list[Progress](), list[Progress]()
    with watching([[(member, tmp_path / member.name)]], seen.append, every=60):
        train(config, tmp_path, report=told.append)
    assert seen == told == [Progress(member.name, epoch, 4, epoch == 4) for epoch in (1, 2, 3, 4)]


def test_only_changed_evaluations_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 1000 epochs has a file that takes tens of milliseconds to read, and is watched for hours."""
    (member,) = small(epochs=4).members()
    scores = '"loss": {"mem": 1, "rsn_train": 1}, "accuracy": {"mem": 0.1, "rsn_train": 0.1}'
    line = f'{{"epoch": %d, "step": 1, "sum_learning_rate": 1.0, {scores}}}\n'
    Manifest(tmp_path).write("metrics.jsonl", line % 1)
    reads, seen = list[Path](), list[int]()
    metrics = engines._metrics
    monkeypatch.setattr(engines, "_metrics", lambda path: reads.append(path) or metrics(path))
    with watching([[(member, tmp_path)]], lambda progress: seen.append(progress.epoch), every=0.005):
        wait_for(lambda: len(reads) > 1)
        time.sleep(0.1)
        Manifest(tmp_path).write("metrics.jsonl", line % 3)
        wait_for(lambda: seen == [2, 3])
    assert 2 <= len(reads) <= 4  # Before and after the change, and once while it is being written.


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_slurm_gets_one_job_array(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a task for each job, and no more at a time than there are workers.

    SLURM's programs are scripts here: ``sbatch`` keeps the one that it is given.
    """
    pytest.importorskip("submitit")
    from sim.training.engines.on_slurm import Training, executor_of

    script = tmp_path / "script.sh"
    for name, does in {"srun": ":", "sbatch": f'cp "$1" {script}; echo Submitted batch job 7'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    members = small(seeds=[0, 1, 2]).members()
    jobs = jobs_of([(member, tmp_path / "out" / member.name) for member in members], "cpu")
    given = {"slurm_partition": "cpu", "timeout_min": 30}
    how = Execution(engine="slurm", workers=workers, engine_options=given)
    submitted = executor_of(jobs, how).map_array(Training(how.in_worker()), jobs)
    asked = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script.read_text(), re.MULTILINE))
    assert (asked["array"], asked["partition"], asked["time"]) == (f"0-2%{min(workers, 3)}", "cpu", "30")
    assert asked["cpus-per-task"] == "1"
    assert asked["signal"].startswith("USR2@")  # Before the time limit: to be queued again.
    assert str(tmp_path / "out" / ".slurm") in asked["output"]
    assert [job.job_id for job in submitted] == ["7_0", "7_1", "7_2"]


@pytest.mark.parametrize(
    ("engine", "options", "wrong"),
    [
        ("local", {"scheduler": "tcp://127.0.0.1:8786"}, "engine_options = "),
        ("dask", {"schedular": "tcp://127.0.0.1:8786"}, "did you mean 'scheduler'"),
        ("dask", {"scheduler": "tcp://127.0.0.1"}, "scheduler = 'tcp://127.0.0.1'"),
        ("dask", {"scheduler": "foo://x:1"}, "scheduler = 'foo://x:1'"),
        ("slurm", {"cluster": "local", "timeout": 3}, "engine = 'slurm'.*timeout"),
        ("slurm", {"cluster": "local", "timeout_min": "2h"}, "engine = 'slurm'.*timeout_min.*2h"),
    ],
)
def test_bad_options_are_refused(engine: str, options: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    pytest.importorskip({"local": "torch", "dask": "distributed", "slurm": "submitit"}[engine])
    with pytest.raises(InputError, match=wrong):
        train(small(), tmp_path, engine=engine, engine_options=options)
    assert {path.name for path in tmp_path.iterdir()} <= {".slurm"}


@pytest.mark.slow  # Dask gives up where its thread does not start within ten seconds, beside other tests.
def test_dask_ends_what_no_worker_has(tmp_path: Path) -> None:
    """Where a scheduler has no workers, as before the first is started, Ctrl-C would do nothing."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        scheduler = {"scheduler": cluster.scheduler_address}
        how = Execution(engine="dask", engine_options=scheduler)
        with pytest.raises(KeyboardInterrupt):
            train_members([small_member()], [tmp_path / "run"], how, stop=stopped_after(2))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_dask_trains_no_more_runs_than_workers_and_brings_errors_back(workers: int, tmp_path: Path) -> None:
    """On a cluster that has more; Ctrl-C ends what has begun, with a checkpoint, and nothing else begins."""
    distributed = pytest.importorskip("distributed")
    config = small(seeds=[0, 1, 2, 3], epochs=100_000, evaluate_every=10)
    begun: set[str] = set()
    paths = [tmp_path / member.name for member in config.members()]
    asked: Any = {"report": lambda progress: begun.add(progress.name), "stop": lambda: len(begun) >= workers}
    own = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**own) as cluster:
        scheduler = {"scheduler": cluster.scheduler_address}
        how = Execution(engine="dask", workers=workers, engine_options=scheduler)
        with pytest.raises(KeyboardInterrupt):
            train_members(config.members(), paths, how, **asked)
        seen = {path.parent.name for path in tmp_path.glob("*/checkpoints")}
        assert seen == begun
        assert len(begun) == workers
        damaged = next(member for member in config.members() if member.name in begun)
        (tmp_path / damaged.name / "metrics.jsonl").write_text("")
        with pytest.raises(InputError, match=r"metrics\.jsonl"):
            train_members([damaged], [tmp_path / damaged.name], how, resume=True)
