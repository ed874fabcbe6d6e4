"""The logits of any kind of model, with its inputs checked."""

from __future__ import annotations

from torch import Tensor

from sim.config.model import ModelConfig
from sim.models.base import model_of
from sim.models.inputs import check_inputs
from sim.models.layers import Parameters
from theory.checked import checked


@checked
def label_logits(parameters: Parameters, tokens: Tensor, model: ModelConfig) -> Tensor:
    """Return any model's logits of the label, shape (M, batch, d).

    Raises
    ------
    InputError
        If the parameters are not the model's, or a token lies outside its vocabulary.
    """
    check_inputs(parameters, tokens, model)
    return model_of(model).logits(parameters, tokens)
