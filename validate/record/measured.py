"""What a recorder reads from a model: cosines beside their predictions, norms, γ and ranks; its losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from sim.modules.called import Asked, asked
from sim.modules.library import generators_kept, unpadded
from sim.modules.roles import Role, check_numbers, matching, roles_of
from theory import InputError, Task, corpus_gram, label_distribution
from theory.corpus.counts import CountPredictor
from theory.edge.arrays import FloatArray
from validate.corpus.association import associate_rows
from validate.corpus.embedding import counts_and_controls, token_sets
from validate.observe.observables import effective_rank
from validate.scales.escapes import rate_of


class Measured:
    """The matrices of a model, and what the data predict of its embedding, computed once."""

    def __init__(
        self,
        model: nn.Module,
        data: Any,
        embedding: str | None,
        ranks: Sequence[str],
        top: int,
        seed: int,
    ) -> None:
        self.model, self._seed = model, seed
        roles = roles_of(model)
        check_numbers(roles)
        self.matrices = [r for r in roles if r.kind in ("matrix", "embedding") and math.prod(r.shape) != 1]
        self._ranks = {name for r in ranks for name in matching("ranks", r, [m.name for m in self.matrices])}
        self._predict(roles, data, embedding, top)
        self.start = {role.name: _gamma(role, tensor) for role, tensor in self._tensors()}
        """γ of each matrix where the recording began; NaN where it is unknown."""
        self.is_sharded = any(hasattr(role.tensor, "full_tensor") for role in roles)

    def _predict(self, roles: Sequence[Role], data: Any, embedding: str | None, top: int) -> None:
        """Choose the embedding and the tokens, and compute what the data predict, once."""
        self._grams, rng = dict[str, list[FloatArray]](), np.random.default_rng(self._seed)
        tables = [r for r in roles if r.kind == "embedding" or (embedding in r.names and r.tensor.ndim == 2)]
        told = asked(self.model)
        role = _embedding(tables, embedding, getattr(data, "vocab_size", 0), told)
        if isinstance(data, Task):
            self._tokens = np.array([a for mapping in data.mappings for a in mapping.anchors])
            labels = np.asarray(label_distribution(data, self._tokens.tolist(), held_out=True))
            rows = {"labels": labels - 1 / data.vocab_size, "labels, centred": labels - labels.mean(axis=0)}
            shuffle = rng.permutation(len(labels))
            for name, D in rows.items():
                self._grams[name] = [D @ D.T, (D @ D.T)[np.ix_(shuffle, shuffle)]]
        else:
            corpora = counts_and_controls(data, role.shape[0], True, 1, rng)
            ((_, self._tokens),) = token_sets(corpora[0], (), top, (), rng)
            is_tied = role.reads_out or (told.is_tied and told.read_out is role.tensor)
            # The code may tie it, where a copy cannot be called and no matrix looks like the read-out.
            heads = (r for r in roles if r.kind == "matrix" and {*r.shape} == {*role.shape} and r is not role)
            maybe = not (is_tied or told.is_known or any(heads))
            both: tuple[CountPredictor, ...] = ("bigram", "tied") if maybe else ("bigram",)
            learned: tuple[CountPredictor, ...] = ("tied",) if is_tied else both
            for p in (*learned, "marginal", "readout"):
                self._grams[p] = [corpus_gram(each, self._tokens, p) for each in corpora]
        self._embedding = role

    def _whole(self, roles: Sequence[Role]) -> Iterator[torch.Tensor]:
        """Yield parameters as they are now, whole: ``load_state_dict(assign=True)`` replaces them."""
        held = dict(self.model.named_parameters(remove_duplicate=False))
        remedy = "record where parameters are whole (FSDP.summon_full_params), or shard by fully_shard"
        for role in roles:
            tensor = held.get(role.name)
            if tensor is None or not tensor.numel():
                problem = "no longer in the model" if tensor is None else "an empty shard"
                raise InputError("model", role.name, problem, remedy)
            fewer = len(tensor) < len(role.tensor)  # More rows are more tokens.
            if fewer or tensor.shape[1:] != role.shape[1:]:
                problem = f"of shape {(*tensor.shape,)}, formerly {role.shape}"
                raise InputError("model", role.name, problem, f"make the recorder afterwards; {remedy}")
            gather = getattr(tensor, "full_tensor", None)
            yield tensor.detach() if gather is None else gather().detach()

    def _tensors(self) -> Iterator[tuple[Role, torch.Tensor]]:
        yield from zip(self.matrices, self._whole(self.matrices), strict=True)

    def numbers(self) -> dict[str, float]:
        """Return the columns of a row, as the model is now."""
        row, squares = self._cosines(*self._whole([self._embedding])), []
        for role, tensor in self._tensors():
            row[f"norm/{role.name}"] = float(_single(tensor).norm())
            row[f"gamma/{role.name}"] = gamma = _gamma(role, tensor)
            if math.isfinite(self.start[role.name]):
                squares.append((gamma - self.start[role.name]) ** 2)
            if role.name in self._ranks:
                matrix = tensor.flatten(0, -2).float().cpu()
                known = bool(torch.isfinite(matrix).all())
                rank = effective_rank(torch.linalg.svdvals(matrix).numpy()) if known else math.nan
                row[f"rank/{role.name}"] = rank
        row["gamma distance"] = math.sqrt(sum(squares) / len(squares)) if squares else math.nan
        return row

    def _cosines(self, embedding: torch.Tensor) -> dict[str, float]:
        rows = embedding[torch.from_numpy(self._tokens).to(embedding.device)].cpu()
        # A row with NaN or infinity counts as undefined: all zeros.
        values = rows.double().where(rows.isfinite().all(dim=1, keepdim=True), 0.0).numpy()
        columns: dict[str, float] = {}
        for predictor, grams in self._grams.items():
            association = associate_rows(values, np.arange(len(values)), grams, False, self._seed)
            pearson, control = association.pearson, association.control.mean
            numbers = {"pearson": pearson.mean, "low": pearson.low, "high": pearson.high, "control": control}
            columns |= {f"{k}/{predictor}": math.nan if x is None else x for k, x in numbers.items()}
            columns.setdefault("mean cosine", association.observed_mean)
        return columns


def losses_now(
    model: nn.Module, functions: Mapping[str, Any], tell: Callable[[str], None]
) -> dict[str, float]:
    """Call a user's losses in evaluation mode; modes and random generators are then as before.

    One that raises, or returns no number, is told, and NaN.
    """
    if not functions:
        return {}
    modes, losses = {module: module.training for module in model.modules()}, dict[str, float]()
    with generators_kept({p.device for p in model.parameters() if p.device.type == "cuda"}):
        model.eval()
        try:
            for name, loss in functions.items():
                losses[f"loss/{name}"] = number(name, loss, tell)
        finally:
            for module, mode in modes.items():
                module.training = mode
    return losses


def number(name: str, loss: Any, tell: Callable[[str], None]) -> float:
    """Return a loss, or what its function returns; NaN if that is no number."""
    try:
        value = loss() if callable(loss) else loss
        return float(value.detach() if isinstance(value, torch.Tensor) else value)
    except Exception as error:  # It is the user's.
        tell(f"the loss {name!r} gave no number ({type(error).__name__}: {error})")
        return math.nan


def _embedding(tables: Sequence[Role], name: str | None, vocab_size: int, told: Asked) -> Role:
    """Return the matrix of that name, or the only embedding with a row per token."""
    fits = [r for r in tables if (name is None or name in r.names) and r.shape[0] >= vocab_size]
    if len(fits) > 1:  # Positions have a table too.
        fits = [r for r in fits if any(r.tensor is table for table in told.tables)] or fits
    if len(fits) != 1:
        known = f" of {', '.join(f'{r.name} ({r.shape[0]} rows)' for r in tables)}" * bool(tables)
        problem = f"{len(fits)} such embeddings have {vocab_size} rows or more"
        raise InputError("embedding", name, problem, f"name the parameter with a row per token{known}")
    return fits[0]


def _single(tensor: torch.Tensor) -> torch.Tensor:
    """Return numbers in single precision, or double where they have it."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _gamma(role: Role, tensor: torch.Tensor) -> float:
    std = float(_single(unpadded(tensor, role.owner)).std())
    return rate_of(std, role.fan_in or 1) if math.isfinite(std) else math.nan
