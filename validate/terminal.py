"""What is known of the terminal, or of the pipe or file in its place."""

from __future__ import annotations

import shutil

NARROWEST, WIDEST_TEXT = 40, 100


def terminal_width() -> int:
    """Return the columns of the terminal, at least so many that a word fits."""
    return max(shutil.get_terminal_size().columns, NARROWEST)


def output_width() -> int:
    """Return the columns that running text is wrapped to."""
    return min(terminal_width(), WIDEST_TEXT)
