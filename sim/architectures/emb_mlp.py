r"""The Emb-MLP, :math:`G(X) = \sigma((\sum_{x \in X} w_x) W_1) W_2` (Definition 1). Row vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig
from sim.fast.layers import emb_mlp
from sim.models.base import Model, TensorSpec, register_model, tables
from sim.models.layers import ACTIVATIONS, Parameters, look_up_sum


class EmbMLP(Model[EmbMLPConfig]):
    """The Emb-MLP of Definition 1."""

    shows = frozenset({"frozen flow"})

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        d_m, d_f = self.section.d_m, self.section.d_f
        embedding = tables({"W_emb": vocab_size}, d_m, self.section.embedding_fan_in)
        return embedding | {"W1": TensorSpec((d_m, d_f), d_m), "W2": TensorSpec((d_f, vocab_size), d_f)}

    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        sums = look_up_sum(parameters["W_emb"], tokens)
        hidden = ACTIVATIONS[self.section.activation](torch.bmm(sums, parameters["W1"]))
        return torch.bmm(hidden, parameters["W2"])

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        return self.section.d_m, self.section.d_f, vocab_size


register_model(EmbMLPConfig, EmbMLP, gradients=emb_mlp)
