"""The logits of any model, with its parameters and tokens checked before the forward pass."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig, ModelConfig
from sim.config.model_section import Activation
from sim.models.base import model_of
from sim.models.layers import Parameters
from theory import InputError
from theory.checked import checked

_INTEGERS = (torch.int64, torch.int32)


@checked
def label_logits(parameters: Parameters, tokens: Tensor, model: ModelConfig) -> Tensor:
    """Return any model's logits of the label, shape (M, batch, d)."""
    check_inputs(parameters, tokens, model)
    return model_of(model).logits(parameters, tokens)


def check_inputs(parameters: Parameters, tokens: Tensor, model: ModelConfig) -> None:
    """Refuse parameters that are not those of a model of these sizes, and tokens outside its vocabulary."""
    n_members, vocab_size, _ = table_shape(parameters, model.embedding)
    _check_tokens(tokens, n_members, vocab_size)
    length = tokens.shape[2]
    if "W_pos" in parameters:
        rows = table_shape(parameters, "W_pos")[1]
        if rows < length:
            problem = f"longer than the {rows} rows of W_pos"
            raise InputError("tokens", tuple(tokens.shape), problem, "shorten them")
        length = rows
    for name, spec in model_of(model).specs(vocab_size, length).items():
        found, wanted = parameters.get(name), (n_members, *spec.shape)
        if not isinstance(found, Tensor) or tuple(found.shape) != wanted:
            shape = tuple(found.shape) if isinstance(found, Tensor) else "none"
            raise InputError(f"parameters[{name!r}]", shape, "does not fit the model", f"give shape {wanted}")


def emb_mlp_of(parameters: Parameters, activation: Activation) -> EmbMLPConfig:
    """Return the Emb-MLP that has matrices of these sizes."""
    d_m, d_f = table_shape(parameters, "W1")[1:]
    return EmbMLPConfig(d_m=d_m, d_f=d_f, activation=activation)


def table_shape(parameters: Parameters, name: str) -> tuple[int, int, int]:
    """Return the shape (M, rows, columns) of a matrix, or refuse parameters without it."""
    matrix = parameters.get(name)
    if not isinstance(matrix, Tensor) or matrix.ndim != 3:
        problem = f"no matrix {name} for each member"
        raise InputError("parameters", list(parameters), problem, "give those of a run")
    return matrix.shape[0], matrix.shape[1], matrix.shape[2]


def _check_tokens(tokens: Tensor, n_members: int, vocab_size: int) -> None:
    if tokens.dtype not in _INTEGERS or tokens.ndim != 3 or len(tokens) != n_members or tokens.numel() == 0:
        problem, remedy = "not tokens of each member", f"give integers of shape ({n_members}, batch, L)"
        raise InputError("tokens", tuple(tokens.shape), problem, remedy)
    smallest, largest = int(tokens.min()), int(tokens.max())
    if smallest < 0 or largest >= vocab_size:
        problem = f"outside the vocabulary 0..{vocab_size - 1}"
        wrong = smallest if smallest < 0 else largest
        raise InputError("tokens", wrong, problem, "give tokens of the task")
