"""Batches are the sequences that the epoch's order names, however far ahead they are gathered."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sim.data import batches
from sim.data.batches import Batches


def _batches(members: int, n: int, size: int) -> Batches:
    """Return batches whose tokens say which member and row they are of."""
    rows = torch.arange(n)[None] + 1000 * torch.arange(members)[:, None]
    return Batches(torch.stack([rows, -rows], dim=-1), rows + 500, size)


@given(
    members=st.integers(1, 3),
    n=st.integers(1, 40),
    size=st.integers(1, 45),
    ahead=st.integers(1, 60),
    seed=st.integers(0, 99),
)
def test_an_epoch_goes_through_its_order(members: int, n: int, size: int, ahead: int, seed: int) -> None:
    """From any position on, backwards too, and with a last batch that holds fewer."""
    made = _batches(members, n, size)
    generator = torch.Generator().manual_seed(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_AHEAD", ahead)
        for _ in range(2):
            order = torch.stack([torch.randperm(n, generator=generator) for _ in range(members)])
            made.renew(order)
            positions = range(-(-n // size))
            for position in [*positions, *reversed(positions)]:
                tokens, labels = made.at(position)
                assert tokens.stride() == torch.empty(tokens.shape).stride()
                named = order[:, position * size : (position + 1) * size]
                expected = named + 1000 * torch.arange(members)[:, None]
                assert torch.equal(labels, expected + 500)
                assert torch.equal(tokens, torch.stack([expected, -expected], dim=-1))


def test_a_new_epoch_takes_up_new_noise() -> None:
    made = _batches(2, 8, 4)
    made.renew(torch.arange(8).expand(2, 8))
    made.at(0)
    made.tokens += 7
    made.renew(made.order.clone())
    assert torch.equal(made.at(1)[0], made.tokens[:, 4:8])
