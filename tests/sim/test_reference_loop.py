"""The loop that benchmarks compare with trains the same model to the same loss."""

from __future__ import annotations

import numpy as np

from sim import RunConfig, Trainer
from tests.bench.reference import reference_losses


def test_the_plain_loop_follows_the_same_loss_curve() -> None:
    """Mean loss of steps 150–199 within 4 standard errors of their difference; the batches differ."""
    member = RunConfig(training={"learning_rate": 1e-3}).members()[0]  # type: ignore[arg-type]
    plain = reference_losses(member, 200)
    trainer = Trainer([member])
    engine = []
    for step in range(200):
        losses, _ = trainer.gradients(trainer.order[:, (step % 198) * 100 : (step % 198 + 1) * 100])
        engine.append(float(losses[0]))
        trainer.step(trainer.order[:, (step % 198) * 100 : (step % 198 + 1) * 100])
    a, b = np.array(plain[150:]), np.array(engine[150:])
    error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 50)
    assert abs(a.mean() - b.mean()) < 4 * error
    assert a.mean() < plain[0] - 0.5
