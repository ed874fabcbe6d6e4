"""The loop that benchmarks compare with trains the same models along the same losses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sim import RunConfig, Trainer
from tests.bench.products import engine_products, needed_products, operations
from tests.bench.reference import PlainLoop

MODELS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"task": "emb-mlp", "model": {"kind": "emb-mlp"}},
    **{
        norm: {
            "task": "paper",
            "model": {"kind": "transformer", "norm": norm, "d_m": 40, "d_f": 60, "d_k": 16},
            "data": {"source": "draw", "n_sequences": 2000},
        }
        for norm in ("pre", "post", "none")
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_the_plain_loop_and_the_engine_go_through_the_same_losses(name: str) -> None:
    """The same batches in the same order; both in float32, so equal to the rounding of some sums."""
    config = RunConfig(**MODELS[name], init_rates=(0.4,), training={"learning_rate": 1e-3})
    trainer = Trainer(config.members())
    count = 15
    plain = PlainLoop(trainer).steps(count)
    ours = []
    for position in range(count):
        ours.append(float(trainer.gradients(*trainer.batches.at(position))[0]))
        trainer.advance(position + 1)
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(plain), rtol=3e-5, atol=0)
    assert abs(plain[-1] - plain[0]) > 1e-3


def test_the_needed_products_are_those_of_a_pruned_step() -> None:
    """Counted by hand for the paper's Transformer: 280 million multiplications forward, thrice in all."""
    config = RunConfig(model={"kind": "transformer"}, task="paper", data={"source": "draw"})
    products = needed_products(config.model, 200, 100, 9)
    first = 900 * (4 * 200 * 64 + 2 * 200 * 512)
    last = 900 * 2 * 200 * 64 + 100 * (2 * 200 * 64 + 2 * 200 * 512)
    assert operations(products) == 6 * (first + last + 100 * 200 * 200)


class _Operations(TorchDispatchMode):
    """Counts the operations of one member's products; those of attention have a sequence or more each."""

    count = 0.0

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if call is torch.ops.aten.bmm.default and len(args[0]) == 1:
            self.count += 2.0 * args[0].numel() * args[1].shape[-1]
        return call(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", MODELS)
def test_the_engines_own_products_are_those_it_takes(name: str) -> None:
    trainer = Trainer(RunConfig(**MODELS[name]).members())
    with _Operations() as taken:
        trainer.step(*trainer.batches.at(0))
    products = engine_products(trainer.model, trainer.task.vocab_size, 100, trainer.task.length)
    assert taken.count == operations(products)
