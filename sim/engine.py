"""The training engine: members that differ in γ and seed take their steps together.

``Trainer`` holds the whole state of some members and knows nothing of files or processes; one step is
``Trainer.step``. Three sources of randomness are kept apart: initialisation (drawn once in
``sim.models.build``), the order of the data (one generator for each member, its state at the start of
the epoch kept for checkpoints), and the choice of what to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sim.config import MemberConfig, sequences_per_epoch
from sim.data import Dataset, build_dataset
from sim.evaluate import evaluate, evaluation_rows
from sim.models import build, emb_mlp
from sim.optim import OptimizerState, clip, learning_rate, update
from sim.run import Arrays
from sim.seeds import torch_stream


class Trainer:
    """The state of some members in training.

    Parameters
    ----------
    members : sequence of MemberConfig
        They share everything but γ and seed.

    Attributes
    ----------
    parameters : dict of Tensor, each of shape (n_members, ...)
    epoch : int
        Epochs finished.
    position : int
        Steps taken in the current epoch.
    sum_learning_rate : float
        Σ learning rate over the steps so far: the time of the gradient flow that they follow.
    failures : dict of int to str
        Members that diverged, with the step and the reason; their weights stay as they were before.
    """

    def __init__(self, members: Sequence[MemberConfig]) -> None:
        self.members = list(members)
        self.training = members[0].training
        self.task = members[0].build_task()
        self.datasets: list[Dataset] = [build_dataset(m) for m in members]
        self.parameters = build(members, self.task.vocab_size)
        for parameter in self.parameters.values():
            parameter.requires_grad_(True)
        self.optimizer = OptimizerState.zeros(self.parameters)
        self.shuffles = [torch_stream(m.seed, "data/shuffle") for m in members]
        self.evaluated = [
            evaluation_rows(d, self.training.evaluation_size, torch_stream(m.seed, "evaluation"))
            for m, d in zip(members, self.datasets, strict=True)
        ]
        self.n_train = len(self.datasets[0].train)
        self.steps_per_epoch = sequences_per_epoch(self.n_train, self.training.batch_size)
        self.epoch = self.position = 0
        self.sum_learning_rate = 0.0
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
        norms = clip(gradients, self.training.clip_norm)
        self._find_failures(losses, norms)
        rate = learning_rate(self.training, self.optimizer.step, self.steps_per_epoch)
        alive = [m not in self.failures for m in range(len(self.members))]
        update(self.parameters, gradients, self.optimizer, self.training, rate, alive)
        self.sum_learning_rate += rate

    def gradients(self, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return each member's mean loss, shape (n_members,), and the gradients of the losses."""
        member = torch.arange(len(self.members)).view(-1, 1)
        tokens, labels = self._tokens[member, rows], self._labels[member, rows]
        logits = emb_mlp(self.parameters, tokens, self.members[0].model.activation)
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        losses = each.view(len(self.members), -1).mean(dim=1)
        found = torch.autograd.grad(losses.sum(), list(self.parameters.values()))
        return losses.detach(), dict(zip(self.parameters, found, strict=True))

    def evaluate(self) -> list[dict[str, dict[str, float]]]:
        """Return each member's loss and accuracy on each data set."""
        return evaluate(self.parameters, self.datasets, self.evaluated, self.members[0].model.activation)

    def arrays(self, member: int, names: Sequence[str] = ("W_emb", "W1", "W2")) -> Arrays:
        """Return one member's matrices as NumPy arrays."""
        return {name: self.parameters[name][member].detach().numpy().copy() for name in names}

    def checkpoint(self, member: int) -> tuple[Arrays, dict[str, Any]]:
        """Return all that one member needs to go on as if it had never stopped."""
        arrays = self.arrays(member)
        for name, part in (("first", self.optimizer.first), ("second", self.optimizer.second)):
            arrays |= {f"{name}/{key}": value[member].numpy().copy() for key, value in part.items()}
        arrays["shuffle"] = self._epoch_states[member].numpy().copy()
        state = {
            "epoch": self.epoch,
            "position": self.position,
            "step": self.optimizer.step,
            "sum_learning_rate": self.sum_learning_rate,
        }
        return arrays, state

    @torch.no_grad()
    def restore(self, checkpoints: Sequence[tuple[Arrays, dict[str, Any]]]) -> None:
        """Take up every member where its checkpoint left off; all have to be at the same step."""
        state = checkpoints[0][1]
        for member, (arrays, _) in enumerate(checkpoints):
            for name, parameter in self.parameters.items():
                parameter[member].copy_(torch.from_numpy(arrays[name]))
                self.optimizer.first[name][member].copy_(torch.from_numpy(arrays[f"first/{name}"]))
                self.optimizer.second[name][member].copy_(torch.from_numpy(arrays[f"second/{name}"]))
            self.shuffles[member].set_state(torch.from_numpy(arrays["shuffle"]))
        self.epoch, self.position = state["epoch"], state["position"]
        self.optimizer.step = state["step"]
        self.sum_learning_rate = state["sum_learning_rate"]
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Draw the epoch's order, and remember the generators' states from before."""
        self._epoch_states = [g.get_state() for g in self.shuffles]
        self._order = torch.stack([torch.randperm(self.n_train, generator=g) for g in self.shuffles])

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
