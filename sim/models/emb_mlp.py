r"""The models that can be trained: the Emb-MLP (Definition 1), and a way to call any kind.

Parameters have shape (n_members, ...), tokens (n_members, batch, L), logits (n_members, batch, d). Matrix
names and row-vector convention are the paper's for the Emb-MLP, the field's for Transformers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import Activation, EmbMLPConfig, ModelConfig, OneLayerConfig
from sim.models.inputs import check_inputs, emb_mlp_of
from sim.models.layers import ACTIVATIONS, Parameters, member_product, own_rows
from sim.models.transformer import transformer
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
    check_inputs(parameters, tokens, emb_mlp_of(parameters, activation))
    W_emb = parameters["W_emb"]
    _, vocab, width = W_emb.shape
    bags = own_rows(tokens, vocab).flatten(0, 1)
    summed = torch.nn.functional.embedding_bag(bags, W_emb.reshape(-1, width), mode="sum")
    sums = summed.view(len(tokens), -1, width)
    hidden = ACTIVATIONS[activation](member_product(sums, parameters["W1"]))
    return member_product(hidden, parameters["W2"])


@checked
def label_logits(parameters: Parameters, tokens: Tensor, model: ModelConfig) -> Tensor:
    """Return any model's logits of the label, shape (M, batch, d).

    Raises
    ------
    InputError
        If the parameters are not the model's, or a token lies outside its vocabulary.
    """
    if isinstance(model, EmbMLPConfig):
        return emb_mlp(parameters, tokens, model.activation)
    check_inputs(parameters, tokens, model)
    return transformer(parameters, tokens, model)


def widths(model: ModelConfig, vocab_size: int) -> tuple[int, ...]:
    """Return consecutive widths between which a training step multiplies: what ``choose_route`` measures."""
    if isinstance(model, EmbMLPConfig):
        return model.d_m, model.d_f, vocab_size
    d_m = vocab_size if isinstance(model, OneLayerConfig) else model.d_m
    return d_m, model.n_heads * model.d_k, d_m, model.d_f, d_m, vocab_size
