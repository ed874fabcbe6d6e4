"""The matrix products that a training step needs, and the fewest seconds they take on this machine."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch

from sim import matmul_route
from sim.config.model import EmbMLPConfig, ModelConfig, TransformerConfig
from sim.fast.matmul import Route


class Product(NamedTuple):
    """y = x W with x of shape (rows, inner) and W of shape (inner, outer)."""

    rows: int
    inner: int
    outer: int


def needed_products(model: ModelConfig, vocab_size: int, batch: int, length: int) -> list[Product]:
    """Return the products of a forward pass in which only the last position is read.

    The last layer's queries, output map, FFN and the read-out serve the last position alone; its keys
    and values, and every other layer, for all. Attention's own products, a hundredth of the rest, are left
    out, which makes the limit a little higher than it is.
    """
    if isinstance(model, EmbMLPConfig):
        return [Product(batch, model.d_m, model.d_f), Product(batch, model.d_f, vocab_size)]
    assert isinstance(model, TransformerConfig)
    d, heads, everywhere = model.d_m, model.n_heads * model.d_k, batch * length
    found = []
    for layer in range(model.n_layers):
        rows = batch if layer == model.n_layers - 1 else everywhere
        found += [Product(rows, d, heads), Product(everywhere, d, 2 * heads), Product(rows, heads, d)]
        found += [Product(rows, d, model.d_f), Product(rows, model.d_f, d)]
    return [*found, Product(batch, d, vocab_size)]


def operations(products: list[Product]) -> float:
    """Return the floating-point operations of the products and of both their derivatives."""
    return sum(3 * 2.0 * p.rows * p.inner * p.outer for p in products)


def fewest_seconds(products: list[Product], route: Route, repeats: int = 40) -> float:
    """Return the time of the products and both their derivatives, each at its own best, one after another.

    Each is repeated by itself with its factors in the cache, which no training step can have.
    """
    seconds = 0.0
    with matmul_route(route):
        for product in products:
            x, y = torch.randn(product.rows, product.inner), torch.randn(product.rows, product.outer)
            w = torch.randn(product.inner, product.outer)
            for a, b in ((x, w), (x.mT, y), (y, w.mT)):
                call = partial(torch.mm, a, b, out=a @ b)
                seconds += min(timeit.repeat(call, number=1, repeat=repeats))
    return seconds


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median of measurements, and their range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
