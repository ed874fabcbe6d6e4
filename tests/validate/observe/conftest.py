"""Tiny finished runs of every kind of model, with all matrices at every snapshot."""

from collections.abc import Callable
from typing import Any

import pytest

from sim import Run, train
from tests.sim.conftest import SMALL_TASK, small

TASK: dict[str, Any] = SMALL_TASK | {"length": 4}
TRANSFORMER = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 3, "n_heads": 2}


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Train one run of a model; keywords are training options except for the task."""

    def build(model: dict[str, Any], task: Any = TASK, **options: Any) -> Run:
        data = {"source": "draw", "n_sequences": 50 * 25 if task is TASK else 400}
        training = {"epochs": 2, "batch_size": 32, "snapshot_epochs": [1], "snapshot_tensors": "all"}
        own = {"task": task, "model": model, "seeds": [0], "init_rates": [0.5], "data": data}
        return train(small(**own, **(training | options)), tmp_path_factory.mktemp("run"))[0]

    return build


@pytest.fixture(scope="session")
def transformer_run(make: Callable[..., Run]) -> Run:
    return make(TRANSFORMER | {"norm": "pre"})


@pytest.fixture(scope="session")
def emb_mlp_run(make: Callable[..., Run]) -> Run:
    return make({"d_m": 8, "d_f": 12})
