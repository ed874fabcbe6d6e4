"""A finished run, read back from its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.data.corpus import Corpus
from sim.errors import DamagedError
from sim.runs.files import read_tensors
from sim.runs.folder import (
    REMEDY,
    STATISTICS,
    RunFolder,
    is_run_folder,
    read_config,
    runs_inside,
    snapshot_name,
)
from sim.runs.folder import unfinished as refusal_of_unfinished
from sim.runs.records import Arrays, Counted, Texts, check_arrays, read_json, read_record
from sim.runs.table import COLUMNS, LAST_HEADER, frame, last_rows, long_records, metric_records
from theory import EmbMLPParameters, InputError, Task, frozen_direction
from theory.edge.checked import checked
from theory.edge.display import html_table
from theory.edge.reading import PathLike, as_path, is_folder, paths_of
from theory.labels.matrices import matrix_of_counts


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run, read back from its folder.

    Attributes
    ----------
    path : Path
    config : MemberConfig
    provenance : dict
    metrics : list of dict
        One entry per evaluation: epoch, step, sum_learning_rate, and loss and accuracy per data set.
    snapshot_epochs : tuple of int
        The epochs at which the embedding was kept.
    """

    path: Path
    config: MemberConfig
    provenance: dict[str, Any]
    metrics: list[dict[str, Any]]
    snapshot_epochs: tuple[int, ...]
    _folder: RunFolder = field(init=False, compare=False)

    @classmethod
    @checked
    def open(cls, path: PathLike, *, unfinished: bool = False) -> Run:
        """Read a run folder.

        Parameters
        ----------
        path : Path
        unfinished : bool, optional
            Also read a run that is still in training or was stopped, as far as it has come.

        Raises
        ------
        InputError
            If the folder is missing, of another version, unfinished, diverged or incomplete; a run that has
            not been evaluated yet is refused too.
        """
        folder = RunFolder(as_path("path", path))
        config = read_config(folder.path)
        provenance = folder.read_provenance() if unfinished else folder.check_complete()
        if provenance["status"] == "diverged" or not folder.has_metrics:
            raise refusal_of_unfinished(folder.path, provenance)
        metrics = folder.read_metrics()
        # A run that continues after a kill may have later snapshots than evaluations.
        epochs = tuple(epoch for epoch in folder.snapshot_epochs() if epoch <= metrics[-1]["epoch"])
        first, size = snapshot_name(0), config.task.vocab_size
        wanted = (size, config.model.width(size))  # Before anything of that size is computed.
        if 0 not in epochs or folder.shape_of(first, config.model.embedding) != wanted:
            problem, remedy = f"has no embedding of shape {wanted}, as its configuration has", REMEDY
            raise InputError("run", str(folder.path / first), problem, remedy)
        return cls(folder.path, config, provenance, metrics, epochs)

    def __post_init__(self) -> None:
        # After a change of working folder the same path may lead to another run.
        object.__setattr__(self, "_folder", RunFolder(as_path("path", self.path).absolute()))

    def __repr__(self) -> str:
        reached = ", ".join(f"{row[0]} {row[1]}" for row in last_rows(self.config, self.metrics))
        return f"Run({str(self.path)!r}: {self._title}, accuracy {reached})"

    def _repr_html_(self) -> str:
        return html_table(f"{self.path}: {self._title}", LAST_HEADER, last_rows(self.config, self.metrics))

    @property
    def _title(self) -> str:
        c = self.config
        return f"{c.model.kind}, γ = {c.init_rate:g}, seed {c.seed}, epoch {self.metrics[-1]['epoch']:g}"

    def to_records(self) -> list[dict[str, Any]]:
        """Return the metrics as tidy rows of ``sim.runs.table.COLUMNS``: one per evaluation and data set."""
        return metric_records(self.path, self.config, self.metrics)

    def to_frame(self, *, long: bool = False) -> Any:
        """Return ``to_records`` as a pandas DataFrame, which the extra ``anchorflow[table]`` installs.

        With ``long``, one row for each statistic instead, as in ``sim.runs.table.long_records``.
        """
        if not long:
            return frame(self.to_records(), COLUMNS)
        records = long_records([(str(self.path), self.config, self.metrics)])
        return frame(records, records[0])

    @property
    def task(self) -> Task:
        """The run's task of anchors and keys; a language model's run is refused."""
        return self.config.build_task()

    @checked
    def snapshot(self, epoch: int) -> Arrays:
        """Return the arrays kept at an epoch.

        Raises
        ------
        InputError
            If there are none, or their file has changed since it was written.
        """
        if epoch not in self.snapshot_epochs:
            remedy = f"choose one of {list(self.snapshot_epochs)}"
            raise InputError("epoch", epoch, f"no snapshot in {self.path}", remedy)
        from sim.models.initial import tensor_specs  # It loads torch, without which a run is opened.

        specs = tensor_specs(self.config)

        def fitting(content: bytes) -> Arrays:
            arrays, _ = read_tensors(content)
            names = {self.config.model.embedding} if epoch else specs
            known = {name: array for name, array in arrays.items() if name in specs}
            check_arrays(known, {name: specs[name].shape for name in (*names, *known)})
            for name, array in known.items():
                if not np.isfinite(array).all():
                    raise DamagedError(f"has NaN or infinity in {name}")
            return known

        return self._folder.read(snapshot_name(epoch), fitting)

    def embedding(self, epoch: int) -> npt.NDArray[np.float64]:
        """Return the embedding, W_emb or W_E, at an epoch, shape (d, d_m), float64."""
        return self.snapshot(epoch)[self.config.model.embedding].astype(np.float64)

    def initial(self) -> EmbMLPParameters:
        """Return an Emb-MLP's own matrices at epoch 0; other kinds of model are refused."""
        arrays = self.snapshot(0)
        if set(arrays) != {"W_emb", "W1", "W2"}:
            problem = f"trained a model of kind {self.config.model.kind!r}, which has no W1 and W2"
            remedy = "name the run of an Emb-MLP, or read this one's tensors with Run.snapshot(0)"
            raise InputError("run", str(self.path), problem, remedy)
        return EmbMLPParameters(arrays["W_emb"], arrays["W1"], arrays["W2"])

    def token_label_counts(self) -> tuple[npt.NDArray[np.int64], int]:
        """Return the token-label counts of the training data, shape (d, d), and its size n."""
        self.config.build_task()  # Refuses a language model's run.
        d = self.config.task.vocab_size

        def counted(content: bytes) -> tuple[npt.NDArray[np.int64], int]:
            arrays, meta = read_tensors(content)
            check_arrays(arrays, {"token_label_counts": (d, d)}, "iu")
            return arrays["token_label_counts"], read_record(Counted, meta).n_sequences

        return self._folder.read(STATISTICS, counted)

    def corpora(self) -> dict[str, Corpus]:
        """Return the corpora that a language model trained on, by name, each sequence as a document."""
        if not isinstance(task := self.config.task, LanguageTask):
            raise InputError("run", str(self.path), "not trained on a corpus", "name a language model's run")

        def texts(content: bytes) -> dict[str, Corpus]:
            arrays, meta = read_tensors(content)
            n, size = len(task.corpora), (len(task.corpora) * task.n_sequences, task.length + 1)
            check_arrays(arrays, {"sequences": size, "ends": (n,)}, "iu")
            said = read_record(Texts, {name: read_json(text.encode()) for name, text in meta.items()})
            first, rows = arrays["sequences"][:, 0], arrays["sequences"]
            expected = np.arange(1, n + 1) * task.n_sequences
            if (
                (first < 0).any()
                or rows.min() < -1
                or rows.max() >= task.vocab_size
                or len(said.words) != task.vocab_size
                or said.corpora != task.names
                or (arrays["ends"] != expected).any()
            ):
                raise DamagedError("holds other texts than its configuration names")
            return {
                name: Corpus(part[part >= 0], np.cumsum((part >= 0).sum(axis=1)), tuple(said.words))
                for name, part in zip(task.names, np.split(rows, expected[:-1]), strict=True)
            }

        return self._folder.read(STATISTICS, texts)

    @cached_property
    def token_label_matrix(self) -> npt.NDArray[np.float64]:
        """C of the training data, shape (d, d): row s is r_s (P̂^s − u)."""
        return matrix_of_counts(*self.token_label_counts())

    @cached_property
    def frozen_direction(self) -> npt.NDArray[np.float64]:
        """dW_emb/dt by eq. 5 from an Emb-MLP's own initial weights and training data, shape (d, d_m)."""
        return frozen_direction(self.token_label_matrix, self.initial())


def is_complete(path: Path) -> bool:
    """Return whether a folder holds a complete run."""
    try:
        Run.open(path)
    except InputError:
        return False
    return True


@checked
def find_runs(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """Return run folders: the paths themselves, or for a folder of runs those inside it, sorted.

    A folder that holds folders of runs is returned as it is, and refused when it is read: the runs in it may
    have different tasks.
    """
    runs: dict[str, Path] = {}
    for path in paths_of(paths):
        inside = [] if not is_folder(path) or is_run_folder(path) else runs_inside(path, 1)
        runs |= {os.path.realpath(run): run for run in inside or [path]}  # One that is named twice is one.
    return list(runs.values())
