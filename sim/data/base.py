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
    """Sequences and the data sets they belong to: all that training asks of data.

    Attributes
    ----------
    tokens : Tensor of int64, shape (n, L)
        Below 0 behind the end of a shorter sequence.
    labels : Tensor of int64, shape (n,)
        What comes behind the last token.
    train : Tensor of int64, shape (n_train,)
        Row numbers of the sequences that are trained on.
    parts : dict of Tensor
        Row numbers of the data sets that are evaluated, by name.
    """

    tokens: Tensor
    labels: Tensor
    train: Tensor
    parts: dict[str, Tensor]

    @abstractmethod
    def statistics(self) -> tuple[Arrays, dict[str, str]]:
        """Return what a run folder keeps of the training data: arrays and text."""

    def redrawn(self, generator: torch.Generator) -> Tensor:
        """Return the training sequences with fresh noise, shape (n_train, L)."""
        raise InputError("data.fresh_noise", True, "these data have no noise", "leave it out")
