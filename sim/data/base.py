"""What training asks of data, whatever they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from theory import InputError

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Dataset(ABC):
    """Sequences and the data sets they belong to: all that training asks of data."""

    tokens: Tensor
    """Shape (n, L), below 0 behind the end of a shorter sequence."""
    labels: Tensor
    """What comes behind the last token, shape (n,)."""
    train: Tensor
    """Row numbers of the sequences that are trained on, shape (n_train,)."""
    parts: dict[str, Tensor]
    """Row numbers of the data sets that are evaluated, by name."""

    @abstractmethod
    def statistics(self) -> tuple[Arrays, dict[str, str]]:
        """Return what a run folder keeps of the training data: arrays and text."""

    def redrawn(self, generator: torch.Generator) -> Tensor:
        """Return the training sequences with fresh noise, shape (n_train, L)."""
        raise InputError("data.fresh_noise", True, "these data have no noise", "leave it out")
