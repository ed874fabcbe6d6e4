"""What the tests of the flows share: small tasks, and the real model in torch with autograd, float64."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from scipy.integrate import solve_ivp

import theory
from theory import IDENTITY, TANH, Activation, AdamSettings, EmbMLPParameters, SGDSettings, Task
from theory.integrate.trajectory import Matrices

# Smooth and bounded (Assumption 1), with no derivative at 0 missing that an order could hide behind.
BENT = Activation("bent", lambda h: np.sin(h) + (1 - np.cos(h)) / 2, lambda h: np.cos(h) + np.sin(h) / 2)
TORCH_VALUE = {
    "identity": lambda h: h,
    "tanh": torch.tanh,
    "bent": lambda h: torch.sin(h) + (1 - torch.cos(h)) / 2,
}
ACTIVATIONS = (IDENTITY, TANH, BENT)


def small_task(length: int = 3) -> Task:
    """Five keys, two anchors to a mapping, and only one order of a pair held out."""
    return Task(
        keys=range(5, 10),
        reasoning_anchors=(3, 4),
        memory_anchors=(1, 2),
        n_anchors=2,
        length=length,
        vocab_size=20,
        held_out={(3, 4)},
    )


@dataclass(frozen=True)
class Example:
    """A task whose tables are drawn: its reduced population, and every sequence with its label."""

    task: Task
    population: theory.CountPopulation
    sequences: np.ndarray
    labels: np.ndarray
    trains: np.ndarray
    mapping: np.ndarray

    @classmethod
    def of(cls, task: Task, rng: np.random.Generator) -> Self:
        tables, everything = theory.draw_tables(task, rng), theory.enumerate_population(task)
        labels, population = theory.labels_of(task, everything, tables), theory.count_population(task, tables)
        return cls(task, population, everything.sequences, labels, ~everything.held_out, everything.mapping)

    @property
    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """The sequences that are not held out, and their labels."""
        return self.sequences[self.trains], self.labels[self.trains]


def small_example(length: int = 3) -> Example:
    return Example.of(small_task(length), np.random.default_rng(0))


def parameters(vocab_size: int = 20, d_m: int = 6, d_f: int = 9, scale: float = 0.3, seed: int = 0):
    rng = np.random.default_rng(seed)
    shapes = (vocab_size, d_m), (d_m, d_f), (d_f, vocab_size)
    return EmbMLPParameters(*(scale * rng.standard_normal(shape) for shape in shapes))


class TorchModel:
    """The Emb-MLP itself: embeddings summed over the sequence, one hidden layer, cross entropy."""

    def __init__(self, initial: EmbMLPParameters, activation: Activation) -> None:
        self.weights = [torch.tensor(m, dtype=torch.float64, requires_grad=True) for m in initial.matrices]
        self.value = TORCH_VALUE[activation.name]

    def logits(self, sequences: np.ndarray) -> torch.Tensor:
        W_emb, W1, W2 = self.weights
        return self.value(W_emb[torch.as_tensor(sequences)].sum(dim=1) @ W1) @ W2

    def loss(self, sequences: np.ndarray, labels: np.ndarray) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.logits(sequences), torch.as_tensor(labels))

    def descent(self, sequences: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
        """Return minus the gradient of the mean loss: the gradient flow's velocity."""
        return [-g.numpy() for g in torch.autograd.grad(self.loss(sequences, labels), self.weights)]


def by_torch(
    initial: EmbMLPParameters,
    activation: Activation,
    batches: Iterable[tuple[np.ndarray, np.ndarray]],
    settings: AdamSettings | SGDSettings,
    clip_norm: float = math.inf,
) -> Iterator[Matrices]:
    """Yield the weights at the start and after each of torch's own steps on a batch."""
    model = TorchModel(initial, activation)
    own = {"lr": settings.rate, "weight_decay": settings.weight_decay}
    optimizer: torch.optim.Optimizer = torch.optim.SGD(model.weights, **own)
    if isinstance(settings, AdamSettings):
        optimizer = torch.optim.AdamW(model.weights, **own, betas=settings.betas, eps=settings.epsilon)
    yield initial.matrices
    for sequences, labels in batches:
        optimizer.zero_grad()
        model.loss(sequences, labels).backward()
        torch.nn.utils.clip_grad_norm_(model.weights, clip_norm)
        optimizer.step()
        yield Matrices(*(weight.detach().numpy().copy() for weight in model.weights))


def followed(
    velocity: Callable[[Matrices], Iterable[np.ndarray]], initial: EmbMLPParameters, end: float
) -> Matrices:
    """Return the end of dθ/dt = velocity(θ) by SciPy's own driver."""

    def packed(_, vector):
        return np.concatenate([v.ravel() for v in velocity(initial.matrices.unpack(vector))])

    found = solve_ivp(packed, (0, end), initial.matrices.packed(), "LSODA", rtol=1e-10, atol=1e-12)
    return initial.matrices.unpack(found.y[:, -1])


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Return ‖a − b‖/‖b‖."""
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def slope(x: list[float], y: list[float]) -> float:
    """Return the least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
