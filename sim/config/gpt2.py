"""The settings of GPT-2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from sim.config.model_section import Loss, ModelSection, Norm, Positions, Source, names_of_layers
from sim.config.section import Width, tagged
from theory import InputError

OWN_SCALED = ("W_E", "W_pos", "W_O", "W_out")
"""The matrices that ``own_scales`` keeps at GPT-2's own initial scale."""


class GPT2Config(ModelSection):
    """GPT-2: pre-norm, tied read-out, GELU (tanh form), learned positions, biases, next-token loss.

    The sizes are for two cores; those of the paper's GPT-2 are 12 layers of 12 heads at d_m = 768.
    """

    implementation: ClassVar[str] = "sim.models.gpt2:GPT2"
    embedding: ClassVar[str] = "W_E"
    reads_text: ClassVar[bool] = True
    norm: ClassVar[Norm] = "pre"
    positions: ClassVar[Positions] = "learned"
    loss: ClassVar[Loss] = "next-token"

    kind: Literal["gpt2"] = tagged("paper", "gpt2")
    """emb-mlp, one-layer, transformer or gpt2; each has keys of its own: see --model.kind KIND --help."""
    n_layers: Annotated[int, Field(ge=1, le=1000)] = tagged("chosen", 2)
    """Layers."""
    n_heads: Annotated[int, Field(ge=1, le=10_000)] = tagged("chosen", 4)
    """Heads of each layer; they divide d_m among them."""
    d_m: Width = tagged("chosen", 128)
    """Embedding width; the FFN's is four times as large."""
    norm_epsilon: Annotated[float, Field(ge=0)] = tagged("paper", 1e-5)
    """Added to the variance under a layer norm's root."""
    own_scales: bool = tagged("chosen", False)
    """Keep GPT-2's own initial scale, whatever γ is, of both tables (0.02) and of W_O and W_out
    (0.02 / √(2 n_layers)), as one of the group's scripts does."""

    @model_validator(mode="after")
    def _heads_fit(self) -> GPT2Config:
        if self.d_m % self.n_heads:
            problem = f"not divisible by n_heads = {self.n_heads}"
            raise InputError("d_m", self.d_m, problem, "give a multiple of it")
        return self

    @model_validator(mode="after")
    def _own_scales_have_no_rate(self) -> GPT2Config:
        fixed = [name for name in self.tensor_init_rates if name.rpartition(".")[2] in OWN_SCALED]
        if self.own_scales and fixed:
            problem = f"gives {fixed[0]} a γ, which own_scales keeps at GPT-2's scale"
            raise InputError("tensor_init_rates", self.tensor_init_rates, problem, "leave one of the two out")
        return self

    def matrix_names(self) -> list[str]:
        """Return the names under which matrices can be given a γ of their own."""
        return ["W_E", "W_pos", *names_of_layers(self.n_layers)]

    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""
        return self.d_m

    @property
    def first_attention_reads(self) -> Source:
        """What sets the scale of the first attention's input (Lemma 1)."""
        return "layer_norm"

    @property
    def one_initial_scale(self) -> bool:
        """Whether the first attention starts as Lemma 1 assumes."""
        return super().one_initial_scale and not self.own_scales
