"""The loop that benchmarks compare with trains the same models along the same losses."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sim import RunConfig, Trainer
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
