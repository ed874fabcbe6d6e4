"""``Recorder``: predicted and observed cosines, ranks, norms and γ, recorded in any training loop."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import torch
from torch import nn

from sim.data.text import require
from theory import InputError
from theory.edge.checked import Size, checked
from theory.edge.checks import Between
from theory.edge.reading import as_path
from validate.record.callbacks import for_lightning, for_transformers
from validate.record.file import RecordingFile
from validate.record.measured import Measured, losses_now, number


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
        self._file, self._resume, self._warned = RecordingFile(out, overwrite, resume), resume, set[str]()
        begin_board = None
        if tensorboard is not None:
            begin_board = partial(summary_writer(), str(as_path("tensorboard", tensorboard)))
        self._begun = time.perf_counter()
        self._step: int | None = None
        self._entry: dict[str, float] | None = None
        self._measured = Measured(model, data, embedding, ranks, top, seed)
        self.is_sharded = self._measured.is_sharded
        if self.is_sharded and torch.distributed.get_rank():
            self._file.path = begin_board = None
        # Last, since it makes a folder: only where nothing is refused, and in one process.
        self._board: Any = None if begin_board is None else begin_board()

    def __repr__(self) -> str:
        matrices = f"{len(self._measured.matrices)} matrices of {type(self.model).__name__}"
        return f"Recorder({matrices}, every {self.every} steps; {len(self.rows)} records)"

    def step(self) -> None:
        """Count a step of training, and record if it is one of ``every``."""
        self._check_known()
        self.at((self._step or 0) + 1)

    @checked
    def at(self, step: Annotated[int, Between(0)]) -> None:
        """Tell the recorder how many steps are done, for loops that count them, also several at once."""
        before, self._step = self._step, step
        if before is None and self._file.earlier:
            self._go_on(step)
        elif before is None and self._entry is not None and step <= 1:
            self._keep(self._entry)
        elif before is not None and step < before:
            self._tell(f"steps go back (from {before} to {step}), and such a file cannot be gone on with")
        is_due = step % self.every == 0 or (before is not None and step // self.every > before // self.every)
        if is_due and (not self.rows or self.rows[-1]["step"] != step):
            self.record()

    def note(self, **losses: float) -> None:
        """Keep losses that the loop has already computed; the latest go into the next record."""
        self._noted |= {name: number(name, loss, self._tell) for name, loss in losses.items()}

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
        first, start = self._file.earlier[0], self._measured.start
        begins = first if first.get("gamma distance") == 0 else {}
        self._measured.start = {name: begins.get(f"gamma/{name}", math.nan) for name in start}
        self.rows = [row for row in self._file.earlier if row["step"] <= step]
        if self.rows:
            self._begun -= self.rows[-1]["seconds"]
            self._save()

    def _row(self, step: int) -> dict[str, float]:
        row = {"step": float(step), "seconds": time.perf_counter() - self._begun}
        with torch.no_grad():
            row |= losses_now(self.model, self._losses, self._tell)
            row |= {f"loss/{name}": loss for name, loss in self._noted.items()}
            return row | self._measured.numbers()

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
        self._save()
        return row

    def _save(self) -> None:
        try:
            self._file.append(self.rows)
        except (OSError, InputError) as error:
            self._tell(f"{self._file.path} cannot be written, its rows are kept in memory ({error})")

    def close(self) -> None:
        """Record the last step, unless it is recorded or no step is known, and write a Parquet file."""
        if self._step is not None and (not self.rows or self.rows[-1]["step"] != self._step):
            self.record()
        self._finish()

    def _finish(self) -> None:
        self._file.finish(self.rows)
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
        return for_transformers(self)

    def lightning_callback(self) -> Any:
        """Return a callback for Lightning's Trainer; it keeps logged metrics whose names end in "loss"."""
        return for_lightning(self)
