"""Does anything before training tell at which seeds the second attention will find the key?

python docs/theory/second_attention.py            about a minute of one core; nothing is trained

Written down before any of this was computed. At the printed setting seeds 2, 3, 4 (γ = 0.8) and 3, 5 (γ
= 0.3) of 0 to 5 attend to the key (docs/results/two_ways.md). Three numbers of each seed's own weights
and data:

1. gap: the second layer's logit on the key less the mean of those on the two anchors, from the last
   position;
2. its drift: how it changes over 100 steps along Adam's first direction, −ḡ/√(ḡ² + Var), with ḡ the mean
   of four samples of 2000 sequences;
3. the drift of the first layer's logit on the key, less the mean of those on what precedes the key, from
   the first anchor: whether attention starts to carry the key to where the other kind of seed reads it.

All are means over sums. A number tells the groups apart if it separates them without an exception, with
the same sign, at both γ. By chance one of three does in 3 · 2/(20 · 15) = 2 % of cases. At γ = 0.8 alone
it would in 3 · 2/20 = 30 %: no evidence. Expected: none does. The runs' own attention on the key at
epochs 1 and 2 (2000 and 4000 steps) does not, so that it must be a long way from here to the choice, and
3 at most has a chance.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sim.architectures.transformer import forward_cache
from sim.data.dataset import build_dataset
from theory.edge.arrays import FloatArray
from validate.observe import kept
from validate.predict.course import ModelGradients

FOUND = {0.8: (2, 3, 4), 0.3: (3, 5)}
STEPS, SAMPLES = 100, 4


def gaps(ours: ModelGradients, y: FloatArray, tokens: Tensor, place: Tensor) -> FloatArray:
    """Return the second layer's gap and the first layer's, means over sequences."""
    seen = forward_cache(
        ours.unpack(y), tokens[None], ours._model.section, [f"{layer}.attention_logits" for layer in (0, 1)]
    )
    first, second = (seen[f"{layer}.attention_logits"][0, :, 0] for layer in (0, 1))
    row = torch.arange(len(tokens))
    last = second[row, -1]
    gap = last[row, place] - (last[row, place + 1] + last[row, place + 2]) / 2
    anchor = first[row, place + 1]
    before = torch.arange(tokens.shape[1])[None] <= place[:, None]
    rest = (anchor.masked_fill(~before, 0).sum(dim=1) - anchor[row, place]) / place
    carried = (anchor[row, place] - rest)[place > 0]
    return np.array([gap.mean(), carried.mean()])


def numbers(rate: float, seed: int) -> FloatArray:
    """Return the three numbers of a seed."""
    config = next(run.config for run in kept("printed-seeds") if run.config.init_rate == rate)
    config = config.model_copy(update={"seed": seed})
    ours = ModelGradients(config, build_dataset(config), config.training.batch_size)
    y, anchors = ours.pack(ours.initial), torch.tensor(config.build_task().reasoning_anchors)
    sums = torch.isin(ours._tokens, anchors)
    tokens = ours._tokens[sums.any(dim=1)]
    place = torch.isin(tokens, anchors).int().argmax(dim=1) - 1
    mean = np.zeros_like(y)
    for _ in range(SAMPLES):
        mean += ours.mean(y) / SAMPLES
        ours._renew()
    step = config.training.learning_rate * mean / (np.sqrt(mean**2 + ours.variance(y)) + 1e-8)
    start, end = gaps(ours, y, tokens, place), gaps(ours, y - STEPS * step, tokens, place)
    return np.array([start[0], *(end - start)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for rate, found in FOUND.items():
        table = np.array([numbers(rate, seed) for seed in range(6)])
        of = np.isin(np.arange(6), found)
        for name, column in zip(
            ("gap", "drift of the gap", "drift of the first layer's"), table.T, strict=True
        ):
            apart = column[of].min() > column[~of].max() or column[of].max() < column[~of].min()
            told = f"key {np.sort(column[of])}, anchors {np.sort(column[~of])}"
            print(f"γ = {rate:g}, {name}: {told}: {'apart' if apart else 'not apart'}", flush=True)
