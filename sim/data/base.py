"""What training needs of any data: sequences in data sets, taken batch by batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

Arrays = dict[str, npt.NDArray[Any]]
_AHEAD = 6400
"""Sequences gathered at once: indexing many batches together costs little more than indexing one."""
Batch = tuple[Tensor, Tensor]
"""Tokens (M, B, L) and labels (M, B)."""


@dataclass(frozen=True)
class Dataset(ABC):
    """Sequences and the data sets they belong to: all that training needs of data."""

    tokens: Tensor
    """Shape (n, L); negative after the end of a shorter sequence."""
    labels: Tensor
    """The token after the last one, shape (n,)."""
    train: Tensor
    """Row numbers of the sequences that are trained on, shape (n_train,)."""
    parts: dict[str, Tensor]
    """Row numbers of the data sets that are evaluated, by name."""

    @abstractmethod
    def statistics(self) -> tuple[Arrays, dict[str, str]]:
        """Return the arrays and text that a run folder keeps of the training data."""


class Batches:
    """Each member's training sequences, (M, n, L), and labels, (M, n), in the order of an epoch.

    ``size`` is the number of sequences in a batch; the last of an epoch may hold fewer. ``order``, (M, n), is
    updated in place, since recorded steps hold its address.
    """

    def __init__(self, tokens: Tensor, labels: Tensor, size: int) -> None:
        self.tokens, self.labels, self.size = tokens, labels, size
        self.order = torch.zeros_like(labels)
        members, n = labels.shape
        self._first_rows = n * torch.arange(members, device=labels.device).view(-1, 1)
        self._ahead: dict[int, Batch] = {}

    def renew(self, order: Tensor) -> None:
        """Begin an epoch in this order."""
        self.order.copy_(order)
        self._ahead = {}

    def rows(self, position: int, count: int = 1) -> Tensor:
        """Return the rows of ``count`` batches from a position in the epoch on, shape (M, count · size)."""
        return self.order[:, position * self.size : (position + count) * self.size]

    def of(self, rows: Tensor) -> Batch:
        """Return the sequences in the given rows of each member: (..., M, B) → (..., M, B, L)."""
        flat = (rows + self._first_rows).flatten()
        tokens = self.tokens.flatten(0, 1).index_select(0, flat)
        labels = self.labels.flatten().index_select(0, flat)
        return tokens.view(*rows.shape, -1), labels.view(rows.shape)

    def at(self, position: int) -> Batch:
        """Return the batch at a position in the epoch."""
        whole = self.order.shape[1] // self.size
        if position >= whole:
            return self.of(self.rows(position))
        if position not in self._ahead:
            count = min(max(_AHEAD // (self.size * len(self.order)), 1), whole - position)
            # Batch by batch, so that each has the memory layout of one gathered by itself.
            rows = self.rows(position, count).view(-1, count, self.size).transpose(0, 1)
            tokens, labels = self.of(rows)
            self._ahead = dict(enumerate(zip(tokens.unbind(), labels.unbind(), strict=True), start=position))
        return self._ahead[position]
