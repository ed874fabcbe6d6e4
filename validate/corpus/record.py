"""``Recorder``: predicted and observed cosines, ranks, norms and γ, recorded in any training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn

from sim.data.text import require
from sim.modules.roles import Role, check_numbers, matching, roles_of
from sim.runs.outputs import OutputFile
from sim.runs.table import csv_text, write_table
from theory import InputError, Task, corpus_gram, label_distribution
from theory.corpus.rows import CountPredictor
from theory.edge.arrays import FloatArray
from theory.edge.checked import Between, Size, checked
from theory.edge.reading import as_path
from validate.corpus.association import associate_rows
from validate.corpus.embedding import counts_and_controls, token_sets
from validate.observe import effective_rank
from validate.scales.escapes import rate_of


class Recorder:
    """Records how well a model's embedding follows its data's prediction; see ``step`` and the callbacks.

    Every record is a row of ``rows``: step and seconds; Pearson's correlation of predicted and observed
    cosines by predictor, with its 95 % interval and its control; the mean cosine; the losses; the norm of
    every matrix, its γ, and the effective rank of chosen ones; and the distance in γ from the start, a root
    mean square over the matrices. Recording draws no random numbers of torch and leaves the model as it is.

    Parameters
    ----------
    model : Module
    data : Task, Corpus, list or tuple
        A task, or a corpus as in ``compare_embedding``. A task predicts the rows P^s − u and, as a rival,
        P^s less its mean; the control permutes the tokens. A corpus predicts "tied" or "bigram" rows, with
        "marginal" and "readout" as rivals; the control is shuffled text.
    every : int, optional
        Steps between two records.
    out : path, optional
        A .csv file, updated at every record, or a .parquet file, which ``close`` writes.
    embedding : str, optional
        The parameter with one row per token; by default the only embedding with enough rows.
    ranks : sequence of str, optional
        Names of matrices whose effective rank is recorded; ``*`` stands for any text.
    losses : mapping from str to callable, optional
        Functions called at each record: the loss of a data set, by name.
    top : int, optional
        How many of a corpus's most frequent tokens to compare.
    tensorboard : path, optional
        A folder for TensorBoard, which has to be installed.
    overwrite : bool, optional
        Replace ``out``.
    seed : int, optional
        Seed of the control and the intervals.
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
        self._losses, self._noted = losses or {}, dict[str, float]()
        for name, loss in self._losses.items():
            if not callable(loss):
                remedy = "give a function without arguments that returns the loss"
                raise InputError(f"losses[{name!r}]", loss, "not a function", remedy)
        self._file = None if out is None else as_path("out", out).absolute()
        self._overwrite, self._columns = overwrite, dict[str, float | None]()
        if self._file is not None:
            if self._file.suffix not in (".csv", ".parquet"):
                remedy = "give a file that ends in .csv or .parquet"
                raise InputError("out", str(self._file), "unknown kind of table", remedy)
            OutputFile(self._file, overwrite=overwrite).check()
            if self._file.suffix == ".parquet":
                require("pyarrow.parquet", "table")  # Better missed now than after the training.
        self._board = None
        if tensorboard is not None:
            library = require("torch.utils.tensorboard", package="tensorboard")
            self._board = library.SummaryWriter(str(as_path("tensorboard", tensorboard)))
        roles = roles_of(model)
        check_numbers(roles)
        self._matrices = [r for r in roles if r.kind in ("matrix", "embedding") and r.tensor.numel() > 1]
        self._ranks = {name for r in ranks for name in matching("ranks", r, [m.name for m in self._matrices])}
        self._seed, self._step, self._begun = seed, 0, time.perf_counter()
        self._predict(roles, data, embedding, top)
        self._start = {role.name: _gamma(role) for role in self._matrices}

    def _predict(self, roles: Sequence[Role], data: Any, embedding: str | None, top: int) -> None:
        """Choose the embedding and the tokens, and compute what the data predict, once."""
        self._grams, rng = dict[str, list[FloatArray]](), np.random.default_rng(self._seed)
        tables = [r for r in roles if r.kind == "embedding" or (embedding in r.names and r.tensor.ndim == 2)]
        role = _embedding(tables, embedding, getattr(data, "vocab_size", 0))
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
            own: CountPredictor = "tied" if role.reads_out else "bigram"
            for p in (own, "marginal", "readout"):
                self._grams[p] = [corpus_gram(each, self._tokens, p) for each in corpora]
        self._embedding = role.tensor

    def step(self) -> None:
        """Count a step of training, and record if it is one of ``every``."""
        self.at(self._step + 1)

    def at(self, step: int) -> None:
        """Tell the recorder how many steps are done, for loops that count them."""
        self._step = step
        if step % self.every == 0 and (not self.rows or self.rows[-1]["step"] != step):
            self.record()

    def note(self, **losses: float) -> None:
        """Keep losses that the loop has already computed; the latest go into the next record."""
        self._noted |= {name: float(loss) for name, loss in losses.items()}

    def record(self) -> dict[str, float]:
        """Record now, at any step, and return the row."""
        row = {"step": float(self._step), "seconds": time.perf_counter() - self._begun}
        with torch.no_grad():
            row |= {f"loss/{name}": float(loss()) for name, loss in self._losses.items()}
            row |= {f"loss/{name}": loss for name, loss in self._noted.items()}
            row |= self._cosines()
            squares = []
            for role in self._matrices:
                row[f"norm/{role.name}"] = float(role.tensor.float().norm())
                row[f"gamma/{role.name}"] = gamma = _gamma(role)
                if math.isfinite(self._start[role.name]):
                    squares.append((gamma - self._start[role.name]) ** 2)
                if role.name in self._ranks:
                    matrix = role.tensor.detach().flatten(0, -2).float().cpu()
                    known = bool(torch.isfinite(matrix).all())
                    rank = effective_rank(torch.linalg.svdvals(matrix).numpy()) if known else math.nan
                    row[f"rank/{role.name}"] = rank
        row["gamma distance"] = math.sqrt(sum(squares) / len(squares)) if squares else math.nan
        self.rows.append(row)
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name.replace(" ", "_"), value, self._step)
        self._write(".csv")
        return row

    def _write(self, kind: str) -> None:
        """Append the last row to a CSV file; rewrite the file if a new loss has added a column."""
        file, row = self._file, self.rows[-1]
        if file is None or file.suffix != kind:
            return
        if kind == ".csv" and row.keys() <= self._columns.keys():
            with file.open("a", encoding="utf-8", newline="") as opened:
                opened.write(csv_text([self._columns | row]).partition("\n")[2])
        else:
            overwrite = self._overwrite or bool(self._columns)
            self._columns = {name: None for row in self.rows for name in row}
            write_table([self._columns | row for row in self.rows], file, overwrite=overwrite)

    def _cosines(self) -> dict[str, float]:
        rows = self._embedding.detach()[torch.from_numpy(self._tokens).to(self._embedding.device)].cpu()
        # A row with NaN or infinity counts as undefined: all zeros.
        values = rows.double().where(rows.isfinite().all(dim=1, keepdim=True), 0.0).numpy()
        columns: dict[str, float] = {}
        for predictor, grams in self._grams.items():
            found = associate_rows(values, np.arange(len(values)), grams, False, self._seed)
            own, control = found.pearson, found.control.mean
            numbers = {"pearson": own.mean, "low": own.low, "high": own.high, "control": control}
            columns |= {f"{k}/{predictor}": math.nan if x is None else x for k, x in numbers.items()}
            columns.setdefault("mean cosine", found.observed_mean)
        return columns

    def close(self) -> None:
        """Record the last step, unless it is recorded, and write a Parquet file."""
        if not self.rows or self.rows[-1]["step"] != self._step:
            self.record()
        self._write(".parquet")
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Recorder:
        self.at(self._step)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transformers_callback(self) -> Any:
        """Return a callback for the Trainer of ``transformers``; it keeps the losses that are logged."""
        library, recorder = require("transformers", package="transformers"), self

        class Callback(library.TrainerCallback):  # type: ignore[misc, name-defined]
            # A step is recorded when the next one begins, with the losses evaluated in between.
            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.is_world_process_zero:
                    recorder.at(state.global_step)

            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
                recorder.note(**{k: v for k, v in (logs or {}).items() if k.endswith("loss")})

            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                # After the last step the Trainer may load the best weights, which are of an earlier one.
                if args.load_best_model_at_end and control.should_training_stop:
                    self.on_train_end(args, state, control)

            on_step_end = on_save  # The last step is not always saved.

            def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.is_world_process_zero:
                    recorder.at(state.global_step)
                    recorder.close()

        return Callback()

    def lightning_callback(self) -> Any:
        """Return a callback for Lightning's Trainer; it keeps logged metrics whose names end in "loss"."""
        library, recorder = require("lightning.pytorch", package="lightning"), self

        class Callback(library.Callback):  # type: ignore[misc, name-defined]
            # Only one of several processes records, since they share a file.
            def on_train_start(self, trainer: Any, module: Any) -> None:
                if trainer.is_global_zero:
                    recorder.at(trainer.global_step)

            def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
                metrics = trainer.callback_metrics.items()
                recorder.note(**{k: float(v) for k, v in metrics if k.endswith("loss")})
                if trainer.is_global_zero:
                    recorder.at(trainer.global_step)

            def on_fit_end(self, trainer: Any, module: Any) -> None:
                if trainer.is_global_zero:
                    recorder.close()

        return Callback()


def _embedding(tables: Sequence[Role], name: str | None, vocab_size: int) -> Role:
    """Return the matrix of that name, or the only embedding with a row per token."""
    fits = [r for r in tables if (name is None or name in r.names) and r.shape[0] >= vocab_size]
    # Of several, the one with exactly as many rows; only for a tiny vocabulary are positions' tables longer.
    rows = [r.shape[0] for r in fits]
    fits = [r for r in fits if r.shape[0] == (vocab_size if vocab_size in rows else max(rows))]
    if len(fits) != 1:
        known = f" of {', '.join(f'{r.name} ({r.shape[0]} rows)' for r in tables)}" * bool(tables)
        problem = f"{len(fits)} such embeddings have {vocab_size} rows or more"
        raise InputError("embedding", name, problem, f"name the parameter with a row per token{known}")
    return fits[0]


def _gamma(role: Role) -> float:
    std = float(role.tensor.detach().float().std())
    return rate_of(std, role.fan_in or 1) if math.isfinite(std) else math.nan
