"""Every TOML example of the documentation is accepted as printed; the Python of an own rule runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.config.run import make_run_config
from sim.config.task_files import read_description
from theory import Task
from validate.studies.study import load_study

ROOT = Path(__file__).parent.parent
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not {"node_modules", "_build", "notebooks", "claims"} & set(page.parts)
]


def examples(language: str) -> list[tuple[str, str]]:
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [
        (f"{page.relative_to(ROOT)}:{i}", text)
        for page in PAGES
        for i, text in enumerate(pattern.findall(page.read_text()))
    ]


@pytest.mark.parametrize(("where", "text"), examples("toml"), ids=[where for where, _ in examples("toml")])
def test_every_toml_example_is_accepted_as_printed(where: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(text)
    if where.startswith(("docs/studies.md", "docs/sweeps.md")):
        assert load_study(file).variants
        return
    described = read_description(file)
    assert make_run_config(described).members()
    if set(described) == {"task"}:
        assert Task.from_toml(Task.from_toml(file).to_toml()) == Task.from_toml(file)


def test_the_pages_show_a_task_with_every_rule() -> None:
    shown = "".join(text for _, text in examples("toml"))
    assert all(f'rule = "{rule}"' in shown for rule in ("sum", "shift", "lookup", "window"))
    assert "label = " in shown


def test_the_python_of_a_rule_of_ones_own_runs(tmp_path: Path) -> None:
    (text,) = (t for where, t in examples("python") if where.startswith("docs/howto/rule.md"))
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr
