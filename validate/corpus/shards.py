"""Counts of a corpus in shards: each shard is counted by a worker, and counts are added up as a tree.

Counts of two shards add up to those of the whole, exactly (``theory.CorpusCounts``). No tokens travel:
workers read the shards themselves.
"""

from __future__ import annotations

import functools
import multiprocessing
import operator
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from theory import InputError, corpus_counts
from theory.checked import Size, checked
from theory.corpus.counts import CorpusCounts
from theory.paths import PathLike, paths_of

_FAN_IN = 4
"""Counts that are added up in one task of the tree."""


@checked
def counts_of_shards(
    shards: Sequence[PathLike], vocab_size: Size, workers: Size = 1, scheduler: str | None = None
) -> CorpusCounts:
    """Count a corpus whose tokens lie in several files.

    Parameters
    ----------
    shards : sequence of path
        ``.npy`` files of integers, shape (sequences, length), or (length,) for a single sequence. They are
        mapped into memory, not read whole.
    vocab_size : int
        V; tokens are 0..V−1.
    workers : int, optional
        Processes of this machine. More than one needs a script with an ``if __name__ == "__main__"`` guard.
    scheduler : str, optional
        The address of a Dask cluster that counts instead; it must reach the shards under the same paths.

    Raises
    ------
    InputError
        If there is no shard, one is no such file, or a token lies outside the vocabulary.
    """
    files = paths_of(shards)
    if not files:
        raise InputError("shards", [], "empty", "give at least one file")
    if scheduler is not None:
        return _on_dask(functools.partial(_count, vocab_size=vocab_size), files, scheduler)
    if workers == 1:
        return _count_all(files, vocab_size)
    parts = [files[part::workers] for part in range(min(workers, len(files)))]
    with ProcessPoolExecutor(len(parts), multiprocessing.get_context("spawn")) as pool:
        return _added(list(pool.map(functools.partial(_count_all, vocab_size=vocab_size), parts)))


def _on_dask(count: Any, files: Sequence[Path], scheduler: str) -> CorpusCounts:
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:
        level = client.map(count, files, pure=False)
        while len(level) > 1:
            groups = [level[first : first + _FAN_IN] for first in range(0, len(level), _FAN_IN)]
            level = [client.submit(_added, group, pure=False) for group in groups]
        found: CorpusCounts = level[0].result()
        return found


def _count_all(files: Sequence[Path], vocab_size: int) -> CorpusCounts:
    """Count some shards one after another; no more than two counts are held at a time."""
    return functools.reduce(operator.add, (_count(file, vocab_size) for file in files))


def _count(file: Path, vocab_size: int) -> CorpusCounts:
    try:
        tokens = np.load(file, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise InputError(
            "shards", str(file), f"cannot be read ({error})", "give .npy files of tokens"
        ) from None
    if tokens.ndim not in (1, 2):
        problem = f"has the shape {tokens.shape}"
        raise InputError("shards", str(file), problem, "give tokens of shape (sequences, length)")
    return corpus_counts(tokens if tokens.ndim == 2 else tokens[None], vocab_size)


def _added(counts: Sequence[CorpusCounts]) -> CorpusCounts:
    """Return the sum of counts, added up in pairs so that small ones meet small ones."""
    left = list(counts)
    while len(left) > 1:
        left = [functools.reduce(operator.add, left[first : first + 2]) for first in range(0, len(left), 2)]
    return left[0]
