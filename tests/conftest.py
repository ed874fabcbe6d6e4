"""What every test may use: the largest error seen for each equation, and the data beside the project."""

import gc
import json
import math
import multiprocessing
import os
import re
from collections.abc import Callable, Generator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from anchorflow.__main__ import limit_threads

# SymPy reads this when it is first imported; with its own 1000 entries it does a sixth of the work again.
os.environ.setdefault("SYMPY_CACHE_SIZE", "100000")
limit_threads()
settings.register_profile("default", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("long", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("default")
# Killed processes leave what the kernel has, and no test cuts the power: waiting for the disk proves nothing.
os.fsync = lambda fd: None

LOADED = [
    "tests.sim.conftest",
    "tests.validate.pseudo_terminal",
    "validate.prediction",
    "validate.commands.corpus",
]
"""What forked processes have loaded: torch, SciPy, matplotlib and the commands that run in terminals."""
Errors = dict[str, dict[str, float]]
"""The largest error that the tests of a file record for an equation: ``pytest --equation-errors=FILE``."""
_ERRORS = pytest.StashKey[Errors]()


class Printed(NamedTuple):
    """How a command ended, and what it printed on its two streams."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def table(self, *columns: str, n: int = 1) -> list[dict[str, str]]:
        """Return the first rows of the table with these columns, each cell by the name above it."""
        lines = self.out.splitlines()
        head = next(i for i, line in enumerate(lines) if re.split(" {2,}", line.strip()) == [*columns])
        starts, place = [], 0
        for name in columns:
            starts.append(place := lines[head].index(name, place))
            place += len(name)
        ends = [*starts[1:], None]
        return [
            {name: row[first:last].strip() for name, first, last in zip(columns, starts, ends, strict=True)}
            for row in lines[head + 1 : head + 1 + n]
        ]


Cli = Callable[..., Printed]
"""The type of the fixture ``cli``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--equation-errors",
        type=Path,
        default=None,
        help="run the tests that record errors, and write the largest of each test file to this JSON file",
    )
    parser.addoption("--slow", action="store_true", help="run the tests that take seconds too")
    parser.addoption("--long", action="store_true", help="run the tests that take seconds or minutes too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    records, long = config.getoption("--equation-errors") is not None, config.getoption("--long")
    if records:
        items[:] = [item for item in items if "record_error" in getattr(item, "fixturenames", ())]
    if config.pluginmanager.hasplugin("timeout"):
        for item in items:
            # Seconds: ten times what the slowest take on a machine with nothing else to do.
            item.add_marker(pytest.mark.timeout(3600 if item.get_closest_marker("long") else 600))
    left_out = {} if long else {"long": "takes minutes: make test-long"}
    if not (long or records or config.getoption("--slow")):
        left_out["slow"] = "takes seconds: make test-slow"
    for marker, why in left_out.items():
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=why))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ERRORS] = {}
    options = config.option
    if options.equation_errors is not None:
        if getattr(options, "numprocesses", None):
            raise pytest.UsageError("--equation-errors: errors are recorded in one process: leave out -n")
        if options.keyword or options.markexpr or options.deselect or options.file_or_dir:
            raise pytest.UsageError(
                "--equation-errors: all tests record: leave out -k, -m and names of files"
            )
    if config.getoption("--long") or config.getoption("--equation-errors") is not None:
        settings.load_profile("long")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep what tests import out of garbage collection, which took a tenth of the time, and collect less."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one process run the tests that share what takes seconds to make."""
    from tests.scheduling import SharingScheduling

    return SharingScheduling(config, log)


@pytest.fixture(scope="session")
def forked() -> Any:
    """Processes forked from one that has loaded the libraries: that takes each some seconds."""
    from sim.training.engines.local import signals_blocked

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    # As in a process that the local engine starts: what arrives before there is a handler waits.
    with signals_blocked():
        forkserver.ensure_running()
    return context


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in this process, which has to end with an exit code, or with any for None."""
    from validate.cli import main

    def run(*arguments: str, code: int | None = 0) -> Printed:
        capsys.readouterr()
        printed = Printed(main([*arguments]), *capsys.readouterr())
        assert printed.code == code or code is None, (arguments, printed)
        return printed

    return run


@pytest.fixture
def one_paper_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports draw one figure of the paper; tests/validate/figures and test_report draw them all."""
    from validate.figures.paper import FIGURES

    monkeypatch.setattr("validate.report.figures.FIGURES", {3: FIGURES[3]})


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures blank where they are not the point: laying one out and drawing it takes a second."""
    monkeypatch.setattr("validate.figures.style.AnyTextFigure.draw", lambda figure, renderer: None)


@pytest.fixture
def record_error(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Remember the largest error seen for equations, for docs/equations.md; each has to be below a bound."""
    errors = request.config.stash[_ERRORS]
    file = request.path.relative_to(request.config.rootpath).as_posix()

    def record(equations: str | tuple[str, ...], error: float, below: float = math.inf) -> None:
        # A maximum would hide NaN.
        assert math.isfinite(error), equations
        for equation in [equations] if isinstance(equations, str) else equations:
            of_file = errors.setdefault(equation, {})
            of_file[file] = max(float(error), of_file.get(file, 0.0))
        assert error < below, equations

    return record


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    path = session.config.getoption("--equation-errors")
    # A run that failed or was stopped may have missed a file's largest error.
    if path is not None and exitstatus == pytest.ExitCode.OK:
        path.write_text(json.dumps(session.config.stash[_ERRORS], indent=2, sort_keys=True) + "\n")
    # pytest looks for garbage twice more, Python once: what this leaves need not be looked at again.
    gc.collect()
    gc.freeze()
