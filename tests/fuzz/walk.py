"""Call every public function with one bad argument after another, and say how each call ended."""

from __future__ import annotations

import contextlib
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from tests.fuzz.variants import ALLOWED, must_refuse, variants
from theory import InputError, IntegrationError, OutsideValidityWarning

SECONDS = 5.0
"""A call of these sizes that keeps the processor busy for longer hangs."""
WAIT = 20
"""It hangs, too, if it takes this many times as long by the clock: it waits for what does not come."""


class Hang(BaseException):
    """Raised in a call that takes too long; no ``except Exception`` swallows it."""


@dataclass(frozen=True)
class Ending:
    """How one call with one bad argument ended.

    Attributes
    ----------
    name, argument, variant : str
    how : str
        "refused", "accepted", "taken" (accepted though it makes no sense), "hang", or the name of an
        exception that was not promised.
    message : str
    """

    name: str
    argument: str
    variant: str
    how: str
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether the call broke the promise."""
        return self.how not in ("refused", "accepted")

    def __str__(self) -> str:
        return f"{self.name}({self.argument} = {self.variant}): {self.how} {self.message}"


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise ``Hang`` in the block once it has taken too long."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Hang

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, seconds),
        (signal.ITIMER_REAL, signal.SIGALRM, WAIT * seconds),
    )
    before = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def endings(
    name: str, function: Callable[..., Any], arguments: dict[str, Any]
) -> Iterator[Callable[[], Ending]]:
    """Return calls that differ from a valid one in one argument; each says how it ended."""
    for argument, value in arguments.items():
        for variant, bad in variants(value):
            refuses = must_refuse(variant, value) and (name, argument) not in ALLOWED
            yield partial(_call, (name, argument, variant), function, arguments | {argument: bad}, refuses)


def _call(
    what: tuple[str, str, str], function: Callable[..., Any], arguments: dict[str, Any], refuses: bool
) -> Ending:
    how, message = _ending(function, arguments)
    return Ending(*what, "taken" if how == "accepted" and refuses else how, message)


def _ending(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[str, str]:
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("error")
            # A remark on how good the prediction is: no refusal, and no sign that something broke.
            warnings.simplefilter("ignore", OutsideValidityWarning)
            function(**arguments)
    except (InputError, IntegrationError) as error:
        return "refused", str(error)
    except Hang:
        return "hang", ""
    except Exception as error:
        return type(error).__name__, str(error)[:100]
    return "accepted", ""
