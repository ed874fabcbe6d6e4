"""Ctrl-C and similar signals before, during and after a command: one line, no traceback."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # Instead of typing's, which takes a while to load.
if TYPE_CHECKING:
    from collections.abc import Callable

POSIX = hasattr(signal, "SIGHUP")
"""Whether this system has the signals that the command lives by; Windows has not."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP, signal.SIGQUIT) if POSIX else ()))


def stop(number: int = signal.SIGINT, *_: object) -> None:
    """End this process at once; use it only while there is nothing to clean up."""
    try:
        os.write(2, b"anchorflow: stopped\n")
    finally:
        os._exit(128 + number)


def stop_at_once() -> None:
    """Make every signal that asks a process to stop end it at once."""
    _set(stop)


def interrupt(number: int, *_: object) -> None:
    """Raise ``KeyboardInterrupt``, as Python does on Ctrl-C, with the signal's number."""
    raise KeyboardInterrupt(number)


def stop_with_clean_up() -> None:
    """Make every signal that asks a process to stop raise ``KeyboardInterrupt``."""
    _set(interrupt)


def as_the_system_does() -> None:
    """Let every signal kill the process: Python's clean-up at exit would answer Ctrl-C with a traceback."""
    _set(signal.SIG_DFL)


def _set(handler: Callable[..., None] | signal.Handlers) -> None:
    """Set the handler of every signal that asks a process to stop, except for those that are ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
