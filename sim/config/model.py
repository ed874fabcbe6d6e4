"""Which model a run trains: one section for each kind, told apart by ``kind``.

Sources as in ``sim.config.run``. What a kind has no choice about stands beside its settings as a class
constant, so that code which handles several kinds may ask any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, ValidationInfo

from sim.config.section import Section, Width, tagged

Activation = Literal["tanh", "relu", "gelu", "identity"]
FanIn = Literal["d_m", "d_vob"]
Norm = Literal["post", "pre", "none"]
Positions = Literal["learned", "none"]
Loss = Literal["last-token", "next-token"]
Embedding = Literal["random", "label-distributions"]
LAYER_MATRICES = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
"""The matrices of a Transformer's layer; "0.W_Q" is that of the first layer, "W_Q" those of all."""


def matrix_names(model: Mapping[str, Any]) -> list[str]:
    """Return the names under which a model's matrices can be given a γ of their own."""
    if model.get("kind") == "emb-mlp":
        return ["W_emb", "W1", "W2"]
    one_layer = model.get("kind") == "one-layer"
    layers = range(1 if one_layer else model.get("n_layers", 0))
    ends = [] if one_layer else ["W_U"]
    positions = ["W_pos"] if model.get("positions") == "learned" else []
    single = [f"{layer}.{name}" for layer in layers for name in LAYER_MATRICES]
    return ["W_E", *positions, *LAYER_MATRICES, *single, *ends]


def _known_matrices(rates: dict[str, float], info: ValidationInfo) -> dict[str, float]:
    known = matrix_names(info.data)
    for name in rates:
        if name not in known:
            raise ValueError(f"this model has no matrix {name!r}, but {', '.join(known)}")
    return rates


# Declared last in each section, because the check reads what stands before it.
InitRates = Annotated[dict[str, Annotated[float, Field(ge=-5, le=5)]], AfterValidator(_known_matrices)]


class EmbMLPConfig(Section):
    """The Emb-MLP of Definition 1."""

    embedding: ClassVar[str] = "W_emb"
    loss: ClassVar[Loss] = "last-token"

    kind: Literal["emb-mlp"] = tagged("paper", "emb-mlp")
    """emb-mlp, one-layer or transformer; each has keys of its own: see --model.kind KIND --help."""
    d_m: Width = tagged("paper", 200)
    """Embedding width."""
    d_f: Width = tagged("paper", 512)
    """Hidden width."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""
    embedding_fan_in: FanIn = tagged("chosen", "d_m")
    """Which dimension γ acts on for the embedding; the other matrices use their true fan-in."""
    initial_embedding: Embedding = tagged("paper", "random")
    """How the embedding starts: drawn, or as the theory predicts it, rows along r_s (P^s − P̄)."""
    tensor_init_rates: InitRates = tagged("chosen", {})
    """γ of single matrices, instead of the run's γ."""


class OneLayerConfig(Section):
    """The one-layer Transformer of Definition 2: d_m = d_vob, no norm, no positions, no read-out."""

    embedding: ClassVar[str] = "W_E"
    n_layers: ClassVar[int] = 1
    n_heads: ClassVar[int] = 1
    norm: ClassVar[Norm] = "none"
    norm_epsilon: ClassVar[float] = 0.0
    biases: ClassVar[bool] = False
    positions: ClassVar[Positions] = "none"
    loss: ClassVar[Loss] = "last-token"

    kind: Literal["one-layer"] = tagged("paper", "one-layer")
    """emb-mlp, one-layer or transformer; each has keys of its own: see --model.kind KIND --help."""
    d_f: Width = tagged("chosen", 512)
    """Hidden width; the paper does not train this model, so sizes are its Transformer's."""
    d_k: Width = tagged("chosen", 64)
    """Width of queries, keys and values."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""
    embedding_fan_in: FanIn = tagged("chosen", "d_m")
    """Which dimension γ acts on for the embedding; the two are equal in this model."""
    initial_embedding: Embedding = tagged("paper", "random")
    """How the embedding starts: drawn, or as the theory predicts it, rows along r_s (P^s − P̄)."""
    tensor_init_rates: InitRates = tagged("chosen", {})
    """γ of single matrices, instead of the run's γ."""


class TransformerConfig(Section):
    """The Transformer of Appendix A.1."""

    embedding: ClassVar[str] = "W_E"

    kind: Literal["transformer"] = tagged("paper", "transformer")
    """emb-mlp, one-layer or transformer; each has keys of its own: see --model.kind KIND --help."""
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
    """Layer norm after each residual sum, before attention, FFN and read-out, or nowhere."""
    norm_epsilon: float = tagged("chosen", 1e-5, ge=0)
    """Added to the variance under a layer norm's root."""
    activation: Activation = tagged("chosen", "relu")
    """σ of the FFN."""
    biases: bool = tagged("chosen", False)
    """Whether linear maps and layer norms have biases, which start at zero."""
    positions: Positions = tagged("paper", "learned")
    """Trained position vectors, or none."""
    loss: Loss = tagged("paper", "last-token")
    """Cross entropy of the label alone, or of every next token and the label."""
    embedding_fan_in: FanIn = tagged("chosen", "d_m")
    """Which dimension γ acts on for W_E and W_pos: d_m, or their rows; the others use their true fan-in."""
    initial_embedding: Embedding = tagged("paper", "random")
    """How the embedding starts: drawn, or as the theory predicts it, rows along r_s (P^s − P̄)."""
    tensor_init_rates: InitRates = tagged("chosen", {})
    """γ of single matrices ("0.W_Q") or of all layers' ("W_Q"), instead of the run's γ."""


KINDS: dict[str, type[EmbMLPConfig] | type[OneLayerConfig] | type[TransformerConfig]] = {
    "emb-mlp": EmbMLPConfig,
    "one-layer": OneLayerConfig,
    "transformer": TransformerConfig,
}


def kind_of(model: Any) -> Any:
    """Return what a model section says its kind is: emb-mlp where it says nothing."""
    return model.get("kind", "emb-mlp") if isinstance(model, Mapping) else getattr(model, "kind", None)


AttentionModel = OneLayerConfig | TransformerConfig
ModelConfig = Annotated[
    Annotated[EmbMLPConfig, Tag("emb-mlp")]
    | Annotated[OneLayerConfig, Tag("one-layer")]
    | Annotated[TransformerConfig, Tag("transformer")],
    Discriminator(kind_of),
]
"""Any of the three; a table without ``kind`` is an Emb-MLP."""
