"""Three rows of the answer, recomputed from the kept files with code of this test's own.

Nothing of ``validate.judge`` is imported: files are read by safetensors; means, intervals and ranks are those
of NumPy and SciPy. The rows are those that the command prints.
"""

import json
from itertools import combinations

import numpy as np
import pytest
from safetensors import safe_open
from scipy.stats import spearmanr, t

from tests.conftest import Cli
from validate.observe import KEPT

LEVEL, LAST, PARTS = 0.0439, 200, ("rsn_train", "rsn_test")
ANCHORS = {"memory": range(1, 11), "reasoning": range(11, 21)}


class Seed:
    """What one kept run of the printed setting shows, read from its file."""

    def __init__(self, study: str, rate: float, seed: int) -> None:
        with safe_open(KEPT / study / f"gamma{rate:g}_seed{seed}.safetensors", "numpy") as file:
            self.epochs = json.loads(file.metadata()["epochs"])
            at = self.epochs.index(LAST)
            # Anchors are rows and the first columns; a matrix is kept as 16-bit integers times its scale.
            self.matrix = file.get_tensor("cosines")[at] * (file.get_tensor("cosines|scale")[at] / 32767)
            self.accuracy = {part: file.get_tensor(f"metrics/accuracy/{part}") for part in PARTS}

    def held_out_at_half(self) -> float:
        """Interpolate held-out accuracy where training accuracy first crosses one half."""
        train, test = (self.accuracy[part] for part in PARTS)
        after = int(np.argmax(train >= 0.5))
        share = (0.5 - train[after - 1]) / (train[after] - train[after - 1])
        return float(test[after - 1] + share * (test[after] - test[after - 1]))

    def cosines(self, kind: str) -> dict[tuple[int, int], float]:
        """Return the cosine of each pair of anchors of a kind at epoch 200; anchors are rows 0 to 19."""
        return {(a, b): self.matrix[a - 1, b - 1] for a, b in combinations(ANCHORS[kind], 2)}


def seeds(rate: float) -> list[Seed]:
    return [Seed("printed", rate, 0), *(Seed("printed-seeds", rate, n) for n in range(1, 6))]


def with_interval(values: list[float]) -> str:
    mean, n = np.mean(values), len(values)
    half = t.ppf(1 - LEVEL / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    return f"{mean:.2f} [{mean - half:.2f}, {mean + half:.2f}]"


def test_bias_similarity_and_order_are_what_the_command_prints(cli: Cli) -> None:
    small, large = seeds(0.8), seeds(0.3)
    bias = [s.held_out_at_half() - other.held_out_at_half() for s, other in zip(small, large, strict=True)]
    alike = [float(np.mean([*s.cosines("memory").values()])) for s in small]
    pairs = (s.cosines("reasoning") for s in small)
    order = [float(spearmanr([b - a for a, b in own], [*own.values()]).statistic) for own in pairs]
    printed = cli("claims", "25", "26", "5", "--json", code=None).json()["claims"]
    primaries = {claim["number"]: claim["conditions"] for claim in printed}
    for number, values in ((25, bias), (26, alike), (5, order)):
        first = next(c for c in primaries[number] if (c["setting"], c["role"]) == ("printed", "endpoint"))
        assert first["values"] == pytest.approx(values, abs=2e-4)
        e = first["estimate"]
        assert f"{e['mean']:.2f} [{e['low']:.2f}, {e['high']:.2f}]" == with_interval(values)
