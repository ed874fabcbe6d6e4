"""What holds for the project as a whole: versions, what is loaded, what is packed, the table of equations."""

import importlib
import re
import subprocess
import tomllib
import zlib
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.docs.pages import load_script
from tests.processes import ROOT, python
from theory.derive import derivations

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def output(code: str, cwd: Path = ROOT) -> str:
    """Return what a program prints, which has to end well."""
    done = python("-c", code, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tracked(*patterns: str) -> list[str]:
    """Return the files that match in git's list, and are there; skip the test outside a checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    names = subprocess.check_output(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, text=True)
    return [name for name in names.split("\0")[:-1] if (ROOT / name).exists()]


def test_versions_agree() -> None:
    version = PYPROJECT["project"]["version"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert version == citation[1] == newest[1]


def test_theory_loads_neither_torch_nor_the_packages_above_it() -> None:
    """Also through others: importing every module of theory must leave torch out."""
    code = """
import pkgutil, sys, theory
for module in pkgutil.walk_packages(theory.__path__, 'theory.'):
    __import__(module.name)
print(sorted({'torch', 'sim', 'validate'} & set(sys.modules)))
"""
    assert output(code) == "[]\n"


@pytest.mark.parametrize("package", ["theory", "sim", "validate"])
def test_public_names_exist(package: str) -> None:
    module = __import__(package)
    assert len(set(module.__all__)) == len(module.__all__)
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


@pytest.mark.slow
def test_help_and_refusals_wait_for_no_library_and_torch_is_for_training_alone() -> None:
    code = """
import sys
from validate.cli import main
main(['--help'])
assert not {'numpy', 'scipy', 'sympy', 'torch', 'matplotlib', 'pydantic'} & set(sys.modules)
assert main(['train', 'nowhere.toml']) == 2
assert main(['predict', 'nowhere.toml']) == 2
assert not {'torch', 'matplotlib', 'scipy'} & set(sys.modules)
import validate.figures.paper, validate.observe.groups, validate.prediction
assert main(['study', '--json']) != 2
main(['claims', '20'])
assert 'torch' not in sys.modules
"""
    output(code)


def test_constraints_pin_every_dependency() -> None:
    """Every name in pyproject's base, dev, docs and language lists has an exact version."""
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    wanted += [name for extra in ("dev", "docs", "language", "corpus") for name in extras[extra]]
    exact = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    names, pinned = (
        {re.split("[<>=]", entry)[0].lower().replace("_", "-") for entry in entries}
        for entries in (wanted, exact)
    )
    assert names <= pinned


def test_a_wheel_has_every_file_of_the_packages() -> None:
    """An editable installation reads them from the repository, and misses none."""
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    files = {ROOT / name for name in tracked(*data) if not name.endswith(".py")}
    packed = {file for name, globs in data.items() for each in globs for file in (ROOT / name).glob(each)}
    assert len(files) > 100
    assert not files - packed


def test_nothing_in_the_repository_is_large() -> None:
    """No file over 1 MB, and what is kept of runs under 25 MB, compressed as in git and in a package."""
    sizes = {name: (ROOT / name).stat().st_size for name in tracked()}
    assert len(sizes) > 500
    assert {name: size for name, size in sizes.items() if size > 10**6} == {}
    kept = [ROOT / name for name in sizes if name.startswith("validate/kept/")]
    assert sum(len(zlib.compress(path.read_bytes())) for path in kept) < 25 * 10**6


def test_the_tests_that_pages_name_exist() -> None:
    """But for those of an earlier commit, which the page names."""
    now = r"(?<!commit \w{7}, )`(tests/[\w/]+\.py)`(?!\s+of\s+commit)"
    named = {name for page in tracked("docs/*.md") for name in re.findall(now, (ROOT / page).read_text())}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_theory_and_the_help_start_at_once() -> None:
    """In processor time, which other work does not change: 0.5 s and 0.7 s."""
    for most, code in ((0.5, "import theory"), (0.7, "from validate.cli import main; main(['--help'])")):
        timed = output(f"{code}\nimport time\nprint(time.process_time())")
        assert float(timed.split()[-1]) < most


NAMED = {4, 5, 7, 8, 10, 11, 12, 13, 14, 19, *range(21, 30), *range(35, 39), *range(44, 48)}
"""The equations between (4) and (47) that the theory's description names by number."""
MODULE = load_script("make_equations")


def test_every_row_points_at_what_exists() -> None:
    for row in MODULE.rows():
        for name in row["functions"]:
            package, attribute = name.split(".")
            assert getattr(importlib.import_module(package), attribute) is not None
        assert row.get("derivation") in (None, *derivations())
        assert set(row) <= {"equation", "says", "functions", "derivation", "errors", "standing"}
        assert row["errors"] or "no error recorded" in row["standing"]


def test_every_recorded_error_is_in_a_row_and_of_a_test_that_exists() -> None:
    assert sorted(key for row in MODULE.rows() for key in row["errors"]) == sorted(MODULE.errors())
    files = {file for of_files in MODULE.errors().values() for file in of_files}
    assert {file for file in files if not (ROOT / file).exists()} == set()


def test_the_table_covers_the_paper() -> None:
    listed = {int(n) for row in MODULE.rows() for n in re.findall(r"\b\d+\b", row["equation"].split(";")[0])}
    assert listed >= NAMED


def test_the_packaged_rows_are_up_to_date() -> None:
    assert MODULE.PACKAGED.read_text() == MODULE.packaged(), "regenerate: python docs/make_equations.py"
    assert MODULE.page().count("\n| ") == len(MODULE.rows()) + 2


def test_a_zip_has_the_packages_names(tmp_path: Path) -> None:
    """They come from a package's own source, which in a zip is no file."""
    with ZipFile(tmp_path / "packages.zip", "w") as archive:
        for file in (path for package in ("theory", "sim") for path in (ROOT / package).rglob("*.py")):
            archive.write(file, str(file.relative_to(ROOT)))
    code = """
import sys
sys.path.insert(0, 'packages.zip')
import sim, theory
print('packages.zip' in theory.__file__, theory.Task.paper(length=3).length, sim.EmbMLPConfig().d_m)
"""
    assert output(code, tmp_path) == "True 3 200\n"
