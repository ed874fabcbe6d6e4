"""Small Transformers of the engine with every matrix at one scale, and their gradients by autograd."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
import torch

from sim.config.model import TransformerConfig
from sim.models.transformer import transformer
from theory import Task, draw_tables, enumerate_population, labels_of

FloatArray = npt.NDArray[np.float64]
Tensors = dict[str, torch.Tensor]
WIDTH, D = 12, 22
SHAPES = {"W_Q": (WIDTH, 3), "W_K": (WIDTH, 3), "W_V": (WIDTH, 3), "W_O": (3, WIDTH)}
SHAPES |= {"W_in": (WIDTH, 7), "W_out": (7, WIDTH)}
SCALES = np.array([1e-3, 3e-3, 1e-2])


@functools.cache
def population() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    task = Task(
        keys=range(6, 10), reasoning_anchors=[3, 4, 5], memory_anchors=[1, 2], n_anchors=2, length=4,
        vocab_size=D,
    )  # fmt: skip
    found = enumerate_population(task)
    return found.sequences, labels_of(task, found, draw_tables(task, np.random.default_rng(0)))


def config(norm: str, *, epsilon: float = 0.0, n_layers: int = 1) -> TransformerConfig:
    return TransformerConfig(
        n_layers=n_layers, d_m=WIDTH, d_f=7, d_k=3, norm=norm, norm_epsilon=epsilon, activation="tanh"
    )


def drawn(n_layers: int, scale: float, readout: float | None = None) -> Tensors:
    """Every matrix at one scale, the read-out at another if one is given; always the same directions."""
    rng = np.random.default_rng(3)
    shapes = {"W_E": (D, WIDTH), "W_pos": (4, WIDTH), "W_U": (WIDTH, D)}
    shapes |= {f"{layer}.{name}": shape for layer in range(n_layers) for name, shape in SHAPES.items()}
    found = {name: torch.tensor(scale * rng.standard_normal((1, *s))) for name, s in shapes.items()}
    if readout is not None:
        found["W_U"] *= readout / scale
    norms = [f"{layer}.ln{k}" for layer in range(n_layers) for k in (1, 2)]
    found |= {f"{name}.w": torch.ones(1, WIDTH, dtype=torch.float64) for name in [*norms, "ln_final"]}
    return found


def flow(p: Tensors, model: TransformerConfig) -> dict[str, FloatArray]:
    """Return minus the gradient of the mean loss of the whole population, by autograd."""
    sequences, labels = map(torch.from_numpy, population())
    own = {n: t.detach().requires_grad_() for n, t in p.items()}
    loss = torch.nn.functional.cross_entropy(transformer(own, sequences[None], model)[0], labels)
    gradients = torch.autograd.grad(loss, list(own.values()), allow_unused=True)
    return {n: -g[0].numpy() for n, g in zip(own, gradients, strict=True) if g is not None}
