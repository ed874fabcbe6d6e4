"""A kept file serves wherever a run folder does: the same code, the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim import Run
from tests.conftest import Cli
from theory import InputError
from validate.judge.compare import compare_runs
from validate.judge.groups import group_runs
from validate.observe import find_observations, observe, write_kept
from validate.observe.store import kept_file


@pytest.fixture(scope="module")
def kept_folder(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the tiny runs showed."""
    folder = tmp_path_factory.mktemp("kept")
    for run in runs:
        write_kept(observe(run), kept_file("tiny", None, run.config, folder))
    return folder / "tiny"


def _errors(rows: Any) -> list[float]:
    """Return the distances of predicted and observed cosines; ranks may turn where cosines are rounded."""
    return [row.estimate.mean for row in rows if row.measure in ("rmse", "largest_error")]


def test_files_folders_runs_and_observations_give_one_comparison(
    runs: list[Run], runs_folder: Path, kept_folder: Path
) -> None:
    own = compare_runs(runs, [6])
    # As text: what is undefined is NaN, which from Python 3.13 on makes two equal rows differ.
    for same in (runs_folder, [observe(run) for run in runs]):
        assert repr(list(compare_runs(same, [6]))) == repr(list(own))
    files = sorted(kept_folder.glob("*.safetensors"))
    mixed = [runs[0], runs[1].path, *files[2:]]
    for sources in (kept_folder, files, mixed):
        found = compare_runs(sources, [6])
        assert [(r.setting, r.anchor, r.predictor) for r in found] == [
            (r.setting, r.anchor, r.predictor) for r in own
        ]
        assert _errors(found) == pytest.approx(_errors(own), abs=1e-3)


@pytest.mark.usefixtures("blank_pictures")
def test_commands_take_kept_files(kept_folder: Path, runs_folder: Path, tmp_path: Path, cli: Cli) -> None:
    file = str(kept_folder / "gamma0.8_seed0.safetensors")
    assert "verdict: censored" in cli("compare", file).out
    tables = []
    for source in (runs_folder, kept_folder):
        rows = cli("table", str(source), "--json").json()
        own = [{k: v for k, v in row.items() if k != "run"} for row in rows]
        tables.append({json.dumps(row, sort_keys=True) for row in own})
    assert tables[0] == tables[1]
    assert len(tables[0]) == len(rows)
    cli("figures", "3", "--runs", file, "--out", str(tmp_path))


def test_folders_without_runs_are_refused(tmp_path: Path, runs: list[Run]) -> None:
    with pytest.raises(InputError, match="no such folder"):
        group_runs(tmp_path / "nowhere")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "variant").symlink_to(runs[0].path.parent)
    for folder in (tmp_path / "study", tmp_path):
        with pytest.raises(InputError, match=f"such as {tmp_path}/study/variant\\."):
            group_runs(folder)
    found = find_observations(tmp_path / "study", variants=True)
    assert [run.config for run in found] == [run.config for run in runs]
