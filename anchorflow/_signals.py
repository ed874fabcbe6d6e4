"""Ctrl-C and similar signals before a command has begun and after it has ended: one line, no traceback."""

from __future__ import annotations

import os
import signal

STOPPED = 130
"""The exit code of a command that was stopped."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def stop(*_: object) -> None:
    """End this process at once; only right while nothing has to be cleaned up."""
    try:
        os.write(2, b"anchorflow: stopped\n")
    finally:
        os._exit(STOPPED)


def stop_at_once() -> None:
    """Let every signal that asks a process to stop do so at once, except for those that are ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def as_python_does() -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt`` again, and the other signals kill."""
    _set(signal.default_int_handler)


def as_the_system_does() -> None:
    """Let every signal kill: Python's own clean-up at exit would answer Ctrl-C with a traceback."""
    _set(signal.SIG_DFL)


def _set(interrupt: object) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt if number == signal.SIGINT else signal.SIG_DFL)  # type: ignore[arg-type]
