"""The Transformer of Im et al. (arXiv 2601.19208), trained plainly: the reference for its leading terms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from theory import InputError
from theory.edge.arrays import ArrayLike, Integer
from theory.edge.checked import Positive, Size, checked
from theory.edge.checks import check_tokens
from theory.edge.errors import check_memory


@dataclass(frozen=True)
class AssociationModel:
    """The model's matrices, in float64."""

    output: Tensor
    """W_O, shape (V, V)."""
    value: Tensor
    """V_l, shape (n_layers, V, V)."""
    attention: Tensor
    """W_l, shape (n_layers, V, V)."""
    position: Tensor
    """p_l, shape (n_layers, T): entry r is added to the logit of a position r places back."""

    def loss(self, tokens: Tensor) -> Tensor:
        """Return the next-token loss averaged over all positions, tokens of shape (n, T + 1)."""
        length = tokens.shape[1] - 1
        h = torch.nn.functional.one_hot(tokens[:, :-1], len(self.output)).to(torch.float64)
        back = torch.arange(length)[:, None] - torch.arange(length)
        for V, W, p in zip(self.value, self.attention, self.position, strict=True):
            logits = h @ W @ h.transpose(1, 2) + p[back.clamp(min=0)]
            weights = torch.softmax(logits.masked_fill(back < 0, -torch.inf), dim=-1)
            h = h + weights @ h @ V
        return torch.nn.functional.cross_entropy((h @ self.output).flatten(0, 1), tokens[:, 1:].flatten())


@checked
def train_associations(
    sequences: Integer[ArrayLike, "n L"], vocab_size: Size, *, n_layers: Size = 1, steps: Size, rate: Positive
) -> AssociationModel:
    """Train from zero by full-batch gradient descent.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T + 1)
        Sequences of one length, at least 2.
    vocab_size : int
    n_layers : int, optional
    steps : int
    rate : float
        η.
    """
    shape = np.shape(sequences)
    if shape[1] < 2:
        raise InputError("sequences", shape, "no token has a successor", "give (n, T + 1), T >= 1")
    needed = 16 * (n_layers + 1) * vocab_size * (vocab_size + math.prod(shape))
    check_memory("vocab_size", vocab_size, needed, "training", "give fewer words or sequences")
    tokens = torch.from_numpy(check_tokens("sequences", np.ravel(sequences), vocab_size)).reshape(shape)
    square, stack = (vocab_size, vocab_size), (n_layers, vocab_size, vocab_size)
    shapes = square, stack, stack, (n_layers, shape[1] - 1)
    tensors = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    model = AssociationModel(*tensors)
    for _ in range(steps):
        gradients = torch.autograd.grad(model.loss(tokens), tensors)
        with torch.no_grad():
            for tensor, gradient in zip(tensors, gradients, strict=True):
                tensor -= rate * gradient
    return model
