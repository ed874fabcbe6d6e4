"""The memory that is said beforehand, and the memory that a run then takes."""

import platform
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sim import RunConfig, estimate, train
from sim.fast.matmul import keep_freed_memory

CONFIGS: dict[str, dict[str, Any]] = {
    "emb-mlp": {"training": {"epochs": 1}},
    "transformer": {
        "model": {"kind": "transformer", "d_m": 512, "d_f": 2048},
        "task": "paper",
        "data": {"source": "draw", "n_sequences": 200},
        "training": {"epochs": 1, "batch_size": 20, "snapshot_tensors": "all"},
    },
}


def _estimated(config: dict[str, Any]) -> float:
    return estimate(RunConfig(**config), 1).memory_mib


def _measured(config: dict[str, Any], out: Path) -> float:
    return float(train(RunConfig(**config), out)[0].provenance["peak_memory_mib"])


def _alone(forked: Any, work: Callable[..., float], *arguments: Any) -> float:
    """Return what a function returns in a process of its own, whose peak is its own too."""
    with ProcessPoolExecutor(1, mp_context=forked) as pool:
        return float(pool.submit(work, *arguments).result(120))


@pytest.mark.parametrize("name", ["emb-mlp", pytest.param("transformer", marks=pytest.mark.long)])
def test_the_estimated_memory_is_within_a_fifth_of_the_peak(name: str, forked: Any, tmp_path: Path) -> None:
    """In processes forked from one that has loaded torch: each begins with the memory that torch takes."""
    estimated = _alone(forked, _estimated, CONFIGS[name])
    measured = _alone(forked, _measured, CONFIGS[name], tmp_path / "runs")
    assert abs(estimated - measured) < 0.2 * measured


def _faults() -> float:
    """Return the page faults of allocating the paper's hidden layer twice; -1 where memory is not kept.

    The median of 21 rounds: one of them may begin a new place in the heap, or the system may move a page.
    """
    import resource

    import torch

    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(900, 512).mul(2.0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    return statistics.median(faults() for _ in range(21)) if keep_freed_memory() else -1


def test_freed_memory_is_kept_where_the_c_library_can(forked: Any) -> None:
    """Again and again allocating the same then meets no new pages: in a process whose heap is its own."""
    pytest.importorskip("resource")
    faults = _alone(forked, _faults)
    if faults < 0:
        assert platform.libc_ver()[0] != "glibc"
        pytest.skip("not glibc")
    # Of memory that is handed back each time, 2 × 450 pages.
    assert faults < 90
