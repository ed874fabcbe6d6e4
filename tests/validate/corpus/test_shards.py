"""Counts of shards are those of the whole, wherever they are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from theory import InputError, corpus_counts
from theory.corpus.counts import CorpusCounts
from validate.corpus.shards import counts_of_shards

V = 30
TOKENS = np.random.default_rng(3).integers(0, V, (70, 12))


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Seven shards of different sizes."""
    files = []
    for number, part in enumerate(np.split(TOKENS, [1, 5, 20, 21, 40, 69])):
        files.append(tmp_path / f"{number}.npy")
        np.save(files[-1], part.astype(np.uint16))
    return files


def check(found: CorpusCounts) -> None:
    whole = corpus_counts(TOKENS, V)
    np.testing.assert_array_equal(found.pairs.toarray(), whole.pairs.toarray())
    np.testing.assert_array_equal(found.unigrams, whole.unigrams)
    assert found.n_sequences == whole.n_sequences == len(TOKENS)


def test_shards_add_up_to_the_whole(shards: list[Path]) -> None:
    check(counts_of_shards(shards, V))


@pytest.mark.long
def test_two_processes_count_the_same(shards: list[Path]) -> None:
    check(counts_of_shards(shards, V, workers=2))


@pytest.mark.long
def test_a_dask_cluster_counts_the_same(shards: list[Path]) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        check(counts_of_shards(shards, V, scheduler=cluster.scheduler_address))


def test_a_single_sequence_is_one_and_no_shard_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", TOKENS[0])
    assert counts_of_shards([tmp_path / "one.npy"], V).n_sequences == 1
    for wrong, named in (([], "empty"), ([tmp_path / "none.npy"], "cannot be read")):
        with pytest.raises(InputError, match=named):
            counts_of_shards(wrong, V)
    np.save(tmp_path / "deep.npy", TOKENS[None])
    with pytest.raises(InputError, match="has the shape"):
        counts_of_shards([tmp_path / "deep.npy"], V)
