"""Errors in training other than bad input."""

from __future__ import annotations

from collections.abc import Mapping

from theory import InputError


class BusyError(InputError):
    """Another process is writing there."""


class UnwritableError(InputError):
    """The system could not write: a full disk, or a read-only folder."""


class DamagedError(ValueError):
    """A file's content is not what this program writes; the message says what is wrong."""


NOT_BEGUN = "before any run started"
"""A note on an error that ended a command before any of its runs had a folder."""


class UnfinishedRunsError(RuntimeError):
    """Some runs did not finish, because their processes were killed; the others did, or were stopped.

    ``reasons`` maps the folder of each such run to what became of its process; of all ``n_runs``, another
    ``n_stopped`` did not finish because they were asked to stop.
    """

    def __init__(self, reasons: Mapping[str, str], n_runs: int, n_stopped: int = 0) -> None:
        self.reasons, self.n_runs, self.n_stopped = dict(reasons), n_runs, n_stopped
        # All three, so that nothing is lost when the error is pickled.
        super().__init__(self.reasons, n_runs, n_stopped)

    def __str__(self) -> str:
        named = "; ".join(f"{path}: {reason}" for path, reason in self.reasons.items())
        verb = "was" if self.n_stopped == 1 else "were"
        others = f"; {self.n_stopped} more {verb} stopped" if self.n_stopped else ""
        return f"{len(self.reasons) + self.n_stopped} of {self.n_runs} runs did not finish: {named}{others}"
