"""Train members into their run folders: evaluate, keep snapshots and checkpoints, stop and continue."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from sim.config.run import MemberConfig, sources
from sim.data.base import Dataset
from sim.errors import DamagedError
from sim.fast.matmul import matmul_route, subnormals_flushed
from sim.runs import provenance
from sim.runs.beginning import open_folder, tokenizer_record
from sim.runs.files import finite, json_text, only_writer, read_tensors
from sim.runs.folder import METRICS, STATISTICS, RunFolder, checkpoint_name, snapshot_name
from sim.runs.records import Arrays, CheckpointState
from sim.runs.run import is_complete
from sim.training.execution import Execution
from sim.training.kernels import choose_kernels, route_for
from sim.training.trainer import Trainer
from theory import InputError
from theory.edge.checked import checked
from theory.edge.reading import PathLike, paths_of

_LOG = logging.getLogger("anchorflow")


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    name: str
    epoch: int
    """Epochs done."""
    epochs: int
    """Epochs that it may take."""
    has_ended: bool = False
    """Whether it takes no more: with ``training.patience`` it may end before ``epochs``."""


Report = Callable[[Progress], None]


@checked
def train_together(
    members: Sequence[MemberConfig],
    paths: Sequence[PathLike],
    execution: Execution | None = None,
    *,
    report: Report = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    **options: Any,
) -> str:
    """Train members along one leading axis, each into its own run folder.

    Parameters
    ----------
    members : sequence of MemberConfig
        They share everything but γ, seed, learning rate and weight decay.
    paths : sequence of path
        One folder for each member.
    execution : Execution, optional
        How; ``workers`` has no effect.
    report, stop, **options
        As in ``train_members``.

    Returns
    -------
    str
        "complete", "interrupted" or, if no member is left, "diverged".

    Raises
    ------
    InputError
        As in ``train``; also if another process is writing a folder.
    """
    how = replace(execution or Execution(), **options)
    where = paths_of(paths)
    if len(members) != len(paths):
        raise InputError("paths", len(paths), f"not one for each of {len(members)} runs", "give as many")
    # Recorded before the file is read: one that is replaced meanwhile is refused when the run continues.
    tokenizer = tokenizer_record(members[0]) if members else None
    trainer = Trainer(members, how.device)
    with ExitStack() as held:
        for path in where:
            held.enter_context(only_writer(path))
        folders = [
            open_folder(path, member, resume=how.resume, overwrite=how.overwrite)
            for path, member in zip(where, members, strict=True)
        ]
        if all(map(is_complete, where)):
            return "complete"  # Completed by another process since this one looked.
        recorded = [folder.read_provenance() if folder.has_provenance else {} for folder in folders]
        route = route_for(members[0], recorded[0], how.device)
        held.enter_context(matmul_route(route.route))
        held.enter_context(subnormals_flushed())
        kernels = choose_kernels(trainer, how.kernels, recorded[0])
        constant = {"matmul": route.model_dump(), "kernels": kernels.model_dump(), "tokenizer": tokenizer}
        session = _Session(trainer, folders, report, recorded, constant)
        while not session.is_over():
            mark = trainer.training.next_mark(trainer.position, trainer.steps_per_epoch)
            if not trainer.advance(mark, stop):
                break
            session.record()
        return session.end()


class _Session:
    """Members in training together, with the folders that receive them.

    It begins at the members' newest common checkpoint; without one, it writes the first files of a run.
    ``recorded`` is each member's earlier provenance, empty for a new run; ``constant`` holds the parts of the
    new one that do not change.
    """

    def __init__(
        self,
        trainer: Trainer,
        folders: Sequence[RunFolder],
        report: Report,
        recorded: Sequence[dict[str, Any]],
        constant: dict[str, Any],
    ) -> None:
        self.trainer, self.folders, self.report = trainer, folders, report
        self.recorded, self.constant = recorded, constant
        self.started, self.seconds_before = time.perf_counter(), [0.0] * len(folders)
        self.metrics: list[list[dict[str, Any]]] = [[] for _ in folders]
        checkpoints = newest_checkpoints(folders, trainer.check_fit)
        self.first_step = 0
        if checkpoints is not None:
            trainer.restore(checkpoints)
            self.first_step = trainer.optimizer.step
            self.seconds_before = [state.seconds for _, state in checkpoints]
            for metrics, folder, data in zip(self.metrics, folders, trainer.datasets, strict=True):
                _check_same_data(folder, data)
                metrics += [line for line in folder.read_metrics() if line["step"] <= self.first_step]
        for metrics, folder in zip(self.metrics, folders, strict=True):
            folder.drop_checkpoints(self.first_step)  # None outlives the evaluations before it.
            if metrics:  # Later evaluations are made again.
                folder.write_metrics(metrics)
        self._write_provenance("running")
        if checkpoints is None:
            for folder, data in zip(folders, trainer.datasets, strict=True):
                folder.write_arrays(STATISTICS, *data.statistics())
            self._write_snapshots(0, None)
            self._evaluate()

    def is_over(self) -> bool:
        """Return whether the run takes no more steps: members with patience train alone."""
        return self.trainer.members[0].has_ended(self.metrics[0])

    def record(self) -> None:
        training, epoch = self.trainer.training, self.trainer.epoch
        seen = epoch in training.snapshot_epochs  # What a snapshot shows is judged by how much was learned.
        if self.trainer.position or epoch % training.evaluate_every == 0 or epoch == training.epochs or seen:
            self._evaluate()
        if self.trainer.position:
            return
        last = self.is_over()
        if seen or last:
            names = None if training.snapshot_tensors == "all" else [self.trainer.model.embedding]
            self._write_snapshots(epoch, names)
        if epoch % training.checkpoint_every == 0 and not last:
            self._write_checkpoints()
        for member in self.trainer.members:
            self.report(Progress(member.name, epoch, training.epochs, last))

    def end(self) -> str:
        if is_over := self.is_over():
            self.trainer.check_weights()
        status = "complete" if is_over else "interrupted"
        if len(self.trainer.failures) == len(self.trainer.members):
            status = "diverged"
        self._write_checkpoints()
        self._write_provenance(status)
        return status

    def _evaluate(self) -> None:
        trainer = self.trainer
        # A whole number, except for evaluations within an epoch.
        epoch = trainer.epoch + (trainer.position / trainer.steps_per_epoch if trainer.position else 0)
        for m, (folder, scores) in enumerate(zip(self.folders, trainer.evaluate(), strict=True)):
            evaluation: dict[str, Any] = {
                "epoch": epoch,
                "step": trainer.optimizer.step,
                "sum_learning_rate": trainer.sum_learning_rate[m],
                "loss": {name: finite(score["loss"]) for name, score in scores.items()},
                "accuracy": {name: score["accuracy"] for name, score in scores.items()},
            }
            self.metrics[m].append(evaluation)
            if len(self.metrics[m]) == 1:
                folder.write_metrics([evaluation])
            else:
                folder.append_metrics(evaluation)

    def _write_snapshots(self, epoch: int, names: Sequence[str] | None) -> None:
        for m, folder in enumerate(self.folders):
            folder.write_arrays(snapshot_name(epoch), self.trainer.arrays(m, names), {"epoch": str(epoch)})

    def _write_checkpoints(self) -> None:
        for m, folder in enumerate(self.folders):
            folder.settle(METRICS)
            folder.write_checkpoint(*self.trainer.checkpoint(m, self._seconds(m)))

    def _seconds(self, member: int) -> float:
        return self.seconds_before[member] + time.perf_counter() - self.started

    def _write_provenance(self, status: str) -> None:
        kernels, product = self.constant["kernels"]["used"], self.constant["matmul"]["route"]
        where = provenance.software() | provenance.machine(str(self.trainer.device))
        where["arithmetic"] = f"{kernels} kernels, {product} product"
        for m, (folder, member) in enumerate(zip(self.folders, self.trainer.members, strict=True)):
            failure, before = self.trainer.failures.get(m), self.recorded[m]
            record = {
                "status": "diverged" if failure else status,
                "reason": failure,
                "epoch": self.trainer.epoch,
                "written": provenance.now(),
                **where,
                "parts": provenance.parts_before(before, where, self.first_step),
                "threads": torch.get_num_threads(),
                **self.constant,
                "model_file": provenance.model_file(member.model),
                "seed": member.seed,
                "trained_with": [other.name for other in self.trainer.members],
                "sources": sources(member, before.get("sources", {})),
                "wall_seconds": self._seconds(m),
                "peak_memory_mib": provenance.peak_memory_mib(),
            }
            folder.write("provenance.json", json_text(record))


def _check_same_data(folder: RunFolder, data: Dataset) -> None:
    """Refuse to continue a run on other data: texts without a checksum may have changed since it began."""
    (kept, of_kept), (arrays, meta) = folder.read(STATISTICS, read_tensors), data.statistics()
    if meta != of_kept or not all(np.array_equal(kept[name], array) for name, array in arrays.items()):
        problem = "was begun on other data: its texts, or what draws them, have changed since"
        remedy = "restore them, or train into another folder"
        raise InputError("out", str(folder.path), problem, remedy)


def newest_checkpoints(
    folders: Sequence[RunFolder], check: Callable[[Arrays, CheckpointState], None]
) -> list[tuple[Arrays, CheckpointState]] | None:
    """Return the runs' checkpoints of the newest step at which all are whole, None if there is none.

    A damaged one is set aside and named in a warning. Runs that have checkpoints, but none in common, are
    refused, as their progress would be lost, unless they trained together: then a kill came during the first.
    """
    kept = [folder.checkpoint_steps() for folder in folders]
    steps = set.intersection(*map(set, kept))
    if any(kept) and not steps:
        groups = [folder.has_provenance and folder.read_provenance()["trained_with"] for folder in folders]
        if not groups[0] or any(group != groups[0] for group in groups):
            newest = {folder.path.name: of_run[:1] for folder, of_run in zip(folders, kept, strict=True)}
            problem = "these runs have no checkpoint in common, and their progress would be lost"
            raise InputError("resume", newest, problem, "continue runs at different steps separately")
    for step in sorted(steps, reverse=True):
        whole = []
        for folder in folders:
            try:
                check(*(checkpoint := folder.read_checkpoint(step)))
                whole.append(checkpoint)
            except DamagedError as error:
                message = "%s: %s; set aside as %s, training continues from the checkpoint before it, if any."
                where = folder.path / checkpoint_name(step)
                _LOG.warning(f"anchorflow: {message}", where, error, folder.set_aside(step).name)
        if len(whole) == len(folders):
            return whole
    return None
