"""The Emb-MLP trained as public code of this field trains: what the engine is measured against.

A Dataset indexed item by item, a DataLoader with shuffling, an nn.Module, clipping, AdamW and
``loss.item()`` each step; nothing is slowed down on purpose.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from sim import MemberConfig, Trainer


class Sequences(TorchDataset[tuple[Tensor, Tensor]]):
    """Labelled sequences, one at a time."""

    def __init__(self, tokens: Tensor, labels: Tensor) -> None:
        self.tokens, self.labels = tokens, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.tokens[index], self.labels[index]


class EmbMLP(nn.Module):
    """Definition 1 with torch's own modules."""

    def __init__(self, start: dict[str, Tensor]) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(start["W_emb"].clone(), freeze=False)
        self.hidden = nn.Linear(*start["W1"].shape, bias=False)
        self.readout = nn.Linear(*start["W2"].shape, bias=False)
        with torch.no_grad():
            self.hidden.weight.copy_(start["W1"].T)
            self.readout.weight.copy_(start["W2"].T)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(torch.tanh(self.hidden(self.embedding(tokens).sum(dim=1))))
        return logits


def reference_losses(member: MemberConfig, steps: int) -> list[float]:
    """Train for some steps and return each step's loss."""
    trainer = Trainer([member])
    data, t = trainer.datasets[0], member.training
    loader = DataLoader(
        Sequences(data.tokens[data.train], data.labels[data.train]),
        batch_size=int(t.batch_size),
        shuffle=True,
        generator=torch.Generator().manual_seed(0),
    )
    model = EmbMLP({name: p[0].detach() for name, p in trainer.parameters.items()})
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=t.learning_rate, betas=(t.beta1, t.beta2), weight_decay=t.weight_decay
    )
    losses: list[float] = []
    while True:
        for tokens, labels in loader:
            if len(losses) == steps:
                return losses
            loss = nn.functional.cross_entropy(model(tokens), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), t.clip_norm)
            optimizer.step()
            losses.append(loss.item())
