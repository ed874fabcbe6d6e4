"""The models trained as public code of this field trains: what the engine is measured against.

A Dataset indexed item by item, a DataLoader, an nn.Module that gives the logits of every position, clipping,
AdamW and ``loss.item()`` each step; nothing is slowed down on purpose.
"""

import itertools
import math

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from sim import Trainer
from sim.config.model import TransformerConfig
from sim.optimizers.adamw import AdamW


def linear(weight: Tensor) -> nn.Linear:
    """Return torch's layer with the engine's matrix, which maps rows to rows."""
    layer = nn.Linear(*weight.shape, bias=False)  # type: ignore[misc]
    with torch.no_grad():
        layer.weight.copy_(weight.T)
    return layer


class EmbMLP(nn.Module):
    """Definition 1 with torch's own modules."""

    def __init__(self, start: dict[str, Tensor]) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(start["W_emb"].clone(), freeze=False)
        self.hidden, self.readout = linear(start["W1"]), linear(start["W2"])

    def forward(self, tokens: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.hidden(self.embedding(tokens).sum(dim=1))))


class Block(nn.Module):
    """A layer with one head, in front of or behind its norms."""

    def __init__(self, start: dict[str, Tensor], prefix: str, norm: str) -> None:
        super().__init__()
        names = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
        self.W_Q, self.W_K, self.W_V, self.W_O, self.W_in, self.W_out = (
            linear(start[prefix + name]) for name in names
        )
        self.is_pre, width = norm == "pre", len(start["W_E"][0])
        self.ln1, self.ln2 = (
            nn.Identity() if norm == "none" else nn.LayerNorm(width, bias=False) for _ in range(2)
        )

    def attend(self, x: Tensor) -> Tensor:
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device), 1)
        weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        return self.W_O(weights @ v)

    def transform(self, x: Tensor) -> Tensor:
        return self.W_out(torch.relu(self.W_in(x)))

    def forward(self, x: Tensor) -> Tensor:
        if self.is_pre:
            x = x + self.attend(self.ln1(x))
            return x + self.transform(self.ln2(x))
        x = self.ln1(x + self.attend(x))
        return self.ln2(x + self.transform(x))


class Transformer(nn.Module):
    """The Transformer of Appendix A.1 with torch's own modules; logits of every position."""

    def __init__(self, start: dict[str, Tensor], model: TransformerConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding.from_pretrained(start["W_E"].clone(), freeze=False)
        self.positions = nn.Embedding.from_pretrained(start["W_pos"].clone(), freeze=False)
        self.blocks = nn.ModuleList(Block(start, f"{i}.", model.norm) for i in range(model.n_layers))
        self.final = nn.LayerNorm(model.d_m, bias=False) if model.norm == "pre" else nn.Identity()
        self.readout = linear(start["W_U"])

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.readout(self.final(x))[:, -1]


class PlainLoop:
    """A training loop that can be asked for some more steps.

    Parameters
    ----------
    trainer : Trainer
        Whose first member's data, start and order of the first epoch it takes; ReLU or tanh, no biases.
    device : str, optional
        Where the model lies; the data come from the host, batch by batch.
    """

    def __init__(self, trainer: Trainer, device: str = "cpu") -> None:
        data, t = trainer.datasets[0], trainer.training
        start = {name: p[0].clone() for name, p in trainer.parameters.items()}
        self.model: nn.Module = (
            Transformer(start, trainer.model)
            if isinstance(trainer.model, TransformerConfig)
            else EmbMLP(start)
        )
        loader = DataLoader(
            TensorDataset(data.tokens[data.train], data.labels[data.train]),
            batch_size=int(t.batch_size),
            sampler=trainer.batches.order[0].tolist(),
        )
        self.clip_norm, self.device = t.clip_norm, device
        self.model.to(device)
        assert isinstance(t, AdamW)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=t.learning_rate, betas=(t.beta1, t.beta2), weight_decay=t.weight_decay
        )
        self.batches = itertools.chain.from_iterable(itertools.repeat(loader))

    def steps(self, count: int) -> list[float]:
        """Take some steps and return each one's loss."""
        losses = []
        for tokens, labels in itertools.islice(self.batches, count):
            tokens, labels = tokens.to(self.device), labels.to(self.device)
            loss = nn.functional.cross_entropy(self.model(tokens), labels)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
            self.optimizer.step()
            losses.append(loss.item())
        return losses
