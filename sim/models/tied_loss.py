"""The mean cross entropy of a tied read-out, without ever holding all logits.

With many positions and many tokens, logits are the largest array of a step by far. Here they are made, and
turned into gradients, a block of positions at a time, which stays in cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_ENTRIES = 2**20
"""Logits in a block: 4 MiB in float32."""


def tied_cross_entropy(x: Tensor, table: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy in nats of the logits x tableᵀ: (n, d_m), (V, d_m), (n,) → ()."""
    found: Tensor = _TiedCrossEntropy.apply(x, table, targets)  # type: ignore[no-untyped-call]
    return found


def tied_gradients(x: Tensor, table: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return that loss and its gradients in x and the table, which the same block of logits gives."""
    size, n = max(_ENTRIES // len(table), 1), len(x)
    loss = x.new_zeros(())
    to_x, to_table = torch.empty_like(x), torch.zeros_like(table)
    for first in range(0, n, size):
        rows, wanted = x[first : first + size], targets[first : first + size, None]
        logits = rows @ table.T
        largest = logits.amax(dim=1, keepdim=True)
        reached = logits.gather(1, wanted) - largest
        slopes = logits.sub_(largest).exp_()
        total = slopes.sum(dim=1, keepdim=True)
        loss += (total.log() - reached).sum()
        slopes /= total
        slopes.scatter_add_(1, wanted, torch.full_like(total, -1.0))
        torch.mm(slopes, table, out=to_x[first : first + size])
        to_table.addmm_(slopes.T, rows)
    return loss / n, to_x.div_(n), to_table.div_(n)


class _TiedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, targets: Tensor) -> Tensor:
        """Return the loss; keep both gradients."""
        loss, *gradients = tied_gradients(x, table, targets)
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients in x and the table."""
        to_x, to_table = ctx.saved_tensors
        return to_x * gradients[0], to_table * gradients[0], None
