r"""GPT-2: pre-norm, tied read-out, GELU in its tanh form, learned positions, biases everywhere.

Layer l: h = x + Attn(ln1(x)), x' = h + gelu(ln2(h) W_in + b_in) W_out + b_out; logits are ln_final(x) W_Eᵀ.
Tensors are named as in ``sim.architectures.transformer``. A token below 0 is padding: it comes after a
sequence, where no real position sees it, and is never a target.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from sim.config.model import GPT2Config
from sim.fast.gpt2 import gpt2
from sim.models.base import Model, Scores, TensorSpec, layer_matrices, next_tokens, register_model, tables
from sim.models.layers import Parameters, heads, layer_norm, linear, linear_together, look_up, of_layer


class GPT2(Model[GPT2Config]):
    """GPT-2 at any size."""

    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        section, d_m = self.section, self.section.d_m
        specs = tables({"W_E": vocab_size, "W_pos": length}, d_m, section.embedding_fan_in)
        for layer in range(section.n_layers):
            maps = layer_matrices(layer, d_m, d_m, 4 * d_m)
            specs |= maps | {n.replace("W_", "b_"): TensorSpec(spec.shape[1:]) for n, spec in maps.items()}
        norms = [f"{layer}.{norm}" for layer in range(section.n_layers) for norm in ("ln1", "ln2")]
        for norm in (*norms, "ln_final"):
            specs |= {f"{norm}.w": TensorSpec((d_m,), start=1.0), f"{norm}.b": TensorSpec((d_m,))}
        return specs

    def hidden(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        """Return the input of the read-out, shape (M, B, L, d_m)."""
        section = self.section
        x = look_up(parameters["W_E"], tokens.clamp(min=0)) + parameters["W_pos"][:, None, : tokens.shape[2]]
        for layer in range(section.n_layers):
            p = of_layer(parameters, layer)
            projected = linear_together(p, layer_norm(p, "ln1", x, section.norm_epsilon), "QKV")
            q, k, v = (heads(part, section.n_heads) for part in projected)
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + linear(mixed.transpose(2, 3).flatten(3), p["W_O"], p["b_O"])
            raw = linear(layer_norm(p, "ln2", x, section.norm_epsilon), p["W_in"], p["b_in"])
            x = x + linear(torch.nn.functional.gelu(raw, approximate="tanh"), p["W_out"], p["b_out"])
        return layer_norm(parameters, "ln_final", x, section.norm_epsilon)

    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        """Return the logits of the label, after the last token of each sequence, shape (M, B, d)."""
        last = (tokens >= 0).sum(dim=-1) - 1
        x = self.hidden(parameters, tokens)
        x = x.gather(2, last[..., None, None].expand(*last.shape, 1, x.shape[-1]))
        return linear(x, parameters["W_E"].mT, None)[:, :, 0]

    def losses(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> Tensor:
        """Return each member's mean cross entropy over all next tokens of a batch, shape (M,)."""
        pairs = self._predictions(parameters, tokens, labels)
        return torch.stack([cross_entropy(logits, targets) for logits, targets in pairs])

    @torch.no_grad()
    def scores(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> Scores:
        """Return the sums over all next tokens of the first member's sequences."""
        logits, targets = next(self._predictions(parameters, tokens, labels))
        loss = cross_entropy(logits.double(), targets, reduction="sum")
        return Scores(float(loss), float((logits.argmax(dim=1) == targets).sum()), len(targets))

    def _predictions(
        self, parameters: Parameters, tokens: Tensor, labels: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield each member's logits wherever a token follows, and those tokens."""
        x, targets = self.hidden(parameters, tokens), next_tokens(tokens, labels)
        for of_member, table, target in zip(x, parameters["W_E"], targets, strict=True):
            real = target >= 0
            yield of_member[real] @ table.T, target[real]

    def widths(self, vocab_size: int) -> tuple[int, ...]:
        d_m = self.section.d_m
        return d_m, d_m, d_m, 4 * d_m, d_m, vocab_size

    def rows(self, length: int) -> int:
        return length


register_model(GPT2Config, GPT2, gradients=gpt2)
