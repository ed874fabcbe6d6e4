"""A model of your own: logits linear in the sum of the embeddings."""

from typing import Literal

import torch
from torch import Tensor

from sim import Model, ModelSection, TensorSpec, register_model


class BagOfWordsConfig(ModelSection):
    """Its settings: every key can stand in a configuration's section ``model``."""

    embedding = "W_E"
    reads_order = False

    kind: Literal["bag-of-words"] = "bag-of-words"
    """The name in configurations."""
    d_m: int = 16
    """Embedding width."""

    def matrix_names(self) -> list[str]:
        """Return the matrices that may have a γ of their own."""
        return ["W_E", "W_U"]


class BagOfWords(Model[BagOfWordsConfig]):
    """Its tensors and its logits; autograd does the rest."""

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        """Return every tensor: its shape, and the fan-in that γ acts on."""
        d_m = self.section.d_m
        return {
            "W_E": TensorSpec((vocab_size, d_m), fan_in=d_m),
            "W_U": TensorSpec((d_m, vocab_size), fan_in=d_m),
        }

    def logits(self, parameters: dict[str, Tensor], tokens: Tensor) -> Tensor:
        """Return the logits of the label, shape (members, batch, vocabulary)."""
        members = range(len(tokens))
        return torch.stack([parameters["W_E"][m][tokens[m]].sum(-2) @ parameters["W_U"][m] for m in members])

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        """Return the widths between which a step multiplies."""
        return self.section.d_m, vocab_size


register_model(BagOfWordsConfig, BagOfWords)
