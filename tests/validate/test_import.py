"""--import makes a model of one's own known to the commands, and a run says which file that was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import rmtree

import pytest

from tests.tiny_task import TASK
from theory import InputError
from validate.commands.parsing import import_first

MODEL = Path(__file__).parents[2] / "docs" / "extending" / "bag_of_words.py"


def test_a_file_is_imported_and_no_other_module_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "random.py").touch()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "its_own_model.py").touch()
    (tmp_path / "link.py").symlink_to(tmp_path / "inside" / "its_own_model.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    import_first(["--import", str(tmp_path / "link.py")])
    assert sys.modules.pop("its_own_model").__file__ == str(tmp_path / "inside" / "its_own_model.py")
    for name, problem in (("random.py", "another module has that name"), ("loop.py", "cannot be imported")):
        with pytest.raises(InputError, match=problem):
            import_first(["--import", str(tmp_path / name)])


@pytest.mark.slow
def test_a_model_of_ones_own_is_trained_resumed_and_read(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "own.py").write_text(MODEL.read_text().replace("bag_of_words:", "own:"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "anchorflow", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    model = ["--model.kind", "bag-of-words", "--gammas", "0.8", "--seeds", "0", "1", "--epochs", "2"]
    done = run("train", "task.toml", "--import", "own.py", *model, "--out", "runs", "--workers", "2")
    assert done.returncode == 0, done.stderr
    refused = run("table", "runs")
    assert refused.returncode == 2
    assert f"--import {tmp_path / 'own.py'}" in refused.stderr
    # A run that was planned and is not there is begun by --resume.
    rmtree(tmp_path / "runs" / "gamma0.8_seed1")
    resumed = run("train", "--resume", "runs", "--import=own.py", "--workers", "1")
    assert resumed.returncode == 0, resumed.stderr
    table = run("table", "runs", "--import", "own.py", "--json")
    assert table.stdout.count('"seed": 1') > 0
