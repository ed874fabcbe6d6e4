r"""The Emb-MLP (Definition 1). Row vectors; names of matrices as in the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig
from sim.config.model_section import Activation
from sim.models.base import Model, TensorSpec, check_inputs, table_shape, tables
from sim.models.layers import ACTIVATIONS, Parameters, look_up_sum
from theory.edge.checked import checked


@checked
def emb_mlp(parameters: Parameters, tokens: Tensor, activation: Activation) -> Tensor:
    r"""Return the logits :math:`G(X) = \sigma((\sum_{x \in X} w_x) W_1) W_2` (Definition 1).

    Parameters
    ----------
    parameters : dict of Tensor
        W_emb (M, d, d_m), W1 (M, d_m, d_f), W2 (M, d_f, d), for M members.
    tokens : Tensor of int64, shape (M, batch, L)
        A token that occurs twice counts twice.
    activation : str
        The name of σ.

    Returns
    -------
    Tensor, shape (M, batch, d)

    Raises
    ------
    InputError
        If the shapes of the matrices do not match, or a token lies outside their vocabulary.
    """
    d_m, d_f = table_shape(parameters, "W1")[1:]
    section = EmbMLPConfig(d_m=d_m, d_f=d_f, activation=activation)
    check_inputs(parameters, tokens, section)
    return EmbMLP(section).logits(parameters, tokens)


class EmbMLP(Model[EmbMLPConfig]):
    """The Emb-MLP of Definition 1."""

    twin = "sim.fast.layers:emb_mlp"
    shows = frozenset({"frozen flow"})

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        own = self.section
        embedding = tables({"W_emb": vocab_size}, own.d_m, own.embedding_fan_in)
        first, second = TensorSpec((own.d_m, own.d_f), own.d_m), TensorSpec((own.d_f, vocab_size), own.d_f)
        return embedding | {"W1": first, "W2": second}

    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        sums = look_up_sum(parameters["W_emb"], tokens)
        hidden = ACTIVATIONS[self.section.activation](torch.bmm(sums, parameters["W1"]))
        return torch.bmm(hidden, parameters["W2"])

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        return self.section.d_m, self.section.d_f, vocab_size
