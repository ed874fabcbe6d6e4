"""The two kinds' drives and the scalar of a task, against sums over every sequence."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.docs_script import DOCS, load_script
from theory import (
    InputError,
    Lookup,
    Mapping,
    Sum,
    Task,
    draw_tables,
    drive_spectra,
    enumerate_population,
    labels_of,
)

TASK = Task(
    keys=range(10, 15),
    n_anchors=2,
    length=3,
    vocab_size=25,
    mappings=[
        Mapping([1, 2, 3], Sum(), "sum", [(1, 2), (2, 1)]),
        Mapping([4, 5], Sum(), "second sum"),
        Mapping([6, 7, 8], Lookup(), "table"),
    ],
)
TABLES = draw_tables(TASK, np.random.default_rng(0))


def by_regression(table: bool) -> tuple[np.ndarray, float]:
    """One kind's singular values and explained share, from one-hot labels and a least-squares fit."""
    everything = enumerate_population(TASK)
    kind = np.array([m.is_table for m in TASK.mappings])[everything.mapping] == table
    rows = kind & ~everything.held_out
    counts = (everything.sequences[rows, :, None] == np.arange(25)).sum(axis=1).astype(float)
    labels = np.eye(25)[labels_of(TASK, everything, TABLES)[rows]]
    centred = labels - labels.mean(axis=0)
    values = np.linalg.svd(counts.T @ centred / np.sum(~everything.held_out), compute_uv=False)
    fit = counts @ np.linalg.lstsq(counts, centred, rcond=None)[0]
    return values, float(np.sum(fit**2) / np.sum(centred**2))


def test_both_kinds_are_what_every_sequence_says(record_error):
    found = drive_spectra(TASK, TABLES)
    for table, values, explained in (
        (True, found.memory, found.memory_explained),
        (False, found.reasoning, found.reasoning_explained),
    ):
        expected = by_regression(table)
        assert values == pytest.approx(expected[0], abs=1e-12)
        assert explained == pytest.approx(expected[1], rel=1e-9)
        record_error("drive spectra", abs(explained - expected[1]))


def test_scalars_are_ratios_of_what_was_found():
    found = drive_spectra(TASK, TABLES)
    shares = found.reasoning_explained, found.memory_explained
    assert found.explained_ratio == pytest.approx(np.log2(shares[0] / shares[1]))
    assert found.top_ratio == pytest.approx(np.log2(found.reasoning[0] / found.memory[0]))
    values = found.reasoning**2
    half = next(k for k in range(25) if values[: k + 1].sum() >= values.sum() / 2)
    other = found.memory**2
    second = next(k for k in range(25) if other[: k + 1].sum() >= other.sum() / 2)
    assert found.half_energy_ratio == pytest.approx(np.log2(found.reasoning[half] / found.memory[second]))


def test_a_rule_with_one_label_has_nothing_to_learn():
    task = Task(
        keys=[3, 4],
        n_anchors=1,
        length=2,
        vocab_size=8,
        mappings=[Mapping([0], lambda key, anchors: 5), Mapping([1, 2], Lookup())],
    )
    found = drive_spectra(task, [None, np.array([[3, 4], [3, 3]])])
    assert found.reasoning_explained == 0
    assert found.top_ratio == -np.inf


@pytest.mark.parametrize("kind", [0, 2])
def test_both_kinds_are_needed(kind):
    task = Task(keys=[10, 11], n_anchors=2, length=3, vocab_size=25, mappings=[TASK.mappings[kind]])
    with pytest.raises(InputError, match="no memory" if kind == 0 else "no reasoning"):
        drive_spectra(task, draw_tables(task, np.random.default_rng(0)))


def test_the_kept_scalars_are_those_of_the_tasks():
    """The kept file holds what the script computes, up to the draw of the tables: rule by rule."""
    script = load_script("theory/bias_scalar_numbers")
    kept = json.loads((DOCS / "theory" / "bias_scalar.json").read_text(encoding="utf-8"))
    assert list(kept) == list(script.TASKS)
    assert len(kept) >= 12
    for name in ("sum", "sum, one anchor"):
        one, rng = script.TASKS[name], np.random.default_rng(0)
        drawn = [script.scalars(one, draw_tables(one, rng))["explained ratio"] for _ in range(4)]
        assert kept[name]["scalars"]["explained ratio"] == pytest.approx(np.mean(drawn), abs=0.3)
        assert len(kept[name]["bias"]) == len(script.SEEDS)


def test_the_page_has_the_correlations_of_what_was_kept():
    kept = json.loads((DOCS / "theory" / "bias_scalar.json").read_text(encoding="utf-8"))
    page = (DOCS / "theory" / "bias_scalar.md").read_text(encoding="utf-8")
    measured = [np.mean(row["bias"]) for row in kept.values()]
    lines = [line for line in page.splitlines() if line.startswith("| ") and "[" in line]
    scalars = list(next(iter(kept.values()))["scalars"])
    assert len(lines) == len(scalars)
    for name, line in zip(scalars, lines, strict=True):
        rho = spearmanr([row["scalars"][name] for row in kept.values()], measured).statistic
        assert f"| {rho:.2f} [" in line
