"""Ctrl-C and similar signals before, while and after a command runs: one line, no traceback."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # Without typing, which takes a while to load.
if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def stop(number: int = signal.SIGINT, *_: object) -> None:
    """End this process at once; only right while nothing has to be cleaned up."""
    try:
        os.write(2, b"anchorflow: stopped\n")
    finally:
        os._exit(128 + number)


def stop_at_once() -> None:
    """Let every signal that asks a process to stop do so at once."""
    _set(stop)


def interrupt(number: int, *_: object) -> None:
    """Raise what Ctrl-C raises in Python, with the signal's number."""
    raise KeyboardInterrupt(number)


def stop_with_clean_up() -> None:
    """Let every signal that asks a process to stop raise ``KeyboardInterrupt``."""
    _set(interrupt)


def as_the_system_does() -> None:
    """Let every signal kill: Python's own clean-up at exit would answer Ctrl-C with a traceback."""
    _set(signal.SIG_DFL)


def _set(handler: Callable[..., None] | signal.Handlers) -> None:
    """Set the handler of every signal that asks a process to stop, except for those that are ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
