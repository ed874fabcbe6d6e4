r"""The Emb-MLP (Definition 1). Row vectors; names of matrices as in the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig
from sim.config.model_section import Activation
from sim.models.base import Model, TensorSpec, check_inputs, matrices, table_shape, tables
from sim.models.layers import ACTIVATIONS, Parameters, own_rows
from theory.checked import checked


@checked
def emb_mlp(parameters: Parameters, tokens: Tensor, activation: Activation) -> Tensor:
    r"""Return the logits :math:`G(X) = \sigma((\sum_{x \in X} w_x) W_1) W_2` (Definition 1).

    Parameters
    ----------
    parameters : dict of Tensor
        W_emb (M, d, d_m), W1 (M, d_m, d_f), W2 (M, d_f, d), for M members.
    tokens : Tensor of int64, shape (M, batch, L)
        A token that stands twice counts twice.
    activation : str
        The name of σ.

    Returns
    -------
    Tensor, shape (M, batch, d)

    Raises
    ------
    InputError
        If the matrices do not chain, or a token lies outside their vocabulary.
    """
    d_m, d_f = table_shape(parameters, "W1")[1:]
    check_inputs(parameters, tokens, EmbMLPConfig(d_m=d_m, d_f=d_f, activation=activation))
    return _logits(parameters, tokens, activation)


def _logits(parameters: Parameters, tokens: Tensor, activation: Activation) -> Tensor:
    W_emb = parameters["W_emb"]
    _, vocab, width = W_emb.shape
    bags = own_rows(tokens, vocab).flatten(0, 1)
    summed = torch.nn.functional.embedding_bag(bags, W_emb.reshape(-1, width), mode="sum")
    sums = summed.view(len(tokens), -1, width)
    hidden = ACTIVATIONS[activation](torch.bmm(sums, parameters["W1"]))
    return torch.bmm(hidden, parameters["W2"])


class EmbMLP(Model[EmbMLPConfig]):
    """Definition 1."""

    twin = "sim.fast.emb_mlp:emb_mlp"
    shows = frozenset({"frozen flow"})

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        own = self.section
        embedding = tables({"W_emb": vocab_size}, own.d_m, own.embedding_fan_in)
        return embedding | matrices({"W1": (own.d_m, own.d_f), "W2": (own.d_f, vocab_size)})

    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        return _logits(parameters, tokens, self.section.activation)

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        return self.section.d_m, self.section.d_f, vocab_size
