"""Modules as other people write them, to initialise and to audit."""

import torch
from torch import Tensor, nn


class Conv1D(nn.Module):
    """A map from rows to rows whose weight is stored as (in, out), as in GPT-2."""

    def __init__(self, nf: int, nx: int) -> None:
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.randn(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class Layer(nn.Module):
    """Attention and a feed-forward layer behind norms."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.c_fc, self.c_proj = Conv1D(4 * width, width), Conv1D(width, 4 * width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.ln_1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.c_proj(torch.relu(self.c_fc(self.ln_2(x))))


class Language(nn.Module):
    """A small language model with a tied read-out."""

    def __init__(self, vocab_size: int = 200, width: int = 32, length: int = 12) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(2))
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
