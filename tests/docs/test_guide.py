"""Every TOML example of the documentation is accepted as printed; the Python of an own rule runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sim.config.run import make_run_config
from sim.config.task_files import read_description
from tests.docs.pages import PAGES, ROOT, blocks
from theory import Task
from validate.studies.study import load_study

TOML = [(f"{page}:{i}", text) for page in PAGES for i, text in enumerate(blocks(page, "toml"))]


@pytest.mark.parametrize(("where", "text"), TOML, ids=[where for where, _ in TOML])
def test_every_toml_example_is_accepted_as_printed(where: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(text)
    if where.startswith("docs/sweeps.md"):
        assert load_study(file).variants
        return
    described = read_description(file)
    assert make_run_config(described).members()
    if set(described) == {"task"}:
        assert Task.from_toml(Task.from_toml(file).to_toml()) == Task.from_toml(file)


def test_the_python_of_a_rule_of_ones_own_runs(tmp_path: Path) -> None:
    (text,) = blocks("docs/howto/rule.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr
