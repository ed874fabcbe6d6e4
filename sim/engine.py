"""The training engine: members that differ in γ, seed, learning rate and weight decay step together.

``Trainer`` holds the whole state of some members and knows nothing of files or processes; one step is
``Trainer.step``. Sources of randomness are kept apart: initialisation (drawn once in
``sim.initial.build``), the order of the data and fresh noise (a generator of each for every member, its
state at the start of the epoch kept for checkpoints), and the choice of what to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sim.config import MemberConfig, sequences_per_epoch
from sim.data import Dataset, build_dataset, redraw_training
from sim.evaluate import evaluate, evaluation_rows
from sim.gradients import losses_and_gradients
from sim.initial import build
from sim.optim import Optimizer, clip_divisors, gradient_norms, learning_rate
from sim.run_folder import Arrays
from sim.seeds import torch_stream
from theory import InputError

_OWN = {"init_rate": True, "seed": True, "training": {"learning_rate", "weight_decay"}}
"""What members of one trainer may differ in."""
_STREAMS = {"shuffle": "data/shuffle", "noise": "data/noise"}
"""The generators of an epoch: their names in checkpoints, and their streams."""


class Trainer:
    """The state of some members in training.

    Parameters
    ----------
    members : sequence of MemberConfig
        They share everything but γ, seed, learning rate and weight decay.

    Attributes
    ----------
    parameters : dict of Tensor, each of shape (n_members, ...)
    epoch : int
        Epochs finished.
    position : int
        Steps taken in the current epoch.
    sum_learning_rate : list of float
        Each member's Σ learning rate over the steps so far: the time of the gradient flow it follows.
    failures : dict of int to str
        Members that diverged, with the step and the reason; their weights stay as they were before.

    Raises
    ------
    InputError
        If members differ in anything else, or their data cannot be drawn.
    """

    def __init__(self, members: Sequence[MemberConfig]) -> None:
        _check_shared(members)
        self.members = list(members)
        self.training, self.model = members[0].training, members[0].model
        self.task = members[0].build_task()
        self.datasets: list[Dataset] = [build_dataset(m) for m in members]
        self.parameters = build(members, self.task.vocab_size)
        self.optimizer = Optimizer(self.parameters, [member.training for member in members])
        self.generators = {
            name: [torch_stream(m.seed, stream) for m in members] for name, stream in _STREAMS.items()
        }
        self.evaluated = [
            evaluation_rows(d, self.training.evaluation_size, torch_stream(m.seed, "evaluation"))
            for m, d in zip(members, self.datasets, strict=True)
        ]
        self.n_train = len(self.datasets[0].train)
        self.steps_per_epoch = sequences_per_epoch(self.n_train, self.training.batch_size)
        self.epoch = self.position = 0
        self.sum_learning_rate = [0.0] * len(self.members)
        self.failures: dict[int, str] = {}
        self._tokens = torch.stack([d.tokens[d.train] for d in self.datasets])
        self._labels = torch.stack([d.labels[d.train] for d in self.datasets])
        self._begin_epoch()

    def run_epoch(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train to the end of the epoch, or until ``stop()``; return whether the end was reached."""
        size = self.n_train if self.training.batch_size == "full" else int(self.training.batch_size)
        while self.position < self.steps_per_epoch:
            if stop() or len(self.failures) == len(self.members):
                return False
            self.step(self._order[:, self.position * size : (self.position + 1) * size])
            self.position += 1
        self.epoch += 1
        self.position = 0
        self._begin_epoch()
        return True

    def step(self, rows: Tensor) -> None:
        """Take one step on rows of the training set, shape (n_members, batch)."""
        losses, gradients = self.gradients(rows)
        norms = gradient_norms(gradients)
        self._find_failures(losses, norms)
        step, per_epoch = self.optimizer.step, self.steps_per_epoch
        rates = [learning_rate(member.training, step, per_epoch) for member in self.members]
        alive = [m for m in range(len(self.members)) if m not in self.failures]
        self.optimizer.update(gradients, clip_divisors(norms, self.training.clip_norm), rates, alive)
        for m in alive:
            self.sum_learning_rate[m] += rates[m]

    def gradients(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return each member's mean loss, shape (n_members,), and the gradients of the losses."""
        member = torch.arange(len(self.members)).view(-1, 1)
        tokens, labels = self._tokens[member, rows], self._labels[member, rows]
        return losses_and_gradients(self.parameters, tokens, labels, self.model)

    def evaluate(self) -> list[dict[str, dict[str, float]]]:
        """Return each member's loss and accuracy on each data set."""
        return evaluate(self.parameters, self.datasets, self.evaluated, self.model)

    def arrays(self, member: int, names: Sequence[str] | None = None) -> Arrays:
        """Return one member's tensors, or some of them, as NumPy arrays."""
        names = list(self.parameters) if names is None else names
        return {name: self.parameters[name][member].numpy().copy() for name in names}

    def checkpoint(self, member: int) -> tuple[Arrays, dict[str, Any]]:
        """Return all that one member needs to go on as if it had never stopped."""
        arrays = self.arrays(member)
        for name, part in (("first", self.optimizer.first), ("second", self.optimizer.second)):
            arrays |= {f"{name}/{key}": value[member].numpy().copy() for key, value in part.items()}
        arrays |= {name: states[member].numpy().copy() for name, states in self._epoch_states.items()}
        state = {
            "epoch": self.epoch,
            "position": self.position,
            "step": self.optimizer.step,
            "sum_learning_rate": self.sum_learning_rate[member],
            "failure": self.failures.get(member),
        }
        return arrays, state

    @torch.no_grad()
    def restore(self, checkpoints: Sequence[tuple[Arrays, dict[str, Any]]]) -> None:
        """Take up every member where its checkpoint left off; all have to be at the same step."""
        for member, (arrays, own) in enumerate(checkpoints):
            for name, parameter in self.parameters.items():
                parameter[member].copy_(torch.from_numpy(arrays[name]))
                self.optimizer.first[name][member].copy_(torch.from_numpy(arrays[f"first/{name}"]))
                self.optimizer.second[name][member].copy_(torch.from_numpy(arrays[f"second/{name}"]))
            for name, generators in self.generators.items():
                generators[member].set_state(torch.from_numpy(arrays[name]))
            self.sum_learning_rate[member] = own["sum_learning_rate"]
            if own["failure"]:
                self.failures[member] = own["failure"]
        state = checkpoints[0][1]
        self.epoch, self.position = state["epoch"], state["position"]
        self.optimizer.step = state["step"]
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Draw the epoch's order, and its noise if that is fresh; remember the generators before."""
        self._epoch_states = {name: [g.get_state() for g in own] for name, own in self.generators.items()}
        self._order = torch.stack(
            [torch.randperm(self.n_train, generator=g) for g in self.generators["shuffle"]]
        )
        if self.members[0].data.fresh_noise:
            for own, dataset, g in zip(self._tokens, self.datasets, self.generators["noise"], strict=True):
                own.copy_(redraw_training(self.task, dataset, g))

    def _find_failures(self, losses: Tensor, norms: Tensor) -> None:
        finite = torch.isfinite(losses) & torch.isfinite(norms)
        if bool(finite.all()):
            return
        for member in torch.nonzero(~finite).flatten().tolist():
            self.failures.setdefault(
                member,
                f"diverged at step {self.optimizer.step}: "
                f"loss {float(losses[member]):.3g}, gradient norm {float(norms[member]):.3g}",
            )


def _check_shared(members: Sequence[MemberConfig]) -> None:
    """Refuse members that differ in what one trainer has only once."""
    tables = [member.model_dump(exclude=_OWN) for member in members]  # type: ignore[arg-type]
    for table in tables[1:]:
        for section, value in table.items():
            if value != tables[0][section]:
                raise InputError(
                    "members", section, "differs between members", "train those that differ in it apart"
                )
