"""What may go wrong in training besides bad input."""

from __future__ import annotations

from collections.abc import Mapping

from theory import InputError


class BusyError(InputError):
    """Another process is writing there."""


class UnwritableError(InputError):
    """The system did not write: a full disk, a folder that may only be read."""


NOT_BEGUN = "no run was begun yet"
"""A note on what ended a command before any of its runs had a folder."""


class UnfinishedRunsError(RuntimeError):
    """Some runs did not finish, because their processes were killed; the others did.

    Parameters
    ----------
    reasons : mapping of str to str
        From the folder of each such run to what became of its process.
    n_runs : int
        How many runs there were in all.
    """

    def __init__(self, reasons: Mapping[str, str], n_runs: int) -> None:
        self.reasons, self.n_runs = dict(reasons), n_runs
        named = "; ".join(f"{path}: {reason}" for path, reason in reasons.items())
        super().__init__(f"{len(reasons)} of {n_runs} runs did not finish: {named}")

    def __reduce__(self) -> tuple[type[UnfinishedRunsError], tuple[dict[str, str], int]]:
        """Travel whole between processes."""
        return type(self), (self.reasons, self.n_runs)
