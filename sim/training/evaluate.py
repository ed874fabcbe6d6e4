"""Losses and accuracies on the data sets of the paper, without touching the training."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import ModelConfig
from sim.data.dataset import Dataset
from sim.models.base import model_of
from sim.models.layers import Parameters

_CHUNK = 2000
"""Rows at a time: few enough that activations stay in cache."""


def evaluation_rows(dataset: Dataset, most: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Return the rows to evaluate of each data set: all, or ``most`` drawn once for the whole run."""
    return {
        name: rows if len(rows) <= most else rows[torch.randperm(len(rows), generator=generator)[:most]]
        for name, rows in dataset.parts.items()
    }


@torch.no_grad()
def evaluate(
    parameters: Parameters,
    datasets: list[Dataset],
    rows: list[dict[str, Tensor]],
    model: ModelConfig,
) -> list[dict[str, dict[str, float]]]:
    """Return each member's mean cross entropy (nats) and accuracy on each of its data sets."""
    return [
        {
            name: _scores({n: p[m : m + 1] for n, p in parameters.items()}, data, part, model)
            for name, part in member_rows.items()
        }
        for m, (data, member_rows) in enumerate(zip(datasets, rows, strict=True))
    ]


def _scores(parameters: Parameters, data: Dataset, rows: Tensor, model: ModelConfig) -> dict[str, float]:
    own, found = model_of(model), []
    device = next(iter(parameters.values())).device
    for part in torch.split(rows, max(_CHUNK // own.rows(data.tokens.shape[1]), 1)):
        tokens, labels = data.tokens[part].unsqueeze(0).to(device), data.labels[part].unsqueeze(0).to(device)
        found.append(own.scores(parameters, tokens, labels))
    loss, correct, n = (sum(values) for values in zip(*found, strict=True))
    return {"loss": loss / n, "accuracy": correct / n}
