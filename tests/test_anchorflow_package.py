"""The project under one name, also where a folder of the user's has the name of one of its packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import anchorflow

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["theory", "sim", "validate"]


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python as a user does who has the project installed: behind the current folder in the search."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Return a folder with a package ``sim`` that is not ours."""
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "__init__.py").write_text("WHOSE = 'mine'\n")
    return tmp_path


def test_the_alias_is_the_packages_themselves(tmp_path: Path) -> None:
    code = """
import anchorflow, sys
assert 'theory' not in sys.modules
from anchorflow.sim import RunConfig
import anchorflow.theory as short
import theory, sim, validate
assert anchorflow.theory is theory is short
assert anchorflow.sim is sim and RunConfig is sim.RunConfig
assert anchorflow.validate is validate
assert 'torch' not in sys.modules
assert anchorflow.theory.Task.paper() == theory.Task.paper()
"""
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(anchorflow.__all__) == set(PACKAGES) < set(dir(anchorflow))
    with pytest.raises(AttributeError, match="nothing"):
        anchorflow.nothing  # noqa: B018


def test_a_foreign_package_is_named_in_one_sentence(foreign: Path) -> None:
    code = """
import anchorflow
anchorflow.theory.Task.paper()
for name in ('sim', 'validate'):
    try:
        getattr(anchorflow, name)
    except ImportError as error:
        print(error)
import sim
print(sim.WHOSE)
"""
    done = python("-c", code, cwd=foreign)
    assert done.returncode == 0, done.stderr
    *refusals, whose = done.stdout.splitlines()
    assert len(refusals) == 2
    assert all(f"{foreign / 'sim'} hides anchorflow's package 'sim'" in line for line in refusals)
    assert all("rename it" in line for line in refusals)
    assert whose == "mine"


def test_the_command_works_beside_a_foreign_package(
    foreign: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An installed command has its own folder first in the search, not the current one."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["anchorflow"]
    module, function = entry.split(":")
    script = tmp_path_factory.mktemp("bin") / "anchorflow"
    script.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    done = python(str(script), "train", "nowhere.toml", cwd=foreign)
    assert done.returncode == 2
    assert done.stderr.startswith("anchorflow: file = 'nowhere.toml': no such file")


def test_the_module_refuses_in_one_sentence_and_is_helped_by_a_flag(foreign: Path) -> None:
    done = python("-m", "anchorflow", "train", "nowhere.toml", cwd=foreign)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "hides anchorflow's package 'sim'" in done.stderr
    helped = python("-P", "-m", "anchorflow", "train", "nowhere.toml", cwd=foreign)
    assert "no such file" in helped.stderr
