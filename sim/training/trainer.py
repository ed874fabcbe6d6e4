"""The training engine: members that differ in γ, seed, learning rate and weight decay step together.

``Trainer`` knows nothing of files or processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sim.config.run import MemberConfig, steps_in_epoch
from sim.config.training import Step
from sim.data.base import Batches, Dataset
from sim.data.dataset import build_dataset
from sim.errors import DamagedError
from sim.models.base import model_of
from sim.models.initial import build
from sim.models.layers import Parameters
from sim.runs.records import Arrays, CheckpointState, check_arrays
from sim.seeds import torch_stream
from sim.training.device_steps import DeviceLoop
from sim.training.execution import check_device
from sim.training.members import check_frozen, check_shared, check_size
from sim.training.optimizer import Found, Gradients, Optimizer, by_member, clip_divisor, torch_gradients
from theory.edge.checked import checked

_ORDER = "shuffle"
"""The state of the generator of an epoch's order, by its name in checkpoints."""
_CHUNK = {"cpu": 2000, "cuda": 100_000}
"""Rows evaluated at a time: few enough that activations stay in a CPU's cache."""


class Trainer:
    """Some members in training, one step at a time on a CPU, in recorded blocks on a GPU.

    Parameters
    ----------
    members : sequence of MemberConfig
        They share everything but γ, seed, learning rate and weight decay.
    device : str, optional
        "cpu", or a GPU by torch's name, which then holds data and state.

    Attributes
    ----------
    parameters : dict of Tensor, each of shape (n_members, ...)
    epoch, position : int
        Epochs finished, and steps taken in the current one.
    sum_learning_rate : list of float
        Each member's Σ learning rate over the steps so far: the time of the gradient flow it follows.
    failures : dict of int to str
        Members that diverged, with the step and the reason; their weights stay as they were before.
    batches : Batches
        The training sets, and their order in the epoch.
    compiled : callable or None
        Compiled gradients for whole batches (``sim.training.kernels``).

    Raises
    ------
    InputError
        If members differ in anything else, or their data cannot be drawn.
    """

    @checked
    def __init__(self, members: Sequence[MemberConfig], device: str = "cpu") -> None:
        check_shared(members)
        check_device(device)
        check_size(members[0], len(members))
        self.datasets: list[Dataset] = [build_dataset(m) for m in members]
        tokens, labels = (
            torch.stack([getattr(data, part)[data.train] for data in self.datasets]).to(device)
            for part in ("tokens", "labels")
        )
        self.members, self.device = list(members), torch.device(device)
        self.parameters = parameters = {name: p.to(device) for name, p in build(members).items()}
        self.training, self.model = members[0].training, members[0].model
        check_frozen(self.training.frozen, parameters)
        self.trained = [name for name in parameters if name not in self.training.frozen]
        moving = {name: parameters[name] for name in self.trained}
        self.optimizer = Optimizer(moving, [member.training for member in members])
        self.n_train, size = labels.shape[1], self.training.batch_size
        self.steps_per_epoch = steps_in_epoch(self.n_train, size)
        self.batch = self.n_train if size == "full" else min(int(size), self.n_train)
        """Sequences in a step; an epoch's last may hold fewer."""
        self.batches = Batches(tokens, labels, self.batch)
        self.position = 0
        self.sum_learning_rate = [0.0] * len(members)
        self.failures: dict[int, str] = {}
        self.compiled: Gradients | None = None
        self._torch_gradients = torch_gradients(self.model, self.trained)
        self.generators = [torch_stream(m.seed, "data/shuffle") for m in members]
        self.evaluated = list[dict[str, Tensor]]()
        for m, data in zip(members, self.datasets, strict=True):
            chosen, most = torch_stream(m.seed, "evaluation"), self.training.evaluation_size
            self.evaluated.append(dict(data.parts))
            for name, rows in data.parts.items():
                if len(rows) > most:  # Drawn once for the whole run.
                    self.evaluated[-1][name] = rows[torch.randperm(len(rows), generator=chosen)[:most]]
        self.epoch = 0
        self.loop = None if self.device.type == "cpu" else DeviceLoop(self)
        self.begin_epoch()

    def advance(self, until: int | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train to a position in the epoch, or its end, or until ``stop()``; return whether it got there."""
        until = self.steps_per_epoch if until is None else until
        while self.position < until:
            if stop() or len(self.failures) == len(self.members):
                return False
            if self.loop is not None:
                self.position += self.loop.take(until - self.position)
            else:
                self.step(*self.batches.at(self.position))
                self.position += 1
        if self.position == self.steps_per_epoch:
            self.epoch += 1
            self.position = 0
            self.begin_epoch()
        return True

    def step(self, tokens: Tensor, labels: Tensor) -> None:
        """Take one step on sequences (M, B, L) and their labels (M, B)."""
        losses, gradients, of_members = self.gradients(tokens, labels)
        norms = of_members.tolist()
        for m, (loss, norm) in enumerate(zip(losses.tolist(), norms, strict=True)):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self.note_failure(m, self.optimizer.step, f"loss {loss:.3g}, gradient norm {norm:.3g}")
        rates, largest = self.rates(self.optimizer.step), self.training.clip_norm
        number = torch.tensor(float(self.optimizer.step + 1))
        for m, of_member in enumerate(by_member(gradients)):
            if m not in self.failures:
                divisor = clip_divisor(norms[m], largest)
                clip = torch.tensor(divisor, dtype=of_member[0].dtype) if divisor > 1 else None
                self.optimizer.update(m, of_member, Step(rates[m], number, clip, None))
        self.optimizer.step += 1
        self.note_rates(rates)

    def gradients(self, tokens: Tensor, labels: Tensor) -> Found:
        """Return each member's mean loss (M,), its gradients in what is trained, and their norm (M,)."""
        whole = labels.shape[1] == self.batch
        take = self.compiled if self.compiled is not None and whole else self._torch_gradients
        return take(self.parameters, tokens, labels)

    def rates(self, step: int) -> list[float]:
        """Return each member's learning rate at a step."""
        return [member.training.rate_at(step, self.steps_per_epoch) for member in self.members]

    def note_rates(self, rates: Sequence[float]) -> None:
        """Add the learning rates of a step to the sums of the members that took it."""
        for m, rate in enumerate(rates):
            self.sum_learning_rate[m] += 0.0 if m in self.failures else rate

    def note_failure(self, member: int, step: int, what: str) -> None:
        """Mark a member by what is not finite at a step; the first mark stays."""
        self.failures.setdefault(member, f"diverged at step {step}: {what}")

    def check_weights(self) -> None:
        """Mark the members that the last step of all left without finite weights, as no later loss tells."""
        for m in range(len(self.members)):
            if not all(bool(p[m].isfinite().all()) for p in self.parameters.values()):
                self.note_failure(m, self.optimizer.step - 1, "it left weights that are not finite")

    def begin_epoch(self) -> None:
        """Draw the epoch's order; first remember the generators' states."""
        self._epoch_states = [generator.get_state() for generator in self.generators]
        self.batches.renew(torch.stack([torch.randperm(self.n_train, generator=g) for g in self.generators]))
        if self.loop is not None:
            self.loop.begin_epoch()

    @torch.no_grad()
    def evaluate(self) -> list[dict[str, dict[str, float]]]:
        """Return each member's mean cross entropy (nats) and accuracy on each of its data sets."""
        model, every_score = model_of(self.model), []
        chunk = max(_CHUNK[self.device.type] // model.rows(self.members[0].task.length), 1)
        for m, (data, parts) in enumerate(zip(self.datasets, self.evaluated, strict=True)):
            parameters = {name: p[m : m + 1] for name, p in self.parameters.items()}
            scores = {}
            for name, rows in parts.items():
                of_chunks = []
                for some in torch.split(rows, chunk):
                    tokens, labels = (part[some][None].to(self.device) for part in (data.tokens, data.labels))
                    of_chunks.append(model.scores(parameters, tokens, labels))
                loss, correct, n = (sum(values) for values in zip(*of_chunks, strict=True))
                scores[name] = {"loss": loss / n, "accuracy": correct / n}
            every_score.append(scores)
        return every_score

    def arrays(self, member: int, names: Sequence[str] | None = None) -> Arrays:
        """Return one member's tensors, or some of them, as NumPy arrays."""
        names = list(self.parameters) if names is None else names
        return {name: self.parameters[name][member].cpu().numpy().copy() for name in names}

    def _tensors(self, member: int) -> Parameters:
        """Return views of one member's weights and moments, by their names in checkpoints."""
        views = {name: weight[member] for name, weight in self.parameters.items()}
        for kind, moments in self.optimizer.state.items():
            views |= {f"{kind}/{name}": moment[member] for name, moment in moments.items()}
        return views

    def checkpoint(self, member: int, seconds: float = 0.0) -> tuple[Arrays, CheckpointState]:
        """Return all that one member, after ``seconds``, needs to continue as if it had never stopped."""
        arrays = {name: tensor.cpu().numpy().copy() for name, tensor in self._tensors(member).items()}
        arrays[_ORDER] = self._epoch_states[member].numpy().copy()
        state = CheckpointState(
            epoch=self.epoch,
            position=self.position,
            step=self.optimizer.step,
            sum_learning_rate=self.sum_learning_rate[member],
            failure=self.failures.get(member),
            seconds=seconds,
        )
        return arrays, state

    def check_fit(self, arrays: Arrays, state: CheckpointState) -> None:
        """Raise DamagedError for a checkpoint that no trainer of these members has written."""
        check_arrays(arrays, {name: tuple(tensor.shape) for name, tensor in self._tensors(0).items()})
        n = self.steps_per_epoch
        if state.position >= n or state.step != state.epoch * n + state.position:
            raise DamagedError(
                f"is at step {state.step}, and at position {state.position} of an epoch of {n}"
            )
        try:
            torch.Generator().set_state(torch.from_numpy(arrays[_ORDER]))
        except (LookupError, RuntimeError, TypeError):
            raise DamagedError(f"has no state of the generator {_ORDER}") from None

    @torch.no_grad()
    def restore(self, checkpoints: Sequence[tuple[Arrays, CheckpointState]]) -> None:
        """Continue every member from its checkpoint; all have to be at the same step."""
        for member, (arrays, state) in enumerate(checkpoints):
            for name, tensor in self._tensors(member).items():
                tensor.copy_(torch.from_numpy(arrays[name]))
            self.generators[member].set_state(torch.from_numpy(arrays[_ORDER]))
            self.sum_learning_rate[member] = state.sum_learning_rate
        self.failures = {m: state.failure for m, (_, state) in enumerate(checkpoints) if state.failure}
        state = checkpoints[0][1]
        self.epoch, self.position, self.optimizer.step = state.epoch, state.position, state.step
        self.begin_epoch()
