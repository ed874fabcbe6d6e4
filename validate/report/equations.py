"""The rows of the table of equations that belong to some functions: what a report rests on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from theory.checked import checked

_ROWS = Path(__file__).with_suffix(".json")
"""Written by docs/make_equations.py from docs/equations.toml and the errors that the tests recorded."""


@checked
def equations_behind(functions: Iterable[str]) -> list[dict[str, Any]]:
    """Return the equations that some functions compute, in the order of the paper.

    Parameters
    ----------
    functions : iterable of str
        Names as "theory.label_distribution".

    Returns
    -------
    list of dict
        equation, says, functions, derivation (its name for ``anchorflow derive``, or None), largest_error
        (the largest that the tests saw, or None) and standing (what such an error means).
    """
    used = set(functions)
    return [row for row in _rows() if used.intersection(row["functions"])]


@cache
def _rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_ROWS.read_text(encoding="utf-8"))
    return found
