"""How well leading terms fit the trained matrices of Im et al., as kept by docs/corpus_associations.py."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

TRAINED = Path(__file__).resolve().parents[2] / "kept" / "associations.json"
"""The last step of each draw of the texts."""
DRAWS = 3


@cache
def trained(file: Path = TRAINED) -> dict[str, Any]:
    """Return what was kept: sizes, rate, steps, and under "seeds" the cosines of each draw."""
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def smallest_cosine(
    draw: int,
    kind: Literal["attention", "value", "output", "position"],
    terms: Literal["cosines", "shuffled"] = "cosines",
) -> float:
    """Return the smallest cosine over layers of a trained matrix and its leading term, for one draw of texts.

    ``terms`` are those of the texts themselves, or of the same texts shuffled.
    """
    return float(trained()["seeds"][draw][terms][kind])
