"""Write the doses at which a mode of the embedding escapes, for the explorer.

A mode's escape time is its dose over the singular value of C that drives it. The dose follows from the
initial weights alone; as their entries are independent normal numbers, its distribution is the same for every
pair of unit vectors, so that random ones stand for those of any task. Takes some minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from command_line import without_arguments

from theory import EmbMLPParameters, escape_dose, escape_threshold

FILE = Path(__file__).parent / "_static" / "explorer" / "doses.js"
D_M, D_F = 200, 512
RATES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
VOCAB_SIZES = (50, 100, 200)
DRAWS = 5


def one_dose(vocab_size: int, init_rate: float, seed: int) -> float:
    """Return the dose for one draw of the weights and of the mode's two unit vectors."""
    rng = np.random.default_rng(seed)
    initial = EmbMLPParameters.draw(vocab_size, d_m=D_M, d_f=D_F, init_rate=init_rate, rng=rng)
    u, w = (v / np.linalg.norm(v) for v in rng.standard_normal((2, vocab_size)))
    return escape_dose(initial, u, w, escape_threshold(initial))


if __name__ == "__main__":
    without_arguments(__doc__)
    doses = {
        str(d): [[round(one_dose(d, rate, seed), 4) for seed in range(DRAWS)] for rate in RATES]
        for d in VOCAB_SIZES
    }
    data = {"d_m": D_M, "d_f": D_F, "rates": RATES, "doses": doses}
    made = "// Made by docs/explorer_doses.py: the dose of each draw, by vocabulary size and γ.\n"
    FILE.write_text(f"{made}(globalThis.anchorflowExplorer ??= {{}}).doses = {json.dumps(data)};\n")
