"""The kinds of bad input, each a generator of cases; how calls and commands end, run under a limit."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from theory import InputError, IntegrationError, OutsideValidityWarning
from validate.cli import main

SECONDS, WAIT = 5.0, 20
"""A case hangs if it keeps the processor busy for so long, or takes so many times as long by the clock."""
MEMORY = 2 * 2**30
"""What the machine is taken to have, so that commands end alike on all."""
CODES = {0, 1, 2, 3, 130}
"""The exit codes that ``anchorflow --help`` promises."""
PROMISED = ("refused", "accepted")

KINDS = {
    **{f"calls of {package}": "calls" for package in ("theory", "sim", "validate")},
    "command lines": "command_lines",
    **dict.fromkeys(("edited outputs", "followed remedies"), "disturbed"),
    "strangers folders": "strangers",
}
"""Every kind, and the module with its generator, which takes the empty folder that is the current one."""


class Hang(BaseException):
    """Raised in a case that takes too long; no ``except Exception`` swallows it."""


@dataclass(frozen=True)
class Ending:
    """How a case ended: as promised, or in another way, which fails it; and what was said."""

    case: str
    how: str
    said: str = ""

    @property
    def failed(self) -> bool:
        """Whether the promise was broken."""
        return self.how not in PROMISED

    def __str__(self) -> str:
        return f"{self.case}: {self.how} {self.said[-120:]}"

    def of(self, case: str, broken: str = "") -> Ending:
        """Return this ending under a case's name; ``broken`` says what went wrong beside it."""
        return Ending(case, broken if broken and not self.failed else self.how, self.said)


Case = Callable[[], Ending]


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise ``Hang`` in the block once it has taken too long, and errors for warnings."""

    def stop(*_: object) -> NoReturn:
        raise Hang

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, WAIT * seconds),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        for number, handler in before.items():
            signal.setitimer(timers[number][0], 0)
            signal.signal(number, handler)


def called(case: str, function: Callable[[], object]) -> Ending:
    """Return how a call ended: "refused", "accepted", "hang", or an exception that was not promised."""
    try:
        with limited(SECONDS):
            # A remark on how good a prediction is: no refusal, and no sign that something broke.
            warnings.simplefilter("ignore", OutsideValidityWarning)
            function()
    except (InputError, IntegrationError) as error:
        return Ending(case, "refused", str(error))
    except Hang:
        return Ending(case, "hang")
    except Exception as error:
        return Ending(case, type(error).__name__, str(error)[:100])
    return Ending(case, "accepted")


def ran(arguments: Sequence[str]) -> Ending:
    """Return how a command line ended, run in this process."""
    err, case = io.StringIO(), " ".join(arguments)[:120]
    try:
        with (
            patch("theory.edge.errors.machine_memory", return_value=MEMORY),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(err),
            limited(6 * SECONDS),
        ):
            code: object = main(list(arguments))
    except Hang:
        return Ending(case, "hang")
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:
        return Ending(case, type(error).__name__, str(error))
    said = err.getvalue().strip()
    if code not in CODES or "Traceback" in said:
        how = f"exit code {code}"
    elif code == 2 and not said.split("\n")[-1].startswith("anchorflow"):
        how = "no reason given"
    else:
        how = "refused" if code == 2 else "accepted"
    return Ending(case, how, said)


def ran_cases(kind: str, every: int = 1) -> list[Ending]:
    """Return how the cases of a kind end, of which one in ``every`` is run, in an empty folder.

    A bad text may be a good name for a folder, and is then one in there.
    """
    module = importlib.import_module(f"tests.fuzz.{KINDS[kind]}")
    with tempfile.TemporaryDirectory(prefix="anchorflow-fuzz-") as folder, contextlib.chdir(folder):
        cases: Iterator[Case] = getattr(module, kind.replace(" ", "_"))(Path(folder))
        return [case() for case in islice(cases, 0, None, every)]
