"""Steps per second of the engine, of a plain loop, and of the machine's own matrix products; and on a GPU.

On the CPU each is measured with one process to a core, all at work at the same time: what a user has who
trains several runs. Rounds are interleaved, so that a drift of the machine's speed meets all alike.
"""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import lru_cache, partial
from multiprocessing import get_context
from operator import truediv
from typing import Any, NamedTuple

import torch

from sim import MemberConfig, RunConfig, Trainer, load_preset
from sim.config.model import EmbMLPConfig, ModelConfig, TransformerConfig
from sim.config.run import Kernels
from sim.fast.matmul import keep_freed_memory, matmul_route
from sim.runs.records import KernelReport, Route
from sim.training.execution import process_count
from sim.training.kernels import choose_kernels, member_route
from tests.bench.reference import PlainLoop

MODELS: dict[str, dict[str, Any]] = {
    "Transformer, pre-norm": {"model": {"kind": "transformer", "norm": "pre"}, "task": "paper"},
    "Transformer, post-norm": {"model": {"kind": "transformer", "norm": "post"}, "task": "paper"},
    "Emb-MLP": {"task": "emb-mlp"},
}
"""The paper's sizes: d_m 200, d_f 512, d_k 64, L 9 (the Emb-MLP's 3), batch 100, AdamW."""


def bench_train(rounds: int = 5) -> dict[str, Any]:
    """Return for every model the rates in steps per second, medians with their range, and the ratios."""
    workers = process_count()
    found: dict[str, Any] = {"processes": workers, "threads_per_process": 1, "rounds": rounds}
    for name in MODELS:
        # Pools of their own: the plain loop shall have neither the engine's memory nor its settings.
        with _pool(workers) as ours, _pool(workers) as plain:
            found[name] = _bench_model(ours, plain, name, workers, rounds)
    return found


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"))


def _bench_model(
    ours: ProcessPoolExecutor, plain: ProcessPoolExecutor, name: str, workers: int, rounds: int
) -> dict[str, Any]:
    steps = 150 if "Transformer" in name else 1500
    work: dict[str, tuple[ProcessPoolExecutor, Callable[[str, int], float]]] = {
        "plain loop": (plain, plain_rate),
        "torch": (ours, engine_rate),
        "compiled": (ours, partial(engine_rate, kernels="compiled")),
        "limit": (ours, limit_rate),
    }
    for pool, call in work.values():  # Everything built and warm, in every process.
        list(pool.map(call, [name] * workers, [9] * workers))
    rates: dict[str, list[float]] = {kind: [] for kind in work}
    for _ in range(rounds):
        for kind, (pool, call) in work.items():
            rates[kind].append(sum(pool.map(call, [name] * workers, [steps] * workers)))
    ratios = {
        f"{kernels} to {other}": spread(list(map(truediv, rates[kernels], rates[other])))
        for kernels in ("torch", "compiled")
        for other in ("plain loop", "limit")
    }
    return {
        "steps_per_second": {kind: spread(values) for kind, values in rates.items()},
        "ratios": ratios,
        "gigaflop_per_step": operations(_products(name)) / 1e9,
        "route": ours.submit(route_of, name).result(),
        "kernels": ours.submit(kernels_of, name).result(),
    }


@lru_cache
def _member(name: str) -> MemberConfig:
    data = {"source": "draw", "n_sequences": 20_000} if "Transformer" in name else {}
    return RunConfig(**MODELS[name], data=data, init_rates=(0.8,)).members()[0]  # type: ignore[arg-type]


def _products(name: str) -> list[Product]:
    task = _member(name).build_task()
    return needed_products(_member(name).model, task.vocab_size, 100, task.length)


@lru_cache
def _trainer(name: str, kernels: Kernels) -> tuple[Trainer, KernelReport]:
    torch.set_num_threads(1)
    keep_freed_memory()
    trainer = Trainer([_member(name)])
    with matmul_route(route_of(name)["route"]):
        return trainer, choose_kernels(trainer, kernels)


@lru_cache
def _plain(name: str) -> PlainLoop:
    torch.set_num_threads(1)
    return PlainLoop(Trainer([_member(name)]))


@lru_cache
def route_of(name: str) -> dict[str, Any]:
    """Return which product was chosen in this process, with its measured speed and error."""
    return asdict(member_route(_member(name)))


def kernels_of(name: str) -> dict[str, Any]:
    """Return what compiling took in this process, and how far its numbers are from torch's."""
    return asdict(_trainer(name, "compiled")[1])


def engine_rate(name: str, steps: int, kernels: Kernels = "torch") -> float:
    """Return the engine's steps per second in this process."""
    trainer, _ = _trainer(name, kernels)
    with matmul_route(route_of(name)["route"]):
        start, done = time.perf_counter(), 0
        while done < steps:
            most = min(steps - done, trainer.steps_per_epoch - trainer.position)
            trainer.advance(trainer.position + most)
            done += most
        return steps / (time.perf_counter() - start)


def plain_rate(name: str, steps: int) -> float:
    """Return the plain loop's steps per second in this process; a third of the steps is enough for it."""
    loop, steps = _plain(name), max(steps // 3, 1)
    start = time.perf_counter()
    loop.steps(steps)
    return steps / (time.perf_counter() - start)


def limit_rate(name: str, steps: int) -> float:
    """Return the steps per second if only a pruned step's products took time, each at its own best."""
    _trainer(name, "torch")
    repeats = max(min(steps // 4, 60), 3)
    return 1 / fewest_seconds(_products(name), route_of(name)["route"], repeats)


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


MEMBERS = (15, 30, 60)
FIG_3A_EPOCHS = 1000
DEVICE = "cuda"
"""Of the benchmark on a GPU: how many runs train together, how long the paper's figure takes, and where."""


def bench_gpu(rounds: int = 5) -> dict[str, Any]:
    """Return member-steps per second of both, their ratio, and what the paper's Fig. 3A takes in minutes."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no GPU"}
    counts = {f"{count} members": _bench_members(count, rounds) for count in MEMBERS}
    return {"device": torch.cuda.get_device_name(DEVICE), **counts}


def _bench_members(count: int, rounds: int) -> dict[str, Any]:
    own = {"init_rates": (0.3, 0.5, 0.8), "seeds": tuple(range(count // 3))}
    trainer = Trainer(RunConfig(**load_preset("paper") | own).members(), DEVICE)
    trainer.advance(100)  # Recorded and warm.
    loop = PlainLoop(trainer, DEVICE)
    loop.steps(20)
    plain = [100 / each for each in timeit.repeat(lambda: loop.steps(100), number=1, repeat=rounds)]
    times = timeit.repeat(lambda: _advance(trainer, 400), number=1, repeat=rounds)
    ours = [400 * count / each for each in times]
    steps = FIG_3A_EPOCHS * trainer.steps_per_epoch * 3
    return {
        "plain loop": spread(plain),
        "engine": spread(ours),
        "engine_over_plain_loop": statistics.median(ours) / statistics.median(plain),
        "peak_memory_mib": torch.cuda.max_memory_allocated(DEVICE) / 2**20,
        "minutes_of_fig_3a": steps / statistics.median(ours) / 60,
    }


def _advance(trainer: Trainer, steps: int) -> None:
    """Take steps within the epoch, from its start again where they would not fit."""
    if trainer.position + steps > trainer.steps_per_epoch:
        trainer.advance()
    trainer.advance(trainer.position + steps)
    torch.cuda.synchronize()
