"""``Recorder``: predicted against observed cosines, ranks, norms and γ, from anybody's training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn

from sim.data.text import require
from sim.modules.roles import Role, check_numbers, matching, roles_of
from sim.runs.outputs import OutputFile
from sim.runs.table import csv_text
from theory import InputError, Task, corpus_gram, label_distribution
from theory.checked import Between, Size, checked
from theory.reading import as_path
from validate.corpus.association import associate_rows
from validate.corpus.callbacks import imported, lightning_callback, transformers_callback
from validate.corpus.embedding import counts_and_control, token_sets
from validate.observe import effective_rank
from validate.scales.rates import rate_of
from validate.sweeps.table import write_table

Losses = Mapping[str, Callable[[], float]]


class Recorder:
    """Records how a model's embedding goes with what its data predict; see ``step`` and the callbacks.

    Every record is a row of ``rows``: the step; Pearson's correlation of predicted and observed cosines by
    predictor with its 95 % interval and its control; the mean cosine; the losses; the norm of every matrix,
    its γ, and the effective rank of chosen ones; and the distance in γ from the start, a root mean square
    over the matrices. Recording draws no random numbers of torch and changes nothing in the model.

    Parameters
    ----------
    model : Module
    data : Task, Corpus, list or tuple
        A task, or what ``compare_embedding`` takes. The rows of a task are P^s − u and, as a rival, P^s less
        its mean; the control has the tokens permuted. Those of a corpus are "tied" or "bigram", with
        "marginal" and "readout" as rivals; the control is shuffled text.
    every : int, optional
        Steps between two records.
    out : path, optional
        A file that ends in .csv, which is kept up to date, or in .parquet, which ``close`` writes.
    embedding : str, optional
        The parameter with one row per token; by default the only one with enough rows.
    ranks : sequence of str, optional
        Names of matrices whose effective rank is recorded; ``*`` stands for any text.
    losses : mapping from str to callable, optional
        Called at each record: the loss of a data set, by name.
    top : int, optional
        How many of a corpus's most frequent tokens to compare.
    tensorboard : path, optional
        A folder for TensorBoard, which has to be installed.
    overwrite : bool, optional
        Replace ``out``.
    seed : int, optional
        Of the control and the intervals.
    """

    @checked
    def __init__(
        self,
        model: nn.Module,
        data: Any,
        *,
        every: Size = 100,
        out: Any = None,
        embedding: str | None = None,
        ranks: Sequence[str] = (),
        losses: Mapping[str, Any] | None = None,
        top: Annotated[int, Between(2, 4000)] = 200,
        tensorboard: Any = None,
        overwrite: bool = False,
        seed: Annotated[int, Between(0)] = 0,
    ) -> None:
        self.model, self.every, self.rows = model, every, list[dict[str, float]]()
        self._losses: Losses = losses or {}
        if not all(callable(loss) for loss in self._losses.values()):
            raise InputError("losses", losses, "not callables by name", 'give {"test": lambda: ...}')
        self._noted: dict[str, float] = {}
        self._columns: dict[str, None] = {}
        self._file = None if out is None else OutputFile(as_path("out", out), overwrite=overwrite)
        if self._file is not None:
            if self._file.path.suffix not in (".csv", ".parquet"):
                remedy = "give a file that ends in .csv or .parquet"
                raise InputError("out", str(self._file.path), "unknown kind of table", remedy)
            self._file.check()
            if self._file.path.suffix == ".parquet":
                require("pyarrow.parquet", "table")  # Not to be missed after the training.
        self._board = None
        if tensorboard is not None:
            library = imported("torch.utils.tensorboard", "tensorboard")
            self._board = library.SummaryWriter(str(as_path("tensorboard", tensorboard)))
        roles = roles_of(model)
        check_numbers(roles)
        self._matrices = [r for r in roles if r.kind in ("matrix", "embedding") and r.tensor.numel() > 1]
        names = [role.name for role in self._matrices]
        self._ranks = {name for pattern in ranks for name in matching("ranks", pattern, names)}
        self._seed, self._step, self._begun = seed, 0, time.perf_counter()
        self._predict(data, embedding, top)
        self._start = {role.name: _gamma(role) for role in self._matrices}

    def _predict(self, data: Any, embedding: str | None, top: int) -> None:
        """Choose the embedding and the tokens, and compute what the data predict, once."""
        rng = np.random.default_rng(self._seed)
        tables = [r for r in self._matrices if r.kind == "embedding" or embedding in r.names]
        if isinstance(data, Task):
            role = _table(tables, embedding, data.vocab_size)
            self._tokens = np.array([a for mapping in data.mappings for a in mapping.anchors])
            labels = np.asarray(label_distribution(data, self._tokens.tolist(), held_out=True))
            rows = {"labels": labels - 1 / data.vocab_size, "labels, centred": labels - labels.mean(axis=0)}
            shuffle = rng.permutation(len(labels))
            grams = {name: D @ D.T for name, D in rows.items()}
            self._grams = {name: [gram, gram[np.ix_(shuffle, shuffle)]] for name, gram in grams.items()}
        else:
            role = _table(tables, embedding, getattr(data, "vocab_size", 1))
            counts, shuffled = counts_and_control(data, role.shape[0], True, rng)
            control, first = shuffled(), "tied" if len(role.names) > 1 else "bigram"
            ((_, self._tokens), *_) = token_sets(counts, (), top, (1,), rng)
            self._grams = {
                predictor: [corpus_gram(each, self._tokens, predictor) for each in (counts, control)]  # type: ignore[arg-type]
                for predictor in (first, "marginal", "readout")
            }
        self._embedding = role.tensor

    def step(self) -> None:
        """Count a step of training, and record if it is one of ``every``."""
        self.at(self._step + 1)

    def at(self, step: int) -> None:
        """Say that so many steps are done: for loops that count them."""
        self._step = step
        if step % self.every == 0 and (not self.rows or self.rows[-1]["step"] != step):
            self.record()

    def note(self, **losses: float) -> None:
        """Keep losses that the loop has computed anyway; the latest are in the next record."""
        self._noted |= {name: float(loss) for name, loss in losses.items()}

    def record(self) -> dict[str, float]:
        """Record now, whatever the step, and return the row."""
        row = {"step": float(self._step), "seconds": time.perf_counter() - self._begun}
        with torch.no_grad():
            row |= {f"loss/{name}": float(loss()) for name, loss in self._losses.items()}
            row |= {f"loss/{name}": loss for name, loss in self._noted.items()}
            row |= self._cosines()
            squares = []
            for role in self._matrices:
                row[f"norm/{role.name}"] = float(role.tensor.norm())
                row[f"gamma/{role.name}"] = gamma = _gamma(role)
                if math.isfinite(self._start[role.name]):
                    squares.append((gamma - self._start[role.name]) ** 2)
                if role.name in self._ranks:
                    row[f"rank/{role.name}"] = _rank(role)
        row["gamma distance"] = math.sqrt(sum(squares) / max(len(squares), 1))
        self.rows.append(row)
        self._write(row)
        return row

    def _cosines(self) -> dict[str, float]:
        rows = self._embedding.detach()[torch.from_numpy(self._tokens).to(self._embedding.device)]
        # A row with a number that is none is no row.
        values = rows.double().where(rows.isfinite().all(dim=1, keepdim=True), 0.0).cpu().numpy()
        columns: dict[str, float] = {}
        for predictor, grams in self._grams.items():
            observed, numbers = math.nan, [math.nan] * 4
            with suppress(InputError):  # Fewer than two tokens have a row.
                found = associate_rows(values, np.arange(len(values)), grams, False, self._seed)
                observed, control = found.observed_mean, found.control.mean
                ends = (math.nan if end is None else end for end in (found.pearson.low, found.pearson.high))
                numbers = [found.pearson.mean, *ends, control]
            names = ("pearson", "low", "high", "control")
            columns |= {f"{name}/{predictor}": x for name, x in zip(names, numbers, strict=True)}
            columns.setdefault("mean cosine", observed)
        return columns

    def _write(self, row: dict[str, float]) -> None:
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name.replace(" ", "_"), value, self._step)
        before, self._columns = self._columns, dict.fromkeys([*self._columns, *row])
        if self._file is None or self._file.path.suffix != ".csv":
            return
        if self._columns == before:
            with self._file.path.open("a", encoding="utf-8", newline="") as file:
                file.write(csv_text(self._filled([row])).partition("\n")[2])
        else:
            # A loss that comes later adds a column: then the table is written anew.
            overwrite = self._file.overwrite or len(self.rows) > 1
            write_table(self._filled(self.rows), self._file.path, overwrite=overwrite)

    def _filled(self, rows: Sequence[dict[str, float]]) -> list[dict[str, float | None]]:
        """Return rows that have every column, None where a number is missing."""
        return [{name: row.get(name) for name in self._columns} for row in rows]

    def close(self) -> None:
        """Record the last step if it is not yet, and write what is still to be written."""
        if not self.rows or self.rows[-1]["step"] != self._step:
            self.record()
        if self._file is not None and self._file.path.suffix == ".parquet":
            write_table(self._filled(self.rows), self._file.path, overwrite=self._file.overwrite)
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Recorder:
        """Record the start."""
        self.at(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        """Record the end."""
        self.close()

    def transformers_callback(self) -> Any:
        """Return a ``TrainerCallback`` for the Trainer of ``transformers``; evaluations give the losses."""
        return transformers_callback(self)

    def lightning_callback(self) -> Any:
        """Return a callback for the Trainer of Lightning; logged metrics that end in "loss" are kept."""
        return lightning_callback(self)


def _table(tables: Sequence[Role], name: str | None, vocab_size: int) -> Role:
    fits = [r for r in tables if (name in r.names if name else r.shape[0] >= vocab_size)]
    # Of several, the one with just as many rows; tables of positions are shorter but for a tiny vocabulary.
    rows = [r.shape[0] for r in fits]
    fits = [r for r in fits if r.shape[0] == (vocab_size if vocab_size in rows else max(rows))]
    if len(fits) != 1:
        problem = (
            f"{len(fits)} embeddings have {vocab_size} rows or more" if name is None else "no such matrix"
        )
        known = ", ".join(r.name for r in tables) or "none"
        raise InputError("embedding", name, problem, f"name the parameter; there are {known}")
    if fits[0].shape[0] < vocab_size:
        problem = f"has {fits[0].shape[0]} rows for a vocabulary of {vocab_size}"
        raise InputError("embedding", name, problem, "name the one with a row per token")
    return fits[0]


def _gamma(role: Role) -> float:
    std = float(role.tensor.detach().float().std())
    return rate_of(std, role.fan_in or 1) if math.isfinite(std) else math.nan


def _rank(role: Role) -> float:
    matrix = role.tensor.detach().flatten(0, -2).float().cpu()
    finite = bool(torch.isfinite(matrix).all())
    return effective_rank(torch.linalg.svdvals(matrix).numpy()) if finite else math.nan
