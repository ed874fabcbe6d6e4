"""A small language model in float64, written plainly: what the ladder for corpora is checked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


@dataclass
class PlainLanguageModel:
    """One layer with attention and a feed-forward part, norms in front of all or nowhere."""

    E: Tensor
    U: Tensor | None
    Q: Tensor
    K: Tensor
    V: Tensor
    O: Tensor  # noqa: E741
    W_in: Tensor
    W_out: Tensor
    activation: Activation = torch.tanh
    norm_epsilon: float | None = None

    @classmethod
    def draw(cls, vocab_size: int, width: int, *, tied: bool, embedding: float, others: float, seed: int = 0):
        """Draw all matrices at two scales."""
        g = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=g, dtype=torch.float64) * shape[0] ** -0.5

        E, U = width**0.5 * normal(vocab_size, width), normal(width, vocab_size)
        rest = [others * normal(width, width) for _ in range(6)]
        return cls(embedding * E, None if tied else embedding * U, *rest)

    def trainable(self) -> list[Tensor]:
        """Return embedding and read-out with gradients switched on."""
        found = [self.E] if self.U is None else [self.E, self.U]
        return [tensor.requires_grad_() for tensor in found]

    def norm(self, x: Tensor) -> Tensor:
        if self.norm_epsilon is None:
            return x
        return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=self.norm_epsilon)

    def logits(self, tokens: Tensor) -> Tensor:
        x = self.E[tokens]
        h = self.norm(x)
        scores = (h @ self.Q) @ (h @ self.K).T / len(self.Q) ** 0.5
        hidden = torch.ones(len(x), len(x)).triu(1).bool()
        x = x + torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ h @ self.V @ self.O
        x = x + self.activation(self.norm(x) @ self.W_in) @ self.W_out
        return self.norm(x) @ (self.E.T if self.U is None else self.U)

    def loss(self, corpus: Sequence[Sequence[int]]) -> Tensor:
        """Return the next-token loss averaged over all positions of all sequences."""
        terms = [
            torch.nn.functional.cross_entropy(
                self.logits(torch.tensor(s[:-1])), torch.tensor(s[1:]), reduction="sum"
            )
            for s in corpus
            if len(s) > 1
        ]
        return torch.stack(terms).sum() / sum(len(s) - 1 for s in corpus)
