r"""The Transformer of Appendix A.1, and the one-layer Transformer of Definition 2 as its simplest case.

Layer l of a model without norm: h = x + Attn(x), x' = h + σ(h W_in + b_in) W_out + b_out. A post norm
normalises h and x', a pre norm the inputs of attention, FFN and read-out; with "pre-queries" the keys and
values of the attention are made from x itself. Logits are x W_U + b_U, or, in Definition 2, x itself.
Parameters of layer l are called "l.W_Q" and so on; row vectors throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sim.config.model import LAYER_MATRICES, PRE_NORMS, AttentionModel, OneLayerConfig, TransformerConfig
from sim.fast import transformer as by_hand
from sim.models.base import (
    Model,
    TensorSpec,
    check_inputs,
    layer_matrices,
    mean_cross_entropy,
    next_tokens,
    register_model,
    tables,
)
from sim.models.layers import ACTIVATIONS, Keep, Parameters, attention, layer_norm, linear, look_up, of_layer
from theory.edge.checked import checked


def transformer(
    parameters: Parameters,
    tokens: Tensor,
    model: AttentionModel,
    *,
    every_position: bool = False,
    keep: Keep = lambda name, value: None,
) -> Tensor:
    """Return the logits of the last position (M, B, d), or of every position (M, B, L, d).

    For the last position alone, the last layer's queries, FFN and norms and the read-out are computed only
    there: the same numbers with less work. Parameters are as ``Transformer.specs`` lists them, with the
    member axis first; ``keep`` is called with the name and value of every intermediate (``forward_cache``).
    """
    x = look_up(parameters["W_E"], tokens)
    if "W_pos" in parameters:
        x = x + parameters["W_pos"][:, None, : tokens.shape[2]]
    for layer in range(model.n_layers):
        last_only = layer == model.n_layers - 1 and not every_position
        x = _layer(of_layer(parameters, layer), f"blocks.{layer}", x, model, last_only, keep)
    if model.norm in PRE_NORMS:
        x = layer_norm(parameters, "ln_final", x, model.norm_epsilon)
    logits = linear(x, parameters["W_U"], parameters.get("b_U")) if "W_U" in parameters else x
    return logits if every_position else logits[:, :, -1]


@checked
def forward_cache(
    parameters: Parameters, tokens: Tensor, model: AttentionModel, names: Sequence[str] | None = None
) -> dict[str, Tensor]:
    """Return the intermediates of a whole forward pass, every position included, without gradients.

    Parameters
    ----------
    parameters, tokens, model
        As in ``transformer``.
    names : collection of str, optional
        The intermediates to keep, to save memory; all if not given.

    Returns
    -------
    dict of Tensor
        "logits" (M, B, L, d), and for each layer l, as TransformerLens names them: "blocks.l.hook_resid_pre",
        "blocks.l.hook_attn_out", "blocks.l.hook_resid_post" and, with a post norm,
        "blocks.l.hook_normalized_resid_post" (M, B, L, d_m); "blocks.l.attn.hook_attn_scores", −∞ where
        masked, and "blocks.l.attn.hook_pattern" (M, B, H, L, L); "blocks.l.mlp.hook_post" (M, B, L, d_f).
    """
    check_inputs(parameters, tokens, model)
    kept: dict[str, Tensor] = {}

    def keep(name: str, value: Tensor) -> None:
        if names is None or name in names:
            kept[name] = value

    with torch.no_grad():
        keep("logits", transformer(parameters, tokens, model, every_position=True, keep=keep))
    return kept


def _layer(p: Parameters, name: str, x: Tensor, model: AttentionModel, last_only: bool, keep: Keep) -> Tensor:
    keep(f"{name}.hook_resid_pre", x)
    query_input = layer_norm(p, "ln1", x, model.norm_epsilon) if model.norm in PRE_NORMS else x
    seen = query_input if model.norm == "pre" else x
    mixed, scores, pattern = attention(p, query_input, seen, model.n_heads, last_only=last_only)
    keep(f"{name}.attn.hook_attn_scores", scores)
    keep(f"{name}.attn.hook_pattern", pattern)
    keep(f"{name}.hook_attn_out", mixed)
    h = (x[:, :, -1:] if last_only else x) + mixed
    if model.norm == "post":
        h = layer_norm(p, "ln1", h, model.norm_epsilon)
    seen = layer_norm(p, "ln2", h, model.norm_epsilon) if model.norm in PRE_NORMS else h
    hidden = ACTIVATIONS[model.activation](linear(seen, p["W_in"], p.get("b_in")))
    keep(f"{name}.mlp.hook_post", hidden)
    out = h + linear(hidden, p["W_out"], p.get("b_out"))
    keep(f"{name}.hook_resid_post", out)
    if model.norm == "post":
        keep(f"{name}.hook_normalized_resid_post", out := layer_norm(p, "ln2", out, model.norm_epsilon))
    return out


class Transformer(Model[OneLayerConfig | TransformerConfig]):
    """The models of Definition 2 and Appendix A.1."""

    def __init__(self, section: OneLayerConfig | TransformerConfig) -> None:
        super().__init__(section)
        self.n_layers = section.n_layers
        positions = {"positions"} if section.positions == "learned" else set()
        self.shows = frozenset({"attention"} | positions)

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        section, d_m = self.section, self.section.width(vocab_size)
        rows = {"W_E": vocab_size} | ({"W_pos": length} if section.positions == "learned" else {})
        specs = tables(rows, d_m, section.embedding_fan_in)
        residual = 1 / math.sqrt(2 * section.n_layers) if section.scale_residual else 1.0
        for layer in range(section.n_layers):
            specs |= layer_matrices(layer, d_m, section.n_heads * section.d_k, section.d_f, residual)
        norms = () if section.norm == "none" else ("ln1", "ln2")
        for layer in range(section.n_layers):
            specs |= {f"{layer}.{norm}.w": TensorSpec((d_m,), start=1.0) for norm in norms}
        if section.norm in PRE_NORMS:
            specs["ln_final.w"] = TensorSpec((d_m,), start=1.0)
        if "W_U" in section.matrix_names():
            specs["W_U"] = TensorSpec((d_m, vocab_size), d_m)
        return specs | self._biases(specs)

    def _biases(self, specs: dict[str, TensorSpec]) -> dict[str, TensorSpec]:
        """Return the biases of matrices ("0.W_Q" → "0.b_Q") and norms ("0.ln1.w" → "0.ln1.b")."""
        section, biases = self.section, {}
        others = {"w": section.biases or section.norm_biases, "W_U": section.biases or section.read_out_bias}
        with_bias = dict.fromkeys(LAYER_MATRICES, section.biases) | others
        for name, spec in specs.items():
            layer, _, kind = name.rpartition(".")
            if kind == "w" and with_bias[kind]:
                biases[f"{layer}.b"] = TensorSpec(spec.shape)
            elif with_bias.get(kind):
                half_width = section.bias_scale / math.sqrt(spec.shape[0])
                biases[name.replace("W_", "b_")] = TensorSpec(spec.shape[-1:], half_width=half_width)
        return biases

    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        return transformer(parameters, tokens, self.section)

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        section, d_m = self.section, self.section.width(vocab_size)
        return d_m, section.n_heads * section.d_k, d_m, section.d_f, d_m, vocab_size

    def losses(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> Tensor:
        """Return the cross entropy of the labels, or of every next token and the label."""
        if self.section.loss == "last-token":
            return super().losses(parameters, tokens, labels)
        logits = transformer(parameters, tokens, self.section, every_position=True)
        return mean_cross_entropy(logits, next_tokens(tokens, labels))

    def rows(self, length: int) -> int:
        return length

    def intermediates(
        self, parameters: Parameters, tokens: Tensor, names: Sequence[str]
    ) -> dict[str, Tensor]:
        """Return intermediates by the names that ``forward_cache`` gives them."""
        return forward_cache(parameters, tokens, self.section, names)


for section in (OneLayerConfig, TransformerConfig):
    register_model(section, Transformer, gradients=by_hand.transformer)
