"""``Recorder``: predicted and observed cosines, ranks, norms and γ, recorded in any training loop."""

from __future__ import annotations

import csv
import math
import random
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import nn

from sim.data.text import require
from sim.modules.roles import Role, check_numbers, matching, roles_of
from sim.runs.outputs import OutputFile
from sim.runs.table import csv_text, write_table
from theory import InputError, Task, corpus_gram, label_distribution
from theory.corpus.counts import CountPredictor
from theory.edge.arrays import FloatArray
from theory.edge.checked import Between, Size, checked
from theory.edge.reading import as_path, is_file
from validate.corpus.association import associate_rows
from validate.corpus.embedding import counts_and_controls, token_sets
from validate.observe.observables import effective_rank
from validate.scales.escapes import rate_of


def summary_writer() -> Any:
    """Return the class of TensorBoard's writers, or refuse if it is not installed."""
    return require("torch.utils.tensorboard", package="tensorboard").SummaryWriter


class Recorder:
    """Records how well a model's embedding follows its data's prediction; see ``step`` and the callbacks.

    Every record is a row of ``rows``: step and seconds; Pearson's correlation of predicted and observed
    cosines by predictor, with its 95 % interval and its control; the mean cosine; the losses; the norm of
    every matrix, its γ, and the effective rank of chosen ones; and the distance in γ from the start, a root
    mean square over the matrices. Recording draws no random numbers of torch and leaves the model as it is:
    losses are called in evaluation mode, and modes and random generators are then as before. It never ends
    the training: a loss that raises, or returns no number, is NaN; where the file cannot be written, its rows
    wait for a later one. Either is said once, in a warning; ``close`` raises if it still cannot be written.
    Parameters are looked up by name at each record, and sharded ones (DTensors) gathered: then every process
    has to record, and the first writes.

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
    resume : bool, optional
        Go on with the rows of ``out``, if there are any; those after the first step that ``at`` is told are
        dropped.
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
        resume: bool = False,
        seed: Annotated[int, Between(0)] = 0,
    ) -> None:
        self.model, self.every, self.rows = model, every, list[dict[str, float]]()
        self._losses, self._noted = losses or {}, dict[str, float]()
        for name, loss in self._losses.items():
            if not callable(loss):
                remedy = "give a function without arguments that returns the loss"
                raise InputError(f"losses[{name!r}]", loss, "not a function", remedy)
        self._warned, self._unwritten = set[str](), False
        self._file = None if out is None else as_path("out", out).absolute()
        self._overwrite, self._columns = overwrite or resume, dict[str, float | None]()
        self._resume, self._earlier = resume, list[dict[str, float]]()
        if resume and (self._file is None or overwrite):
            problem = "needs out" if self._file is None else "excludes overwrite"
            raise InputError("resume", True, problem, "give the file to go on with, and resume alone")
        if self._file is not None:
            if self._file.suffix not in (".csv", ".parquet"):
                remedy = "give a file that ends in .csv or .parquet"
                raise InputError("out", str(self._file), "unknown kind of table", remedy)
            OutputFile(self._file, overwrite=self._overwrite).check()
            if self._file.suffix == ".parquet":
                require("pyarrow.parquet", "table")  # Better missed now than after the training.
            if resume and is_file(self._file):
                self._earlier = read_rows(self._file)
        begin_board = None
        if tensorboard is not None:
            begin_board = partial(summary_writer(), str(as_path("tensorboard", tensorboard)))
        roles = roles_of(model)
        check_numbers(roles)
        self._matrices = [r for r in roles if r.kind in ("matrix", "embedding") and math.prod(r.shape) != 1]
        self._ranks = {name for r in ranks for name in matching("ranks", r, [m.name for m in self._matrices])}
        self._seed, self._begun = seed, time.perf_counter()
        self._step: int | None = None
        self._entry: dict[str, float] | None = None
        self._predict(roles, data, embedding, top)
        self._start = {role.name: _gamma(role, tensor) for role, tensor in self._tensors()}
        self.sharded = any(hasattr(role.tensor, "full_tensor") for role in roles)
        if self.sharded and torch.distributed.get_rank():
            self._file = begin_board = None
        # Last, since it makes a folder: only where nothing is refused, and in one process.
        self._board: Any = None if begin_board is None else begin_board()

    def __repr__(self) -> str:
        matrices = f"{len(self._matrices)} matrices of {type(self.model).__name__}"
        return f"Recorder({matrices}, every {self.every} steps; {len(self.rows)} records)"

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
            learned: CountPredictor = "tied" if role.reads_out else "bigram"
            for p in (learned, "marginal", "readout"):
                self._grams[p] = [corpus_gram(each, self._tokens, p) for each in corpora]
        self._embedding = role.name

    def _whole(self, names: Sequence[str]) -> Iterator[torch.Tensor]:
        """Yield parameters as they are now, whole: ``load_state_dict(assign=True)`` replaces them."""
        held = dict(self.model.named_parameters(remove_duplicate=False))
        for name in names:
            tensor = held.get(name)
            if tensor is None or not tensor.numel():
                problem = "no longer in the model" if tensor is None else "an empty shard"
                remedy = (
                    "record where parameters are whole (FSDP.summon_full_params), or shard by fully_shard"
                )
                raise InputError("model", name, problem, remedy)
            gather = getattr(tensor, "full_tensor", None)
            yield tensor.detach() if gather is None else gather().detach()

    def _tensors(self) -> Iterator[tuple[Role, torch.Tensor]]:
        yield from zip(self._matrices, self._whole([r.name for r in self._matrices]), strict=True)

    def step(self) -> None:
        """Count a step of training, and record if it is one of ``every``."""
        self._check_known()
        self.at((self._step or 0) + 1)

    def at(self, step: int) -> None:
        """Tell the recorder how many steps are done, for loops that count them."""
        known, self._step = self._step is not None, step
        if not known and self._earlier:
            self._go_on(step)
        elif not known and self._entry is not None and step <= 1:
            self._keep(self._entry)
        if step % self.every == 0 and (not self.rows or self.rows[-1]["step"] != step):
            self.record()

    def note(self, **losses: float) -> None:
        """Keep losses that the loop has already computed; the latest go into the next record."""
        self._noted |= {name: float(loss) for name, loss in losses.items()}

    def record(self) -> dict[str, float]:
        """Record now, at any step, and return the row."""
        self._check_known()
        self._step = self._step or 0
        return self._keep(self._row(self._step))

    def _check_known(self) -> None:
        if self._resume and self._step is None:
            problem = "the step at which training goes on is not known"
            raise InputError("resume", True, problem, "call at(step) first")

    def _go_on(self, step: int) -> None:
        """Keep the rows of the file up to a step; time and distances count from its beginning."""
        self.rows = [row for row in self._earlier if row["step"] <= step]
        first = self._earlier[0]
        begins = first if first.get("gamma distance") == 0 else {}
        self._start = {name: begins.get(f"gamma/{name}", math.nan) for name in self._start}
        if self.rows:
            self._begun -= self.rows[-1]["seconds"]
            self._write(".csv", whole=True)

    def _row(self, step: int) -> dict[str, float]:
        row = {"step": float(step), "seconds": time.perf_counter() - self._begun}
        with torch.no_grad():
            row |= self._measured_losses()
            row |= {f"loss/{name}": loss for name, loss in self._noted.items()}
            row |= self._cosines(*self._whole([self._embedding]))
            squares = []
            for role, tensor in self._tensors():
                row[f"norm/{role.name}"] = float(tensor.float().norm())
                row[f"gamma/{role.name}"] = gamma = _gamma(role, tensor)
                if math.isfinite(self._start[role.name]):
                    squares.append((gamma - self._start[role.name]) ** 2)
                if role.name in self._ranks:
                    matrix = tensor.flatten(0, -2).float().cpu()
                    known = bool(torch.isfinite(matrix).all())
                    rank = effective_rank(torch.linalg.svdvals(matrix).numpy()) if known else math.nan
                    row[f"rank/{role.name}"] = rank
        row["gamma distance"] = math.sqrt(sum(squares) / len(squares)) if squares else math.nan
        return row

    def _measured_losses(self) -> dict[str, float]:
        """Call the losses in evaluation mode; modes and random generators are then as before."""
        if not self._losses:
            return {}
        modes, losses = {module: module.training for module in self.model.modules()}, dict[str, float]()
        states = random.getstate(), np.random.get_state()  # noqa: NPY002
        devices = {p.device for p in self.model.parameters() if p.device.type == "cuda"}
        with torch.random.fork_rng(devices):
            self.model.eval()
            try:
                for name, loss in self._losses.items():
                    try:
                        losses[f"loss/{name}"] = float(loss())
                    except Exception as error:  # It is the user's.
                        self._tell(f"the loss {name!r} gave no number ({type(error).__name__}: {error})")
                        losses[f"loss/{name}"] = math.nan
            finally:
                for module, mode in modes.items():
                    module.training = mode
                random.setstate(states[0])
                np.random.set_state(states[1])  # noqa: NPY002
        return losses

    def _tell(self, problem: str) -> None:
        """Warn of a problem once; problems of one kind begin alike."""
        if (kind := problem.partition(" (")[0]) not in self._warned:
            self._warned.add(kind)
            warnings.warn(f"Recorder: {problem}", stacklevel=2)

    def _keep(self, row: dict[str, float]) -> dict[str, float]:
        self.rows.append(row)
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name.replace(" ", "_"), value, int(row["step"]))
        try:
            self._write(".csv")
        except (OSError, InputError) as error:
            self._unwritten = True
            self._tell(f"{self._file} cannot be written, its rows are kept in memory ({error})")
        return row

    def _write(self, kind: str, *, whole: bool = False) -> None:
        """Append the last row to a CSV file; write all rows if that failed, or a loss has added a column."""
        file = self._file
        if file is None or file.suffix != kind or not self.rows:
            return
        row = self.rows[-1]
        whole = whole or self._unwritten or kind == ".parquet" or not is_file(file)
        if not whole and row.keys() <= self._columns.keys():
            with file.open("a", encoding="utf-8", newline="") as opened:
                opened.write(csv_text([self._columns | row]).partition("\n")[2])
        else:
            columns: dict[str, float | None] = {name: None for row in self.rows for name in row}
            overwrite = self._overwrite or bool(self._columns)
            write_table([columns | row for row in self.rows], file, overwrite=overwrite)
            self._columns, self._unwritten = columns, False

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

    def close(self) -> None:
        """Record the last step, unless it is recorded or no step is known, and write a Parquet file."""
        if self._step is not None and (not self.rows or self.rows[-1]["step"] != self._step):
            self.record()
        self._finish()

    def _finish(self) -> None:
        self._write(".csv" if self._unwritten else ".parquet")
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Recorder:
        # Which step these weights belong to is known when the loop tells its first one.
        if self._step is None and not self._resume:
            self._entry = self._row(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(Exception):  # The error of the loop is the one to be seen.
            self._finish()

    def transformers_callback(self) -> Any:
        """Return a callback for the Trainer of ``transformers``; it keeps the losses that are logged."""
        library, recorder = require("transformers", package="transformers"), self

        class Callback(library.TrainerCallback):  # type: ignore[misc, name-defined]
            # A step is recorded when the next one begins, with the losses evaluated in between.
            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.is_world_process_zero or recorder.sharded:
                    recorder.at(state.global_step)

            def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
                recorder.note(**{k: v for k, v in (logs or {}).items() if k.endswith("loss")})

            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                # After the last step the Trainer may load the best weights, which are of an earlier one.
                if args.load_best_model_at_end and control.should_training_stop:
                    self.on_train_end(args, state, control)

            on_step_end = on_save  # The last step is not always saved.

            def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.is_world_process_zero or recorder.sharded:
                    recorder.at(state.global_step)
                    recorder.close()

        return Callback()

    def lightning_callback(self) -> Any:
        """Return a callback for Lightning's Trainer; it keeps logged metrics whose names end in "loss"."""
        library, recorder = require("lightning.pytorch", package="lightning"), self

        class Callback(library.Callback):  # type: ignore[misc, name-defined]
            # Only one of several processes records, since they share a file, unless each has a part.
            def on_train_start(self, trainer: Any, module: Any) -> None:
                if trainer.is_global_zero or recorder.sharded:
                    recorder.at(trainer.global_step)

            def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
                if trainer.global_step % recorder.every == 0:  # To read a metric waits for the device.
                    self.note(trainer)
                self.on_train_start(trainer, module)

            def note(self, trainer: Any) -> None:
                recorder.note(**{k: v for k, v in trainer.callback_metrics.items() if k.endswith("loss")})

            def on_fit_end(self, trainer: Any, module: Any) -> None:
                self.note(trainer)
                if trainer.is_global_zero or recorder.sharded:
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


def _gamma(role: Role, tensor: torch.Tensor) -> float:
    std = float(tensor.float().std())
    return rate_of(std, role.fan_in or 1) if math.isfinite(std) else math.nan


def read_rows(file: Path) -> list[dict[str, float]]:
    """Return the rows of an earlier recording; a last line that was cut off is left out."""
    try:
        if file.suffix == ".parquet":
            parquet = require("pyarrow.parquet", "table")
            read = parquet.read_table(file).to_pylist()
        else:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            read = list(csv.DictReader(line for line in lines if line.endswith("\n")))
        rows = [{name: float(v) for name, v in row.items() if v not in (None, "")} for row in read]
        steps = [row["step"] for row in rows if math.isfinite(row["seconds"])]
        if steps == sorted(steps):
            return rows
    except (OSError, ValueError, TypeError, KeyError, AttributeError, csv.Error):
        pass
    raise InputError("out", str(file), "not a recording", "give its file, or leave resume out")
