"""The cosines that a narrow network predicts for the demo's runs and those of Fig. 4, kept for their figures.

python docs/theory/narrow_cosines.py            a minute or two of one processor; no run is used
"""

from __future__ import annotations

import json
from typing import Any

from printing import without_arguments

from sim.config.run import make_member_config
from theory import off_diagonal
from validate.compare.flow import flow_cosines
from validate.figures.narrow import KEPT

ACCURACIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def main() -> None:
    """Predict at the small γ of the figures, and write the file."""
    found: dict[str, Any] = {"accuracies": ACCURACIES, "seconds": {}, "cosines": {}}
    for rate in ("0.8", "0.5"):
        config = {"task": "emb-mlp", "init_rate": float(rate), "seed": 0, "training": {"epochs": 100}}
        matrices, apart, _, seconds = flow_cosines(make_member_config(config), ACCURACIES)
        told = f"{seconds:.0f} s; two starts apart by {min(apart):.3f} to {max(apart):.3f}"
        print(f"γ = {rate}: {told}", flush=True)
        found["seconds"][rate] = round(seconds, 1)
        found["cosines"][rate] = [off_diagonal(matrix).round(3).tolist() for matrix in matrices]
    KEPT.write_text(json.dumps(found, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    without_arguments(__doc__)
    main()
