"""A rule of your own from task to verdict: predicted, trained and compared, from TOML and from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from sim import Run, RunConfig, train
from sim.runs.run import find_runs
from tests.conftest import Cli
from theory import Mapping, Task
from validate.judge.answer import answers
from validate.judge.compare import compare_runs
from validate.judge.groups import group_runs
from validate.prediction import Prediction

TEXT = """
keys = "30..39"
n_anchors = 2
length = 3
vocab_size = 60

[[mappings]]
name = "own"
anchors = "1..5"
{rule}
held_out = [[2, 3]]

[[mappings]]
name = "memory"
anchors = "6..9"
rule = "lookup"
"""
SHIFTS = {1: 7, 2: -3, 3: 11, 4: 0, 5: -8}
RULE = 'label = "(a1 ** 3 - 2 * key * g(a2) + 5) % 53"\ntable = { 1 = 7, 2 = -3, 3 = 11, 4 = 0, 5 = -8 }'
CONFIG: dict[str, Any] = {
    "model": {"d_m": 16, "d_f": 16},
    "training": {"epochs": 2, "batch_size": 50, "snapshot_epochs": [1]},
    "init_rates": [0.8],
    "seeds": [0, 1],
}


def function(z: int, a: tuple[int, ...]) -> int:
    """Be the same rule in Python; tests/theory/test_rules.py has those of other kinds."""
    return (a[0] ** 3 - 2 * z * SHIFTS[a[1]] + 5) % 53


def python_task() -> Task:
    memory = Task.from_toml(TEXT.format(rule='rule = "sum"')).mapping_of(6)
    assert memory is not None
    return Task(
        keys=range(30, 40),
        n_anchors=2,
        length=3,
        vocab_size=60,
        mappings=[Mapping(range(1, 6), function, "own", [(2, 3)]), memory],
    )


def losses(runs: list[Run]) -> list[Any]:
    return [[line["loss"] for line in run.metrics] for run in runs]


def test_from_task_to_verdict(tmp_path: Path, cli: Cli) -> None:
    task_file, config = tmp_path / "task.toml", tmp_path / "config.toml"
    task_file.write_text(TEXT.format(rule=RULE))
    config.write_text(tomli_w.dumps({"task": "task.toml"} | CONFIG))
    predicted = cli("predict", str(task_file), "--json").json()
    counted = np.bincount(
        [function(z, c) for z in range(30, 40) for b in range(1, 6) for c in ((3, b), (b, 3)) if c != (2, 3)],
        minlength=60,
    )
    np.testing.assert_allclose(predicted["label_distributions"]["3"], counted / counted.sum(), atol=1e-14)
    assert not any("eq. 14" in found for found in predicted["cosines"].values())
    assert any("'own'" in sentence for sentence in predicted["left_out"])

    cli("train", str(config), "--out", str(tmp_path / "toml"), "--workers", "1", "--json")
    by_toml = [Run.open(folder) for folder in find_runs([tmp_path / "toml"])]
    by_python = train(RunConfig(task=python_task(), **CONFIG), tmp_path / "python", workers=1)
    assert losses(by_toml) == losses(by_python)
    assert set(by_toml[0].metrics[-1]["loss"]) == {"mem", "rsn_train", "rsn_test"}
    verdicts = [answers(group_runs(runs)) for runs in (by_toml, by_python)]
    assert [v.verdict for v in verdicts[0]] == [v.verdict for v in verdicts[1]] == ["censored"]
    assert verdicts[0][0].sentence() == verdicts[1][0].sentence()
    table = compare_runs(group_runs(by_python))
    assert {row.group for row in table} == {"own", "memory", "all anchors"}
    assert all(np.isfinite(r.estimate.mean) for r in table if (r.group, r.measure) == ("own", "rmse"))
    assert not any(row.predictor.startswith("eq. 14") for row in table)


def test_the_commands_print_and_draw_for_any_rule(tmp_path: Path, cli: Cli) -> None:
    task = python_task()
    train(RunConfig(task=task, **CONFIG), tmp_path / "runs", workers=1)
    report = cli("compare", str(tmp_path / "runs"), "--json").json()
    assert report["schema"].startswith("anchorflow/report/")
    prediction = Prediction.of(task)
    assert any("Eq. 14 and Theorem 1 are left out for 'own'" in said for said in prediction.left_out())
    drawn = prediction.figures()
    assert {"fig4b_label_distributions", "fig4c_cosines_own"} <= set(drawn)
    assert not any(name.startswith(("fig9", "fig5cd")) for name in drawn)
