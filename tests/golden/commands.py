"""What the commands print, and the numbers in it."""

import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

from validate.cli import main


def said(*arguments: str) -> str:
    """Return what a command prints that succeeds, whatever its verdicts."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = main([*arguments])
    assert code in (0, 1), arguments
    return out.getvalue()


def command(*arguments: str) -> dict[str, float]:
    """Return every number of a command's JSON by its path."""
    return dict(leaves(json.loads(said(*arguments, "--json"))))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in nested lists and dictionaries with its path."""
    if isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)
