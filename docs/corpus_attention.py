"""Rung 5 with attention behind norms, for docs/theory/corpus_ladder.md: what has moved after the first steps.

Run as ``python docs/corpus_attention.py FOLDER 1 12``: the folder of docs/corpus_rungs.py, and numbers of
layers. They are GPT-2's at γ = 0.8, frozen: attention averages, and feed-forward layers have no curvature.
AdamW moves the tied embedding and the positions at p ≡ u. A minute for one layer, ten for twelve.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from command_line import CORPORA, CommandLine, folder_with
from corpus_rungs import BATCH, GAMMA, GPT2_WIDTH, NORM_EPSILON, RATE, WIDTH, Mixture, mean_cosine
from torch import Tensor

SCALE = GPT2_WIDTH / WIDTH
"""By which embedding, branches and rate are larger than at GPT-2's width."""
STEPS = (1, 3, 10)


class Averaging:
    """The layers, and what AdamW moves.

    Parameters
    ----------
    n, n_absent, length : int
        Tokens that occur, tokens that do not, and positions.
    n_layers : int
    """

    def __init__(self, n: int, n_absent: int, length: int, n_layers: int) -> None:
        std, wide = GPT2_WIDTH**-GAMMA, (4 * GPT2_WIDTH) ** -GAMMA
        generator = torch.Generator().manual_seed(0)

        def normal(std: float, *shape: int) -> Tensor:
            return SCALE * std * torch.randn(shape, generator=generator)

        self.E, self.P, self.absent = normal(std, n, WIDTH), normal(std, length, WIDTH), torch.zeros(WIDTH)
        self.n_absent = n_absent
        # The gain of two matrices in a row, W_V W_O and W_in W_out, the latter with GELU's slope of a half.
        attention = GPT2_WIDTH * std**2 * WIDTH**-0.5
        forward = 0.5 * 2 * GPT2_WIDTH * std * wide * WIDTH**-0.5
        self.layers = [
            (normal(attention, WIDTH, WIDTH), normal(forward, WIDTH, WIDTH)) for _ in range(n_layers)
        ]

    def gradients(self, texts: list[np.ndarray]) -> None:
        """Set the gradients of the loss at p ≡ u, −E h (W_y − mean W)."""
        longest = max(map(len, texts)) - 1
        tokens, labels = (torch.full((len(texts), longest), fill) for fill in (0, -1))
        for row, text in enumerate(map(torch.from_numpy, texts)):
            tokens[row, : len(text) - 1], labels[row, : len(text) - 1] = text[:-1], text[1:]
        known = labels >= 0
        h = self.hidden(tokens)[known]
        mean = (self.E.sum(0) + self.n_absent * self.absent) / (len(self.E) + self.n_absent)
        torch.autograd.backward(-(h * (self.E[labels[known]] - mean)).sum() / len(h))
        # That of one of the absent tokens, which all have the same.
        assert self.absent.grad is not None
        self.absent.grad /= self.n_absent

    def hidden(self, tokens: Tensor) -> Tensor:
        """Return what the read-out sees, shape (B, T, WIDTH)."""
        x = self.E[tokens] + self.P[: tokens.shape[1]]
        seen = torch.arange(1, tokens.shape[1] + 1)[:, None]
        for attention, forward in self.layers:
            x = x + torch.cumsum(_norm(x), dim=1) / seen @ attention
            x = x + _norm(x) @ forward
        return _norm(x)


def _norm(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, (WIDTH,), eps=SCALE**2 * NORM_EPSILON)


def main(folder: Path, depths: list[int]) -> Iterator[str]:
    """Return a line for each depth and step."""
    mixture = Mixture.read(folder).trimmed()
    n = len(np.union1d(mixture.asked, mixture.told))
    longest = max(map(len, mixture.texts))
    for depth in depths:
        model = Averaging(n, mixture.vocab_size - n, longest, depth)
        moving = [tensor.requires_grad_() for tensor in (model.E, model.P, model.absent)]
        start, optimiser = (
            model.E.detach().clone(),
            torch.optim.AdamW(moving, lr=SCALE * RATE, weight_decay=0.0),
        )
        order = np.random.default_rng(0).permutation(len(mixture.texts))
        for step in range(1, STEPS[-1] + 1):
            optimiser.zero_grad()
            model.gradients([mixture.texts[i] for i in order[(step - 1) * BATCH : step * BATCH]])
            optimiser.step()
            if step in STEPS:
                now = model.E.detach()
                found = [
                    r[t].double().numpy() for r in (now, now - start) for t in (mixture.asked, mixture.told)
                ]
                cells = " | ".join(f"{mean_cosine(rows):.3f}" for rows in found)
                yield f"| {depth} layer{'s' * (depth > 1)}, step {step} | {cells} |"


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with(*CORPORA))
    parser.add_argument("layers", type=int, nargs="+")
    options = parser.parse_args()
    for line in main(options.folder, options.layers):
        print(line, flush=True)
