"""What training, evaluation and observation need of a model, and how a section's model is found.

A model is a subclass of ``Model`` and a section of the configuration (``sim.ModelSection``), joined by
``register_model``. Parameters have shape (n_members, ...), tokens (n_members, batch, L), labels
(n_members, batch).
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from sim.config.model import KINDS, FanIn, ModelConfig, ModelSection
from sim.models.layers import Parameters
from theory import InputError
from theory.edge.checks import check_tokens

SectionT = TypeVar("SectionT", bound=ModelSection)
ByHand = Callable[[Parameters, Tensor, Tensor, Any], tuple[Tensor, Parameters]]
"""Losses (M,) and gradients, from parameters, tokens (M, B, L), labels (M, B) and the section."""


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a model."""

    shape: tuple[int, ...]
    """Without the member axis."""
    fan_in: int | None = None
    """d_in, the dimension that γ acts on: the rows of a matrix, which is applied to row vectors; None for a
    tensor that is not drawn from a Gaussian."""
    scale: float = 1.0
    """The factor by which the standard deviation d_in^-γ is multiplied."""
    start: float = 0.0
    """Without a fan-in: the constant that it starts at, or the centre of its uniform distribution."""
    half_width: float = 0.0
    """Half the width of that distribution; 0 for a constant."""


class Scores(NamedTuple):
    """How well a model does on some sequences: sums over their n targets."""

    loss: float
    """Cross entropy in nats."""
    correct: float
    """Targets that have the largest logit."""
    n: int


def tables(rows: dict[str, int], d_m: int, fan_in: FanIn) -> dict[str, TensorSpec]:
    """Return tables of width d_m with these numbers of rows: their fan-in is d_m or the number of rows."""
    return {name: TensorSpec((n, d_m), d_m if fan_in == "d_m" else n) for name, n in rows.items()}


def layer_matrices(
    layer: int, d_m: int, d_heads: int, d_f: int, residual: float = 1.0
) -> dict[str, TensorSpec]:
    """Return the matrices of a Transformer's layer, "0.W_Q" and so on.

    The scale of those that write to the residual stream, W_O and W_out, is ``residual``.
    """
    reading = dict.fromkeys(("W_Q", "W_K", "W_V"), TensorSpec((d_m, d_heads), d_m))
    writing = {"W_O": TensorSpec((d_heads, d_m), d_heads, residual)}
    mlp = {"W_in": TensorSpec((d_m, d_f), d_m), "W_out": TensorSpec((d_f, d_m), d_f, residual)}
    return {f"{layer}.{name}": spec for name, spec in (reading | writing | mlp).items()}


class Model(ABC, Generic[SectionT]):
    """A model without its parameters: its settings are in ``section``.

    A new kind needs ``specs``, ``logits`` and ``widths``.
    """

    shows: frozenset[str] = frozenset()
    """Observables beside the logits: "attention", "positions", and "frozen flow" where eq. 5 applies."""
    n_layers: int = 0
    """Layers with attention."""
    by_hand: ByHand | None = None
    """The gradients that ``register_model`` was given for this section, and for none derived from it."""

    def __init__(self, section: SectionT) -> None:
        self.section = section

    @abstractmethod
    def specs(self, vocab_size: int, length: int) -> dict[str, TensorSpec]:
        """Return every tensor, by name, for a vocabulary and sequences of a length."""

    @abstractmethod
    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        """Return the logits of the label, shape (M, B, d)."""

    @abstractmethod
    def widths(self, vocab_size: int) -> tuple[int, ...]:
        """Return the consecutive widths of a step's products, for ``choose_route`` to measure."""

    def losses(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> Tensor:
        """Return each member's mean loss in nats, shape (M,): here, the cross entropy of the labels."""
        return mean_cross_entropy(self.logits(parameters, tokens), labels)

    def gradients(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Parameters]:
        """Return each member's loss (M,) and its gradients, by hand where they are registered."""
        if self.by_hand is None:
            losses, gradients = self.by_autograd(parameters, tokens, labels)
        else:
            with torch.no_grad():
                losses, gradients = self.by_hand(parameters, tokens, labels, self.section)
        # torch's fused optimisers read gradients as they lie in memory, whatever their strides.
        return losses, {name: gradients[name].contiguous() for name in parameters}

    def by_autograd(
        self, parameters: Parameters, tokens: Tensor, labels: Tensor
    ) -> tuple[Tensor, Parameters]:
        """Return what ``gradients`` does, by autograd."""
        with torch.enable_grad():
            leaves = {name: value.detach().requires_grad_(True) for name, value in parameters.items()}
            losses = self.losses(leaves, tokens, labels)
            gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        return losses.detach(), dict(zip(leaves, gradients, strict=True))

    @torch.no_grad()
    def scores(self, parameters: Parameters, tokens: Tensor, labels: Tensor) -> Scores:
        """Return how well one member does on sequences (1, B, L): here, on their labels."""
        logits, wanted = self.logits(parameters, tokens)[0], labels[0]
        loss = torch.nn.functional.cross_entropy(logits.double(), wanted, reduction="sum")
        return Scores(float(loss), float((logits.argmax(dim=1) == wanted).sum()), len(wanted))

    def rows(self, length: int) -> int:
        """Return how many rows of activations a sequence takes: one, or one for each position."""
        return 1

    def intermediates(
        self, parameters: Parameters, tokens: Tensor, names: Sequence[str]
    ) -> dict[str, Tensor]:
        """Return intermediates of a forward pass by name, among those that ``shows`` lists."""
        return {"logits": self.logits(parameters, tokens)} if "logits" in names else {}


def mean_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return each member's mean cross entropy in nats: (M, ..., d), (M, ...) → (M,)."""
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view(len(logits), -1).mean(dim=1)


def next_tokens(tokens: Tensor, labels: Tensor) -> Tensor:
    """Return the token after each one, the label after the last; below 0 where there is none."""
    return torch.cat([tokens[..., 1:], labels[..., None]], dim=-1)


_REGISTERED: dict[type[ModelSection], tuple[type[Model[Any]], ByHand | None]] = {}


def register_model(
    section: type[ModelSection], model: type[Model[Any]], gradients: ByHand | None = None
) -> None:
    """Add a kind of model: its settings, its computations and, if it has them, its gradients by hand.

    Where training uses several processes, each imports the section's module and so makes this call.

    Parameters
    ----------
    section : subclass of ModelSection
        Its field ``kind`` has the kind's name as default.
    model : subclass of Model
    gradients : callable, optional
        ``gradients(parameters, tokens, labels, section)`` returns losses (M,) and gradients, as autograd
        does, which is used without it.

    Raises
    ------
    InputError
        If an argument is of another type, the kind has no default name, or another section has it already.
    """
    if not (isinstance(model, type) and issubclass(model, Model)):
        raise InputError("model", model, "not a subclass of Model", "derive one from it")
    if gradients is not None and not callable(gradients):
        raise InputError("gradients", gradients, "not a function", "leave it out, or give a function")
    _REGISTERED[KINDS.add(section)] = model, gradients


def model_of(section: ModelSection) -> Model[ModelSection]:
    """Return the model of a section of a configuration: its tensors, its logits and its gradients."""
    if not isinstance(section, ModelSection):
        raise InputError("section", section, "not a model section", "give e.g. EmbMLPConfig()")
    if type(section) not in _REGISTERED:
        for architecture in KINDS.but:
            importlib.import_module(f"{KINDS.package}.{architecture}")
    if type(section) not in _REGISTERED:
        raise InputError("section", type(section).__name__, "has no model", "call sim.register_model first")
    kind, by_hand = _REGISTERED[type(section)]
    model = kind(section)
    model.by_hand = by_hand
    return model


def check_inputs(parameters: Parameters, tokens: Tensor, model: ModelConfig) -> None:
    """Refuse parameters whose shapes do not fit the model, and tokens outside its vocabulary."""
    rows = {name: p.shape[1] for name, p in parameters.items() if isinstance(p, Tensor) and p.ndim == 3}
    if model.embedding not in rows:
        problem = f"no matrix {model.embedding} for each member"
        raise InputError("parameters", list(parameters), problem, "give those of a run")
    n_members, vocab_size = len(parameters[model.embedding]), rows[model.embedding]
    integers = tokens.dtype in (torch.int64, torch.int32)
    if not integers or tokens.ndim != 3 or len(tokens) != n_members or tokens.numel() == 0:
        problem, remedy = "not tokens of each member", f"give integers of shape ({n_members}, batch, L)"
        raise InputError("tokens", tuple(tokens.shape), problem, remedy)
    check_tokens("tokens", tokens.flatten(), vocab_size)
    if (length := rows.get("W_pos", tokens.shape[2])) < tokens.shape[2]:
        problem = f"longer than the {length} rows of W_pos"
        raise InputError("tokens", tuple(tokens.shape), problem, "shorten them")
    for name, spec in model_of(model).specs(vocab_size, length).items():
        shape, wanted = tuple(getattr(parameters.get(name), "shape", ())), (n_members, *spec.shape)
        if shape != wanted:
            raise InputError(f"parameters[{name!r}]", shape, "does not fit the model", f"give shape {wanted}")
