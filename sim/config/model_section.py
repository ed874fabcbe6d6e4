"""What every kind of model has in its section of a configuration."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from sim.config.section import Section, tagged
from theory.errors import unknown_name

Activation = Literal["tanh", "relu", "gelu", "identity"]
FanIn = Literal["d_m", "d_vob"]
Norm = Literal["post", "pre", "pre-queries", "none"]
Positions = Literal["learned", "none"]
Loss = Literal["last-token", "next-token"]
Embedding = Literal["random", "label-distributions", "shuffled-distributions"]
Source = Literal["embedding", "position", "layer_norm"]
PRE_NORMS: tuple[Norm, ...] = ("pre", "pre-queries")
"""Layer norm before attention, FFN and read-out."""
LAYER_MATRICES = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
"""The matrices of a Transformer's layer; "0.W_Q" is that of the first layer, "W_Q" those of all."""


class ModelSection(Section):
    """The settings that every kind of model has. A kind is a subclass with a ``kind`` of its own.

    Its matrices and its computations are in the class that ``implementation`` names, a
    ``sim.models.base.Model``, imported when it is first needed: reading a configuration does not wait for
    torch.
    """

    implementation: ClassVar[str]
    """The model's class, as "module:class"."""
    embedding: ClassVar[str]
    """The name of the embedding's tensor."""
    reads_text: ClassVar[bool] = False
    """Whether it predicts every next token of sequences that may be padded, so that it can train on text."""
    reads_order: ClassVar[bool] = True
    """Whether its answer may depend on the order of the tokens; a sum of embeddings has none."""

    kind: str = ""
    embedding_fan_in: FanIn = tagged("chosen", "d_m")
    """Which dimension γ acts on for the embedding (and W_pos): d_m, or its rows; others use their fan-in."""
    initial_embedding: Embedding = tagged("paper", "random")
    """How the embedding starts: drawn, as the theory predicts it (rows along r_s (P^s − P̄)), or with these
    rows exchanged among each mapping's anchors."""
    tensor_init_rates: dict[str, Annotated[float, Field(ge=-5, le=5)]] = tagged("chosen", {})
    """γ of single matrices ("0.W_Q") or of all layers' ("W_Q"), instead of the run's γ."""

    @abstractmethod
    def matrix_names(self) -> list[str]:
        """Return the names under which matrices can be given a γ of their own."""

    @abstractmethod
    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""

    @property
    def first_attention_reads(self) -> Source | None:
        """What sets the scale of the first attention's input (Lemma 1); None without attention."""
        return None

    @property
    def one_initial_scale(self) -> bool:
        """Whether the first attention starts as Lemma 1 assumes: matrices at one scale, no biases."""
        return not self.tensor_init_rates and self.embedding_fan_in == "d_m"

    @model_validator(mode="after")
    def _known_matrices(self) -> ModelSection:
        for name in self.tensor_init_rates:
            if name not in self.matrix_names():
                raise unknown_name("matrix", name, self.matrix_names(), "tensor_init_rates")
        return self


def names_of_layers(n_layers: int) -> list[str]:
    """Return the names of layers' matrices: of all layers alike, and of each."""
    return [*LAYER_MATRICES, *(f"{layer}.{name}" for layer in range(n_layers) for name in LAYER_MATRICES)]
