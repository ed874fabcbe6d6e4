"""The project under one name, beside foreign packages too; signals while a command is loaded or runs."""

import re
import signal
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import anchorflow
from anchorflow._packages import load
from tests.processes import ROOT, catches, command, end_of, is_empty, python

FOREIGN = {"theory": "theory.py", "sim": "sim/__init__.py", "validate": "validate/__init__.py"}


def hide(name: str, folder: Path) -> None:
    """Write a package or module of that name that is not ours."""
    file = folder / FOREIGN[name]
    file.parent.mkdir(exist_ok=True)
    file.write_text("WHOSE = 'mine'\n")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Return a folder in which all three packages have namesakes."""
    for name in FOREIGN:
        hide(name, tmp_path)
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
    assert set(anchorflow.__all__) == {"theory", "sim", "validate"} < set(dir(anchorflow))
    assert anchorflow.__version__ == version("anchorflow")
    with pytest.raises(AttributeError, match="nothing"):
        anchorflow.nothing  # noqa: B018


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_package_is_named_in_one_sentence(name: str, tmp_path: Path) -> None:
    hide(name, tmp_path)
    code = f"""
import anchorflow
for name in ('theory', 'sim', 'validate'):
    try:
        getattr(anchorflow, name)
    except ImportError as error:
        print(error)
import {name}
print({name}.WHOSE)
"""
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *refusals, whose = done.stdout.splitlines()
    assert len(refusals) == {"theory": 3, "sim": 2, "validate": 1}[name]
    place = tmp_path / FOREIGN[name].removesuffix("/__init__.py")
    said = f"{place} hides anchorflow's package {name!r}: rename it"
    assert all(line.startswith(said) for line in refusals)
    assert whose == "mine"


@pytest.mark.parametrize(("owners", "named"), [([], "another"), (["anchorflow", "configobj"], "configobj")])
def test_a_package_that_was_overwritten_is_named(
    owners: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anchorflow._packages.NAMES", {"theory": "Task", "validate": "not_there"})
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"validate": owners})
    said = f"{ROOT / 'validate'} is not anchorflow's package 'validate' any more: {named} was installed over"
    with pytest.raises(ImportError, match=f"^{re.escape(said)}"):
        load("validate")
    assert load("theory").__name__ == "theory"


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
    assert "hides anchorflow's package 'theory'" in done.stderr
    helped = python("-P", "-m", "anchorflow", "train", "nowhere.toml", cwd=foreign)
    assert "no such file" in helped.stderr


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
STOPPED = "anchorflow: stopped\n"
SLOWLY = """
import sys, time

class Finder:
    def find_spec(self, name, *_):
        if name == "validate.terminal.progress":
            time.sleep(2)

sys.meta_path.insert(0, Finder())
"""
"""The last module that a command needs is long in coming, however fast the machine."""


@pytest.mark.parametrize(("number", "delay"), [*zip(SIGNALS, (0.0, 0.05, 0.1, 0.15), strict=True)])
def test_a_signal_while_the_command_is_loaded(number: signal.Signals, delay: float, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOWLY)
    process = command("claims", "2", path=tmp_path)
    # By itself Python leaves SIGTERM to the system.
    while not catches(process.pid, signal.SIGTERM):
        assert process.poll() is None
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(number)
    assert end_of(process, 20) == ("", STOPPED)
    assert process.returncode == 128 + number
    assert is_empty(process.pid, 5)


IMPORTED = """
class Finder:
    def find_spec(self, name, *_):
        try:
            if name == "MODULE":
                os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            pass

sys.meta_path.insert(0, Finder())
"""
"""Some modules swallow an exception that comes up while they are imported, or make another of it."""
RUNNING = """
import validate.cli, validate.commands.claims

def work(*_):
    try:
        os.kill(os.getpid(), NUMBER)
        time.sleep(20)
    finally:
        print("cleaned up")

validate.commands.claims.run = work
"""
ENDINGS = {
    **{
        f"import of {module}": (IMPORTED.replace("MODULE", module), 130, "")
        for module in ("pydantic", "validate.commands.claims", "validate.terminal.progress")
    },
    **{n.name: (RUNNING.replace("NUMBER", str(int(n))), 128 + n, "cleaned up\n") for n in SIGNALS},
    # The first is an exception that the command cleans up after, the second falls into its last words.
    "twice": (RUNNING.replace("NUMBER", "2") + "validate.cli.say = work", 130, "cleaned up\n" * 2),
}


@pytest.mark.parametrize(
    "when", [pytest.param(w, marks=[pytest.mark.slow] * w.startswith("SIG")) for w in ENDINGS]
)
def test_a_signal_ends_the_command_in_one_line_after_its_clean_up(when: str) -> None:
    code, status, printed = ENDINGS[when]
    found = ended(f"{code}\nsys.argv = ['anchorflow', 'claims']\nsys.exit(main())")
    assert found == (status, printed, STOPPED)


def ended(code: str) -> tuple[int, str, str]:
    """Return how a program ended in a process of its own, and what it printed on both streams."""
    done = python("-c", f"import os, signal, sys, time\nfrom anchorflow.__main__ import main\n{code}")
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_when_all_is_done() -> None:
    """What Python does at exit would answer it with a traceback."""
    code = "import atexit; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))"
    status, printed, error = ended(f"{code}\nsys.argv = ['anchorflow', '--version']\nsys.exit(main())")
    assert (status, error) == (-signal.SIGINT, "")
    assert printed.startswith("anchorflow ")


def test_a_system_without_these_signals_is_refused_in_one_sentence() -> None:
    code = "import signal, sys; del signal.SIGHUP, signal.SIGQUIT; from anchorflow.__main__ import main"
    done = python("-c", f"{code}; sys.exit(main())")
    refusal = "anchorflow: this command needs Linux or macOS; on Windows, run it inside WSL\n"
    assert (done.returncode, done.stderr) == (2, refusal)


def test_signals_that_are_ignored_stay_ignored() -> None:
    """As under nohup, which is to outlive its terminal."""
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from anchorflow import _signals
for handle in (_signals.stop_at_once, _signals.stop_with_clean_up, _signals.as_the_system_does):
    handle()
    print(signal.getsignal(signal.SIGHUP).name)
"""
    assert ended(code)[1].split() == ["SIG_IGN"] * 3


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")])
def test_small_matrices_are_multiplied_by_one_thread_unless_told(
    given: dict[str, str], threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    code = "import os, sys; sys.argv = ['anchorflow', '--version']; from anchorflow.__main__ import main"
    done = python("-c", f"{code}; main(); print(os.environ['OPENBLAS_NUM_THREADS'])")
    assert done.stdout.splitlines()[-1] == threads
