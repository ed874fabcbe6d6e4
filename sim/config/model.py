"""Which model a run trains: one section for each kind, distinguished by ``kind``.

Sources are as in ``sim.config.run``. A setting that is fixed for a kind is a class constant beside the
others, so that code for several kinds may ask any of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from sim.config.section import Registry, Section, Width, tagged
from theory import InputError
from theory.edge.errors import unknown_name

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

    Its matrices and its computations are in a ``sim.Model``, which ``sim.register_model`` joins to it.
    """

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

    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""
        width: int = getattr(self, "d_m")  # noqa: B009  # Most kinds have it as a key.
        return width

    @property
    def first_attention_reads(self) -> Source | None:
        """What sets the scale of the first attention's input (Lemma 1); None without attention."""
        return None

    @property
    def one_initial_scale(self) -> bool:
        """Whether the first attention starts as Lemma 1 assumes: matrices at one scale, no biases."""
        drawn = self.initial_embedding == "random" and self.embedding_fan_in == "d_m"
        return drawn and not self.tensor_init_rates

    @model_validator(mode="after")
    def _known_matrices(self) -> ModelSection:
        for name in self.tensor_init_rates:
            if name not in self.matrix_names():
                raise unknown_name("matrix", name, self.matrix_names(), "tensor_init_rates")
        return self


def _names_of_layers(n_layers: int) -> list[str]:
    """Return the names of layers' matrices: of all layers alike, and of each."""
    return [*LAYER_MATRICES, *(f"{layer}.{name}" for layer in range(n_layers) for name in LAYER_MATRICES)]


KINDS = Registry[ModelSection](
    ModelSection, "kind", "emb-mlp", "sim.architectures", but=("emb_mlp", "gpt2", "transformer")
)
"""The kinds of model; the settings of our own are below, so that reading them does not wait for torch."""


def kind_of(model: Any) -> Any:
    """Return the kind that a model section names: emb-mlp where it names none."""
    return model.get("kind", KINDS.usual) if isinstance(model, Mapping) else getattr(model, "kind", None)


def _read(model: Any) -> Any:
    """Return a table as the section of its kind."""
    return KINDS.named_in(model)(**model) if isinstance(model, Mapping) else model


ModelConfig = Annotated[SerializeAsAny[ModelSection], BeforeValidator(_read)]
"""A section of any registered kind; a table without ``kind`` is an Emb-MLP."""


@KINDS.add
class EmbMLPConfig(ModelSection):
    """The Emb-MLP of Definition 1."""

    embedding: ClassVar[str] = "W_emb"
    reads_order: ClassVar[bool] = False

    kind: Literal["emb-mlp"] = tagged("paper", "emb-mlp")
    """The kind of model; each has keys of its own: --model.kind KIND --help."""
    d_m: Width = tagged("paper", 200)
    """Embedding width."""
    d_f: Width = tagged("paper", 512)
    """Hidden width."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""

    def matrix_names(self) -> list[str]:
        return ["W_emb", "W1", "W2"]


@KINDS.add
class OneLayerConfig(ModelSection):
    """The one-layer Transformer of Definition 2: d_m = d_vob, no norm, no positions, no read-out."""

    embedding: ClassVar[str] = "W_E"
    n_layers: ClassVar[int] = 1
    n_heads: ClassVar[int] = 1
    norm: ClassVar[Norm] = "none"
    norm_epsilon: ClassVar[float] = 0.0
    biases: ClassVar[bool] = False
    norm_biases: ClassVar[bool] = False
    read_out_bias: ClassVar[bool] = False
    bias_scale: ClassVar[float] = 0.0
    scale_residual: ClassVar[bool] = False
    positions: ClassVar[Positions] = "none"
    first_attention_reads: ClassVar[Source] = "embedding"
    loss: ClassVar[Loss] = "last-token"

    kind: Literal["one-layer"] = tagged("paper", "one-layer")
    """The kind of model; each has keys of its own: --model.kind KIND --help."""
    d_f: Width = tagged("chosen", 512)
    """Hidden width; the paper does not train this model, so sizes are its Transformer's."""
    d_k: Width = tagged("chosen", 64)
    """Width of queries, keys and values."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""

    def matrix_names(self) -> list[str]:
        return ["W_E", *_names_of_layers(1)]

    def width(self, vocab_size: int) -> int:
        return vocab_size


@KINDS.add
class TransformerConfig(ModelSection):
    """The Transformer of Appendix A.1."""

    embedding: ClassVar[str] = "W_E"

    kind: Literal["transformer"] = tagged("paper", "transformer")
    """The kind of model; each has keys of its own: --model.kind KIND --help."""
    n_layers: int = tagged("paper", 2, ge=1, le=1000)
    """Layers."""
    n_heads: int = tagged("paper", 1, ge=1, le=10_000)
    """Heads of each layer."""
    d_m: Width = tagged("paper", 200)
    """Embedding width."""
    d_f: Width = tagged("paper", 512)
    """Hidden width."""
    d_k: Width = tagged("paper", 64)
    """Width of queries, keys and values of each head."""
    norm: Norm = tagged("chosen", "post")
    """Layer norm after each residual sum, before attention, FFN and read-out, or nowhere; pre-queries is
    pre with keys and values from the residual stream itself."""
    norm_epsilon: float = tagged("chosen", 1e-5, ge=0)
    """Added to the variance under a layer norm's root."""
    activation: Activation = tagged("chosen", "relu")
    """σ of the FFN."""
    biases: bool = tagged("chosen", False)
    """Whether all linear maps and layer norms have biases."""
    norm_biases: bool = tagged("chosen", False)
    """Whether layer norms have biases even if the linear maps have none; they start at zero."""
    read_out_bias: bool = tagged("chosen", False)
    """Whether the read-out has a bias even if the other maps have none."""
    bias_scale: float = tagged("chosen", 0.0, ge=0, le=1000)
    """Biases of linear maps start uniform within ± this / √fan-in: 0 for zero, 1 as torch does."""
    scale_residual: bool = tagged("chosen", False)
    """Divide the initial W_O and W_out, which write to the residual stream, by √(2 n_layers)."""
    positions: Positions = tagged("paper", "learned")
    """Trained position vectors, or none."""
    loss: Loss = tagged("paper", "last-token")
    """Cross entropy of the label alone, or of every next token and the label."""

    def matrix_names(self) -> list[str]:
        positions = ["W_pos"] if self.positions == "learned" else []
        return ["W_E", *positions, *_names_of_layers(self.n_layers), "W_U"]

    @property
    def first_attention_reads(self) -> Source:
        if self.norm in PRE_NORMS:
            return "layer_norm"
        return "position" if self.positions == "learned" else "embedding"

    @property
    def one_initial_scale(self) -> bool:
        biased = self.biases and self.bias_scale > 0
        return super().one_initial_scale and not biased and self.norm != "pre-queries"


@KINDS.add
class GPT2Config(ModelSection):
    """GPT-2: pre-norm, tied read-out, GELU (tanh form), learned positions, biases, next-token loss.

    The sizes are for two cores; the paper's GPT-2 has 12 layers of 12 heads and d_m = 768.
    """

    gone: ClassVar[Mapping[str, Any]] = {"own_scales": False}
    embedding: ClassVar[str] = "W_E"
    reads_text: ClassVar[bool] = True
    norm: ClassVar[Norm] = "pre"
    first_attention_reads: ClassVar[Source] = "layer_norm"

    kind: Literal["gpt2"] = tagged("paper", "gpt2")
    """The kind of model; each has keys of its own: --model.kind KIND --help."""
    n_layers: int = tagged("chosen", 2, ge=1, le=1000)
    """Layers."""
    n_heads: int = tagged("chosen", 4, ge=1, le=10_000)
    """Heads of each layer; they divide d_m among them."""
    d_m: Width = tagged("chosen", 128)
    """Embedding width; the FFN's is four times as large."""
    norm_epsilon: float = tagged("paper", 1e-5, ge=0)
    """Added to the variance under a layer norm's root."""

    @model_validator(mode="after")
    def _makes_sense(self) -> GPT2Config:
        if self.d_m % self.n_heads:
            problem = f"not divisible by n_heads = {self.n_heads}"
            raise InputError("d_m", self.d_m, problem, "give a multiple of it")
        return self

    def matrix_names(self) -> list[str]:
        return ["W_E", "W_pos", *_names_of_layers(self.n_layers)]


AttentionModel = OneLayerConfig | TransformerConfig
