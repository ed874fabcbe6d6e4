"""How a run is trained, its schedule and its end; which optimisers there are.

Sources are as in ``sim.config.run``. A file of ``sim/optimizers`` is an optimiser: its settings, what it
remembers, its step and, where theory has one, its flow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from sim.config.section import MANY, Count, Registry, Section, Several, tagged
from theory import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from theory import AdamSettings, SGDSettings

    State = Mapping[str, Tensor]
    Rates = float | Tensor
    Tensors = list[Tensor]
    States = Mapping[str, list[Tensor]]

HALF = 0.5
"""The accuracy at which a data set counts as fitted: half-way between none and all of it."""
HELD_OUT = "rsn_test"
"""The data set that is never trained on."""
MOST_EVALUATIONS = 150_000
"""As many as fit into the largest record of a run that is read (``sim.runs.records``)."""
Epoch = Annotated[int, Field(ge=0, le=MANY)]


class Step(NamedTuple):
    """What a step of one member needs apart from its tensors; tensors of shape ()."""

    rate: float | Tensor
    number: Tensor
    """Of the step, from 1."""
    divisor: Tensor | None
    """What the gradients are divided by, if anything."""
    frozen: Tensor | None
    """1 where nothing is to move."""


class TrainingConfig(Section):
    """How a run is trained. Each optimiser is a subclass with settings of its own (``sim.optimizers``).

    ``TrainingConfig(optimizer=NAME, ...)`` makes the one with that name, by default AdamW.
    """

    title: ClassVar[str]
    """The optimiser's name in tables and figures."""

    epochs: Count = tagged("chosen", 100)
    """Passes over the training set; the paper has 1000, and 200 for GPT-2."""
    patience: float = tagged("chosen", 0.0, ge=0, le=100)
    """End the run once Σ learning rate has doubled this many times since a training set was last fitted
    (accuracy 0.5 at an evaluation); 0 trains for all epochs. Changes no weight before the end."""
    batch_size: Count | Literal["full"] = tagged("paper", 100)
    """Sequences per step, or "full"."""
    optimizer: str = tagged("paper", "adamw")
    """The update rule."""
    learning_rate: float = tagged("chosen", 1e-4, gt=0)
    """Step size; the presets paper, paper-emb-mlp and paper-gpt2 have the printed ones."""
    schedule: Literal["constant", "warmup-cosine"] = tagged("chosen", "constant")
    """warmup-cosine rises to warmup_factor × learning_rate and falls to final_learning_rate."""
    schedule_every: Literal["step", "epoch"] = tagged("chosen", "step")
    """Whether the schedule changes the rate at every step, or once per epoch."""
    schedule_epochs: Epoch = tagged("chosen", 0)
    """Length of the schedule, 0 for the run's; if longer than the run, only its start is used."""
    warmup_epochs: Epoch = tagged("chosen", 10)
    """Epochs of the rise."""
    warmup_factor: float = tagged("sibling", 10.0, gt=0)
    """Ratio of the peak learning rate to the first; experiments like the paper's use 3 to 25."""
    final_learning_rate: float = tagged("sibling", 1e-5, ge=0)
    """Learning rate at the end of the cosine."""
    weight_decay: float = tagged("sibling", 0.01, ge=0)
    """λ; decoupled for AdamW, L2 for SGD, where it is 0 unless set."""
    clip_norm: float = tagged("paper", 1.0, ge=0)
    """Largest gradient norm; 0 switches clipping off."""
    frozen: Several[str] = tagged("chosen", ())
    """Tensors that keep their initial values."""
    dtype: Literal["float32", "float64"] = tagged("chosen", "float32")
    """Arithmetic of the training."""
    evaluate_every: Count = tagged("chosen", 5)
    """Epochs between evaluations, which every snapshot has too; changes no weight."""
    evaluations_per_epoch: int = tagged("chosen", 1, ge=1, le=10_000)
    """Above 1, runs are also evaluated within epochs; needs evaluate_every = 1."""
    evaluation_size: Count = tagged("chosen", 20_000)
    """Largest number of sequences evaluated per data set."""
    snapshot_epochs: Several[Epoch] = tagged("chosen", (0, 10, 20, 30, 40, 50, 75, 100))
    """Epochs at which a run is evaluated and a snapshot kept; 0 and the last are always kept."""
    snapshot_tensors: Literal["embedding", "all"] = tagged("chosen", "embedding")
    """What snapshots after epoch 0 keep; figures of attention and other matrices need "all"."""
    checkpoint_every: Count = tagged("chosen", 50)
    """Epochs between checkpoints."""

    @model_validator(mode="after")
    def _makes_sense(self) -> TrainingConfig:
        length = self.schedule_epochs or self.epochs
        if self.schedule == "warmup-cosine" and self.warmup_epochs >= length:
            problem = f"leaves no room in {length} epochs"
            remedy = f"give fewer, or more {'schedule_' * bool(self.schedule_epochs)}epochs"
            raise InputError("warmup_epochs", self.warmup_epochs, problem, remedy)
        if self.evaluations_per_epoch > 1 and self.evaluate_every > 1:
            several = f"evaluations_per_epoch = {self.evaluations_per_epoch} needs 1"
            raise InputError("evaluate_every", self.evaluate_every, several, "set evaluate_every = 1")
        if (n := self.epochs // self.evaluate_every * self.evaluations_per_epoch) > MOST_EVALUATIONS:
            problem = f"makes {n} evaluations, and a run's record holds {MOST_EVALUATIONS}"
            raise InputError("evaluate_every", self.evaluate_every, problem, "evaluate less often")
        return self

    def rate_at(self, step: int, steps_per_epoch: int) -> float:
        """Return the learning rate of a step, counted from 0.

        "warmup-cosine" rises linearly from ``learning_rate`` to ``warmup_factor`` times that during the
        warm-up and falls along half a cosine to ``final_learning_rate``, which the last step (or epoch) has.
        """
        if self.schedule == "constant":
            return self.learning_rate
        by_step = self.schedule_every == "step"
        time, per_epoch = (step, steps_per_epoch) if by_step else (step // steps_per_epoch, 1)
        warmup, total = self.warmup_epochs * per_epoch, (self.schedule_epochs or self.epochs) * per_epoch
        peak, final = self.peak_learning_rate, self.final_learning_rate
        if time < warmup:
            return self.learning_rate + (peak - self.learning_rate) * time / warmup
        progress = min((time - warmup) / max(total - warmup - 1, 1), 1.0)
        return final + (peak - final) * (1 + math.cos(math.pi * progress)) / 2

    def next_mark(self, position: int, steps_per_epoch: int) -> int:
        """Return the position within the epoch at which a run evaluates next; the last is its end."""
        parts = self.evaluations_per_epoch
        marks = (round(part * steps_per_epoch / parts) for part in range(1, parts + 1))
        return next(mark for mark in marks if mark > position)

    @property
    def peak_learning_rate(self) -> float:
        """The highest learning rate of the schedule, unless that rises to less than it starts with."""
        return self.learning_rate * (1.0 if self.schedule == "constant" else self.warmup_factor)

    if not TYPE_CHECKING:

        def __new__(cls, /, **data: Any) -> TrainingConfig:  # noqa: D102
            return super().__new__(OPTIMIZERS.named_in(data) if cls is TrainingConfig else cls)

    def initial_state(self, weight: Tensor) -> dict[str, Tensor]:
        """Return what steps remember of a tensor, by the names that checkpoints use."""
        return {}

    def step(
        self, weight: Tensor, gradient: Tensor, state: State, rate: Rates, decay: Rates, number: Tensor
    ) -> tuple[Tensor, State]:
        """Return a tensor and its state after a step, as new tensors.

        ``rate`` and ``decay``, the learning rate and λ, are numbers, or tensors with one for each member;
        ``number`` counts steps from 1. Nothing may read a value of a tensor: on a GPU, steps are recorded.
        """
        raise NotImplementedError

    def step_in_place(self, weights: Tensors, gradients: Tensors, state: States, how: Step) -> None:
        """Take a step of one member; an optimiser for which torch has one kernel overrides this."""
        for index, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
            before = {name: tensors[index] for name, tensors in state.items()}
            clipped = gradient if how.divisor is None else gradient / how.divisor
            new, after = self.step(weight, clipped, before, how.rate, self.weight_decay, how.number)
            for old, moved in ((weight, new), *((before[name], after[name]) for name in before)):
                old.copy_(moved if how.frozen is None else moved.where(how.frozen == 0, old))

    def flow(self) -> AdamSettings | SGDSettings | None:
        """Return what theory's flows need to know of the optimiser; None if none of them follows it."""
        return None


OPTIMIZERS = Registry[TrainingConfig](TrainingConfig, "optimizer", "adamw", "sim.optimizers")
"""The optimisers that are registered so far."""


def register_optimizer(optimizer: type[TrainingConfig]) -> type[TrainingConfig]:
    """Add an optimiser, a subclass of TrainingConfig; a decorator.

    Raises
    ------
    InputError
        If it is no such subclass, or another class has the default name of its field ``optimizer``.
    """
    return OPTIMIZERS.add(optimizer)


def _read(training: Any) -> Any:
    """Return a table as the settings of its optimiser, without unchanged ones of others (saved before)."""
    if not isinstance(training, Mapping):
        return training
    kind = OPTIMIZERS.named_in(training)
    unchanged = [(k, f.default) for known in OPTIMIZERS.values() for k, f in known.model_fields.items()]
    return kind(**{k: v for k, v in training.items() if k in kind.model_fields or (k, v) not in unchanged})


Training = Annotated[SerializeAsAny[TrainingConfig], BeforeValidator(_read)]
"""The settings of any registered optimiser; a table that names none is AdamW's."""
