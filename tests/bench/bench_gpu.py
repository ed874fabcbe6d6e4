"""On a GPU: members together against the plain loop on the same card, and the time of Fig. 3A."""

import statistics
import timeit
from typing import Any

import torch

from sim import RunConfig, Trainer, load_preset
from tests.bench.bench_train import spread
from tests.bench.reference import PlainLoop

MEMBERS = (15, 30, 60)
FIG_3A_EPOCHS = 1000
DEVICE = "cuda"


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
