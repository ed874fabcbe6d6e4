"""Which model a run trains: one section for each kind, distinguished by ``kind``.

Sources as in ``sim.config.run``. What a kind has no choice about is a class constant beside its settings, so
that code for several kinds may ask any of them. A section of your own joins with ``register_model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, SerializeAsAny

from sim.config.gpt2 import GPT2Config as GPT2Config
from sim.config.model_section import PRE_NORMS, Activation, Loss, Norm, Positions, Source, names_of_layers
from sim.config.model_section import ModelSection as ModelSection
from sim.config.section import Width, tagged
from theory import InputError


class EmbMLPConfig(ModelSection):
    """The Emb-MLP of Definition 1."""

    implementation: ClassVar[str] = "sim.models.emb_mlp:EmbMLP"
    embedding: ClassVar[str] = "W_emb"
    reads_order: ClassVar[bool] = False
    loss: ClassVar[Loss] = "last-token"

    kind: Literal["emb-mlp"] = tagged("paper", "emb-mlp")
    """emb-mlp, one-layer, transformer or gpt2; each has keys of its own: see --model.kind KIND --help."""
    d_m: Width = tagged("paper", 200)
    """Embedding width."""
    d_f: Width = tagged("paper", 512)
    """Hidden width."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""

    def matrix_names(self) -> list[str]:
        """Return the names under which matrices can be given a γ of their own."""
        return ["W_emb", "W1", "W2"]

    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""
        return self.d_m


class OneLayerConfig(ModelSection):
    """The one-layer Transformer of Definition 2: d_m = d_vob, no norm, no positions, no read-out."""

    implementation: ClassVar[str] = "sim.models.transformer:Transformer"
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
    loss: ClassVar[Loss] = "last-token"

    kind: Literal["one-layer"] = tagged("paper", "one-layer")
    """emb-mlp, one-layer, transformer or gpt2; each has keys of its own: see --model.kind KIND --help."""
    d_f: Width = tagged("chosen", 512)
    """Hidden width; the paper does not train this model, so sizes are its Transformer's."""
    d_k: Width = tagged("chosen", 64)
    """Width of queries, keys and values."""
    activation: Activation = tagged("chosen", "tanh")
    """σ. Assumption 1 holds for tanh and identity."""

    def matrix_names(self) -> list[str]:
        """Return the names under which matrices can be given a γ of their own."""
        return ["W_E", *names_of_layers(1)]

    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""
        return vocab_size

    @property
    def first_attention_reads(self) -> Source:
        """What sets the scale of the first attention's input (Lemma 1)."""
        return "embedding"


class TransformerConfig(ModelSection):
    """The Transformer of Appendix A.1."""

    implementation: ClassVar[str] = "sim.models.transformer:Transformer"
    embedding: ClassVar[str] = "W_E"

    kind: Literal["transformer"] = tagged("paper", "transformer")
    """emb-mlp, one-layer, transformer or gpt2; each has keys of its own: see --model.kind KIND --help."""
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
    """Whether layer norms have biases, whatever the linear maps have; they start at zero."""
    read_out_bias: bool = tagged("chosen", False)
    """Whether the read-out has a bias, whatever the other maps have."""
    bias_scale: float = tagged("chosen", 0.0, ge=0, le=1000)
    """Biases of linear maps start uniform within ± this / √fan-in: 0 at zero, 1 as torch's default."""
    scale_residual: bool = tagged("chosen", False)
    """Divide the initial W_O and W_out, which write to the residual stream, by √(2 n_layers)."""
    positions: Positions = tagged("paper", "learned")
    """Trained position vectors, or none."""
    loss: Loss = tagged("paper", "last-token")
    """Cross entropy of the label alone, or of every next token and the label."""

    def matrix_names(self) -> list[str]:
        """Return the names under which matrices can be given a γ of their own."""
        positions = ["W_pos"] if self.positions == "learned" else []
        return ["W_E", *positions, *names_of_layers(self.n_layers), "W_U"]

    def width(self, vocab_size: int) -> int:
        """Return d_m, the width of the embedding."""
        return self.d_m

    @property
    def first_attention_reads(self) -> Source:
        """What sets the scale of the first attention's input (Lemma 1)."""
        if self.norm in PRE_NORMS:
            return "layer_norm"
        return "position" if self.positions == "learned" else "embedding"

    @property
    def one_initial_scale(self) -> bool:
        """Whether the first attention starts as Lemma 1 assumes: matrices at one scale, no biases."""
        biased = self.biases and self.bias_scale > 0
        return super().one_initial_scale and not biased and self.norm != "pre-queries"


KINDS: dict[str, type[ModelSection]] = {
    "emb-mlp": EmbMLPConfig,
    "one-layer": OneLayerConfig,
    "transformer": TransformerConfig,
    "gpt2": GPT2Config,
}
"""Every kind of model that a configuration may name."""
Kind = TypeVar("Kind", bound=ModelSection)


def register_model(section: type[Kind]) -> type[Kind]:
    """Make a kind of model known to configurations; a decorator for its section.

    Where training takes several processes, each imports the section's module, and with it this call.

    Raises
    ------
    InputError
        If the kind has no default name, or another section has it already.
    """
    if not (isinstance(section, type) and issubclass(section, ModelSection)):
        raise InputError("section", section, "not a class of model sections", "derive one from ModelSection")
    kind = section.model_fields["kind"].default
    if not kind:
        raise InputError("kind", kind, "a section's kind needs a default", 'write kind: Literal["x"] = "x"')
    known = KINDS.get(kind, section)
    if _full_name(known) != _full_name(section):
        raise InputError("kind", kind, f"{_full_name(known)} has that name", "choose another")
    KINDS[kind] = section
    return section


def _full_name(section: type) -> str:
    return f"{section.__module__}.{section.__qualname__}"


def kind_of(model: Any) -> Any:
    """Return what a model section says its kind is: emb-mlp where it says nothing."""
    return model.get("kind", "emb-mlp") if isinstance(model, Mapping) else getattr(model, "kind", None)


def _read(model: Any) -> Any:
    """Return a table as the section of its kind."""
    if not isinstance(model, Mapping):
        return model
    kind = kind_of(model)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("kind", kind, "unknown kind", f"choose one of {', '.join(KINDS)}")
    return KINDS[kind](**model)


AttentionModel = OneLayerConfig | TransformerConfig
ModelConfig = Annotated[SerializeAsAny[ModelSection], BeforeValidator(_read)]
"""A section of any registered kind; a table without ``kind`` is an Emb-MLP."""
