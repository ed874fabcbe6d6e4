r"""The Transformer of Appendix A.1, and the one-layer Transformer of Definition 2 as its simplest case.

Layer l of a model without norm: h = x + Attn(x), x' = h + σ(h W_in + b_in) W_out + b_out. A post norm
normalises h and x', a pre norm what attention, FFN and read-out are given. Logits are x W_U + b_U, or, in
Definition 2, x itself. Parameters of layer l are called "l.W_Q" and so on; row vectors throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from sim.config.model import AttentionModel
from sim.models.inputs import check_inputs
from sim.models.layers import ACTIVATIONS, Keep, Parameters, attention, layer_norm, linear, look_up
from theory.checked import checked


def transformer(
    parameters: Parameters,
    tokens: Tensor,
    model: AttentionModel,
    *,
    every_position: bool = False,
    keep: Keep = lambda name, value: None,
) -> Tensor:
    """Return the logits of the last place, or of every place.

    For the last place alone, the last layer's queries, FFN, norms and the read-out see nothing else:
    the same numbers, for less work.

    Parameters
    ----------
    parameters : dict of Tensor
        As ``sim.models.initial.tensor_specs`` lists them, with the member axis first.
    tokens : Tensor of int64, shape (M, B, L)
    model : OneLayerConfig or TransformerConfig
    every_position : bool, optional
        Whether to return logits for every place.
    keep : callable, optional
        Told the name and value of every intermediate; see ``forward_cache``.

    Returns
    -------
    Tensor, shape (M, B, d) or (M, B, L, d)
    """
    x = look_up(parameters["W_E"], tokens)
    if "W_pos" in parameters:
        x = x + parameters["W_pos"][:, None, : tokens.shape[2]]
    keep("0.input", x)
    for layer in range(model.n_layers):
        prefix = f"{layer}."
        own = {n.removeprefix(prefix): p for n, p in parameters.items() if n.startswith(prefix)}
        last_only = layer == model.n_layers - 1 and not every_position
        x = _layer(own, x, model, last_only, _prefixed(keep, prefix))
        keep(f"{layer + 1}.input" if layer + 1 < model.n_layers else "output", x)
    logits = _read_out(parameters, x, model)
    return logits if every_position else logits[:, :, -1]


@checked
def forward_cache(
    parameters: Parameters, tokens: Tensor, model: AttentionModel, names: Sequence[str] | None = None
) -> dict[str, Tensor]:
    """Return the intermediates of a whole forward pass, every place included, without gradients.

    Parameters
    ----------
    parameters, tokens, model
        As in ``transformer``.
    names : collection of str, optional
        The intermediates to keep, to save memory; all if not given.

    Returns
    -------
    dict of Tensor
        For each layer l: "l.input" (M, B, L, d_m); "l.attention_logits", −∞ where the mask forbids, and
        "l.attention" (M, B, H, L, L); "l.attention_out" (M, B, L, d_m); "l.hidden" (M, B, L, d_f), behind
        σ. Besides "output" (M, B, L, d_m), what the last layer gives, and "logits" (M, B, L, d).
    """
    check_inputs(parameters, tokens, model)
    found: dict[str, Tensor] = {}

    def keep(name: str, value: Tensor) -> None:
        if names is None or name in names:
            found[name] = value

    with torch.no_grad():
        keep("logits", transformer(parameters, tokens, model, every_position=True, keep=keep))
    return found


@checked
def attention_pattern(parameters: Parameters, tokens: Tensor, model: AttentionModel) -> dict[str, Tensor]:
    """Return "l.attention" and "l.attention_logits" of every layer l, shape (M, B, H, L, L)."""
    names = [
        f"{layer}.{name}" for layer in range(model.n_layers) for name in ("attention", "attention_logits")
    ]
    return forward_cache(parameters, tokens, model, names)


def _prefixed(keep: Keep, prefix: str) -> Keep:
    return lambda name, value: keep(prefix + name, value)


def _layer(p: Mapping[str, Tensor], x: Tensor, model: AttentionModel, last_only: bool, keep: Keep) -> Tensor:
    seen = _norm(p, "ln1", x, model) if model.norm == "pre" else x
    mixed = attention(p, seen, model.n_heads, last_only=last_only, keep=keep)
    keep("attention_out", mixed)
    h = (x[:, :, -1:] if last_only else x) + mixed
    if model.norm == "post":
        h = _norm(p, "ln1", h, model)
    seen = _norm(p, "ln2", h, model) if model.norm == "pre" else h
    hidden = ACTIVATIONS[model.activation](linear(seen, p["W_in"], p.get("b_in")))
    keep("hidden", hidden)
    out = h + linear(hidden, p["W_out"], p.get("b_out"))
    return _norm(p, "ln2", out, model) if model.norm == "post" else out


def _read_out(parameters: Parameters, x: Tensor, model: AttentionModel) -> Tensor:
    if model.norm == "pre":
        x = _norm(parameters, "ln_final", x, model)
    return linear(x, parameters["W_U"], parameters.get("b_U")) if "W_U" in parameters else x


def _norm(p: Mapping[str, Tensor], name: str, x: Tensor, model: AttentionModel) -> Tensor:
    return layer_norm(x, p[f"{name}.w"], p.get(f"{name}.b"), model.norm_epsilon)
