"""Batches are the sequences that the epoch's order names, however far ahead they are gathered."""

from __future__ import annotations

import torch

from sim.data.base import Batches


def _batches(members: int, n: int, size: int) -> Batches:
    """Return batches whose tokens say which member and row they are of."""
    rows = torch.arange(n)[None] + 1000 * torch.arange(members)[:, None]
    return Batches(torch.stack([rows, -rows], dim=-1), rows + 500, size)


def test_a_new_epoch_takes_up_new_noise() -> None:
    made = _batches(2, 8, 4)
    made.renew(torch.arange(8).expand(2, 8))
    made.at(0)
    made.tokens += 7
    made.renew(made.order.clone())
    assert torch.equal(made.at(1)[0], made.tokens[:, 4:8])
