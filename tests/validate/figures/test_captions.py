"""Captions and titles say which epochs, seeds and equations a figure shows, in every case."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.figures.drawn import drawn
from tests.validate.figures.synthetic import MEMORIES, RANGES, TASK, make_observations
from validate.figures import EmbeddingMap, EmbeddingPCA
from validate.figures.paper import FIGURES, draw_figure
from validate.figures.paper.distributions import early_epoch, longest
from validate.judge.groups import group_runs
from validate.observe import Observations

PASSES = "at the last snapshot before memory accuracy passes 0.3"
NEVER = "at the end, as memory accuracy stays below 0.3"
AT_ONCE = "at the first snapshot, where memory accuracy is already above 0.3"
SHIFTED: dict[str, Any] = {
    "keys": "40..59",
    "n_anchors": 2,
    "length": 5,
    "vocab_size": 110,
    "mappings": [
        {"name": "memory", "anchors": [1, 2, 3, 4, 5], "rule": "lookup"},
        {
            "name": "reasoning",
            "anchors": [11, 12, 13, 14],
            "rule": "shift",
            "table": {"11": 4, "12": 1, "13": 3, "14": 2},
        },
    ],
}


def _of_ranges(model: str, accuracies: dict[int, float]) -> Observations:
    """Return a run whose memory accuracy is 0.1, and another from some epochs on."""
    run = make_observations(model, task=RANGES)
    for line in run.metrics:
        own = [value for epoch, value in accuracies.items() if epoch <= line["epoch"]]
        line["accuracy"]["mem"] = [0.1, *own][-1]
    return run


def test_fig_8_shows_of_each_network_and_gamma_the_longest_runs() -> None:
    """Whatever their order: the ones of 20 epochs, and each where it is the only one."""
    models = ("transformer", 0.8), ("transformer", 0.8), ("emb-mlp", 0.8), ("transformer", 0.3)
    runs = [make_observations(model, gamma, task=MEMORIES) for model, gamma in models]
    for run, epochs in zip(runs, (3, 20, 2, 1), strict=True):
        training = run.config.training.model_copy(update={"epochs": epochs})
        object.__setattr__(run, "config", run.config.model_copy(update={"training": training}))
    for ordered in (runs, runs[::-1]):
        shown = longest(group_runs(ordered))
        assert sorted(own.runs[0].config.training.epochs for own in shown) == [1, 2, 20]
        assert len(FIGURES[8].build(ordered).rows) == 3


@pytest.mark.parametrize(
    ("accuracies", "epoch", "words"),
    [
        ({3: 0.5}, 2, PASSES),
        ({3: 0.5, 10: 0.2}, 2, PASSES),  # What it falls back to is not early.
        ({10: 0.3}, 9, PASSES),
        ({}, 10, NEVER),
        ({0: 0.9}, 2, AT_ONCE),
    ],
)
def test_fig_8_says_when_its_outputs_are(accuracies: dict[int, float], epoch: int, words: str) -> None:
    run = _of_ranges("emb-mlp", accuracies)
    assert early_epoch(group_runs([run])[0]) == epoch
    sheet = FIGURES[8].build([run])
    assert f"outputs at epoch {epoch}, " in sheet.rows[0].title
    assert sheet.caption.endswith(f"beside its label distribution, {words}.")


def test_fig_8_says_when_the_outputs_of_each_model_are() -> None:
    sheet = FIGURES[8].build([_of_ranges("emb-mlp", {}), _of_ranges("transformer", {3: 0.5})])
    names = [row.title.removeprefix("Right  ").split(":")[0] for row in sheet.rows]
    whens = [NEVER if "Emb-MLP" in name else PASSES for name in names]
    told = "; ".join(f"for {name} {when}" for name, when in zip(names, whens, strict=True))
    assert sheet.caption.endswith(f"{told}.")


def test_fig_13_names_every_late_epoch_that_it_shows() -> None:
    short, longer = make_observations(gamma=0.3), make_observations(gamma=0.8)
    object.__setattr__(longer, "epochs", (0, 2, 9, 20))
    titles = [row.title for row in FIGURES[13].build([short, longer]).rows]
    assert [title.endswith("epoch 9 or 20") for title in titles] == [True] * 4 + [False]


def test_fig_11_says_that_its_map_is_the_first_seed_s() -> None:
    maps = [panel for row in drawn(11).rows for panel in row.panels if isinstance(panel, EmbeddingMap)]
    assert len(maps) == 2
    assert all("(first seed)" in panel.title for panel in maps)


def test_fig_5_draws_eq_14_of_sums_alone() -> None:
    """Anchors that add what a table says are not their own numbers, which eq. 14 takes them for."""
    sheet = draw_figure(5, [make_observations(task=SHIFTED)])
    assert [row.title[0] for row in sheet.rows] == ["A", "B", "C"]
    assert not any(isinstance(panel, EmbeddingPCA) for row in sheet.rows for panel in row.panels)
    text = "\n".join([sheet.caption, *(row.title for row in sheet.rows), *sheet.summary()])
    assert "eq. 14" not in text
    assert "C: one row of cosines against training. Above" in sheet.caption
    summed = FIGURES[5].build([make_observations(task=TASK)])
    assert "D: components of eq. 14." in summed.caption
