"""Runs that several processes train together, each on a share of every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sim.config.run import MemberConfig
from sim.fast.matmul import matmul_route
from sim.training.engines.local import one_thread
from sim.training.execution import Execution
from sim.training.jobs import Pending
from sim.training.ranks import Ranks, joined_ranks
from sim.training.session import Report, train_together
from sim.training.trainer import Trainer
from theory import InputError


def train_in_ranks(
    pending: Callable[[], Sequence[Pending]], execution: Execution, report: Report, stop: Callable[[], bool]
) -> list[str]:
    """Train one run after the other in all processes that torchrun started, and return how they ended.

    Parameters
    ----------
    pending : callable
        Returns the runs that are left, or refuses; called by the first process, and heard by all.
    execution, report, stop
        As in ``sim.train_members``.
    """
    if execution.device != "cpu":
        raise InputError("device", execution.device, "not under torchrun", 'ask for "cpu"')
    how = replace(execution, kernels="torch", workers=1)
    statuses: list[str] = []
    with joined_ranks() as ranks, one_thread("cpu"):
        left = ranks.sent(_listed(pending) if ranks.own == 0 else None)
        if isinstance(left, InputError):
            raise left
        asked = ranks.agreed(stop)
        for member, path in left:
            status = None
            if ranks.own == 0:
                status = train_together([member], [path], how, report=report, stop=asked, ranks=ranks)
            else:
                follow(member, ranks, asked)
            # No process continues before the folder is complete.
            statuses.append(ranks.sent(status))
            if statuses[-1] == "interrupted":
                break
    return statuses


def _listed(pending: Callable[[], Sequence[Pending]]) -> Sequence[Pending] | InputError:
    try:
        left = pending()
        for member, _ in left:
            _check_patience(member.training.patience)
        return left
    except InputError as error:
        return error


def _check_patience(patience: float) -> None:
    """Refuse a run whose end is known to the process alone that evaluates it."""
    if patience:
        remedy = "train the run in one process, or set 0"
        raise InputError("training.patience", patience, "not under torchrun", remedy)


def follow(member: MemberConfig, ranks: Ranks, stop: Callable[[], bool]) -> None:
    """Take the steps of a run whose folder the first process writes."""
    trainer = Trainer([member])
    trainer.share(ranks)
    checkpoint, route = ranks.sent(None)
    trainer.restore([checkpoint])
    with matmul_route(route):
        while trainer.epoch < member.training.epochs:
            if not trainer.advance(trainer.steps_per_epoch, stop):
                break
