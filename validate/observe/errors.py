"""What may be missing from runs, one class each."""

from theory import InputError


class NoRunsError(InputError):
    """A study, or a variant of it, has no runs where they were looked for."""


class NotObservedError(InputError):
    """A run has no such observable."""
