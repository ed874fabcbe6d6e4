"""Numbers that a user sees, recorded before the redesign: ``python -m tests.golden`` compares them.

Each module of this package has a function ``entries()`` that yields (name, array) pairs computed through
public names and commands only. Of an array its shape and three sums are recorded: plain, of squares, and
against fixed random weights, so that a change of any entry or of their order is seen.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
RTOL = 1e-9


def summary(values: Any) -> list[float]:
    """Return the shape of an array and sums that tell it from others; NaN counts as 1e9, infinity as 1e12."""
    array = np.nan_to_num(np.asarray(values, dtype=float), nan=1e9, posinf=1e12, neginf=-1e12)
    weights = np.random.default_rng(0).uniform(1, 2, array.size)
    flat = array.ravel()
    return [*array.shape, float(flat.sum()), float((flat**2).sum()), float(flat @ weights)]


def areas() -> list[str]:
    """Return the names of the modules that have entries."""
    return sorted(m.name for m in pkgutil.iter_modules([str(FOLDER)]) if m.name != "__main__")


def compute(area: str) -> dict[str, list[float]]:
    """Return the summaries of one area's entries."""
    pairs: Iterable[tuple[str, Any]] = importlib.import_module(f"tests.golden.{area}").entries()
    return {name: summary(values) for name, values in pairs}


def differences(area: str) -> list[str]:
    """Return one line for each entry of an area that is missing, new, or differs from what was recorded."""
    recorded = json.loads((FOLDER / f"{area}.json").read_text())
    computed = compute(area)
    found = [f"{area}: {name}: recorded, not computed" for name in recorded.keys() - computed.keys()]
    found += [f"{area}: {name}: computed, not recorded" for name in computed.keys() - recorded.keys()]
    for name in sorted(recorded.keys() & computed.keys()):
        was, now = recorded[name], computed[name]
        scale = max(np.sqrt(abs(was[-2])), 1e-300)
        close = len(was) == len(now) and np.allclose(now, was, rtol=RTOL, atol=RTOL * scale)
        if not close:
            found.append(f"{area}: {name}: recorded {was}, now {now}")
    return found
