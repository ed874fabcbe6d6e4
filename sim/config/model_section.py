"""The settings that every kind of model has in a configuration, and which kinds there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from sim.config.section import Section, tagged
from sim.discovery import import_files
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


def names_of_layers(n_layers: int) -> list[str]:
    """Return the names of layers' matrices: of all layers alike, and of each."""
    return [*LAYER_MATRICES, *(f"{layer}.{name}" for layer in range(n_layers) for name in LAYER_MATRICES)]


_SETTINGS_APART = ("emb_mlp", "gpt2", "transformer")
"""Architectures whose settings are in ``sim.config.model``, so that reading them does not wait for torch."""
KINDS: dict[str, type[ModelSection]] = {}
"""The kinds of model that are registered so far; ``known_kinds`` has all of them."""
Kind = TypeVar("Kind", bound=ModelSection)


def register_kind(section: type[Kind]) -> type[Kind]:
    """Make a kind of model known to configurations; refuse one without a name, or with another's."""
    kind = section.model_fields["kind"].default
    if not (isinstance(kind, str) and kind):
        raise InputError("kind", kind, "a section's kind needs a default", 'write kind: Literal["x"] = "x"')
    names = [f"{each.__module__}.{each.__qualname__}" for each in (KINDS.get(kind, section), section)]
    if names[0] != names[1]:
        raise InputError("kind", kind, f"{names[0]} has that name", "choose another")
    KINDS[kind] = section
    return section


def known_kinds() -> dict[str, type[ModelSection]]:
    """Return every kind of model that a configuration may name."""
    import_files("sim.architectures", but=_SETTINGS_APART)
    return KINDS


def kind_of(model: Any) -> Any:
    """Return the kind that a model section names: emb-mlp where it names none."""
    return model.get("kind", "emb-mlp") if isinstance(model, Mapping) else getattr(model, "kind", None)


def _read(model: Any) -> Any:
    """Return a table as the section of its kind."""
    if not isinstance(model, Mapping):
        return model
    kind, known = kind_of(model), known_kinds()
    if not isinstance(kind, str) or kind not in known:
        raise InputError("kind", kind, "unknown kind", f"choose one of {', '.join(known)}")
    return known[kind](**model)


ModelConfig = Annotated[SerializeAsAny[ModelSection], BeforeValidator(_read)]
"""A section of any registered kind; a table without ``kind`` is an Emb-MLP."""
