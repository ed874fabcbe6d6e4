"""Where observations come from: a run, run folders, kept files, folders of either, or a study."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from shlex import quote

import numpy as np

from sim.config.language import LanguageTask
from sim.runs.folder import RunFolder, is_run_folder, runs_inside
from sim.runs.run import Run
from theory import frozen_direction
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.edge.reading import PathLike, as_path, is_folder, normalized
from validate.observe.observations import KEPT_SUFFIX, LazyArrays, NoRunsError, Observations
from validate.observe.store import KEPT, kept_files, read_kept

RUNS = Path("runs/studies")
"""The default folder of studies' run folders."""
Source = PathLike | Run | Observations
"""A run folder, a kept file, a folder of these, a run, or what was observed of one."""


@checked
def observe_path(path: PathLike) -> Observations:
    """Return the observations of a run folder, or those that a kept file holds."""
    file = as_path("path", path)
    return read_kept(file) if file.suffix == KEPT_SUFFIX else observe(Run.open(file))


def find_observations(sources: Source | Iterable[Source], *, variants: bool = False) -> list[Observations]:
    """Return the observations of every run that is named.

    Parameters
    ----------
    sources : path, Run, Observations, or iterable of these
        A path is a run folder, a kept file, or a folder of either.
    variants : bool, optional
        Whether a folder's runs may also be two folders down, as with a study's variants. Without it
        such a folder is refused, with the names of the folders to choose from.

    Raises
    ------
    InputError
        If a path holds no run, or a run cannot be read.
    """
    observations: list[Observations] = []
    for source in [sources] if isinstance(sources, (str, os.PathLike, Run, Observations)) else sources:
        if isinstance(source, Observations):
            observations.append(source)
        elif isinstance(source, Run):
            observations.append(observe(source))
        else:
            observations += map(observe_path, _inside(as_path("run", source), variants))
    return observations


def kept(
    study: str, variant: str | None = None, *, root: PathLike | None = None, folder: PathLike = KEPT
) -> list[Observations]:
    """Return the kept observations of a study, by variant, γ and seed.

    Parameters
    ----------
    study : str
        A study's name.
    variant : str, optional
        One of its variants; all of them if not given.
    root : str or Path, optional
        Observe the complete run folders under ``root/study`` instead of reading what is kept.
    folder : str or Path, optional
        The folder with the kept files.

    Raises
    ------
    NoRunsError
        If there is none, with the command that makes them.
    InputError
        If a file is not as it was kept, or a run cannot be read.
    """
    if root is not None:
        where = as_path("root", root)
        inside = runs_inside(where / study / (variant or ""), *((1, 2) if variant is None else (1,)))
        held = [RunFolder(path) for path in inside]
        done = [run for run in held if run.has_provenance and run.read_provenance()["status"] == "complete"]
        observations = [observe(Run.open(run.path)) for run in done]
    else:
        where = as_path("folder", folder)
        pattern = f"*{KEPT_SUFFIX}" if variant is None else f"{variant}__*{KEPT_SUFFIX}"
        # Without a list every file is refused, instead of being overlooked.
        files = kept_files(study, where) or (where / study).glob(pattern)
        observations = [read_kept(file) for file in files if file.match(pattern)]
    if not observations:
        name = study if variant is None else f"{study}, variant {variant}"
        remedy = how_to_make(study, None if root is None else where, where)
        raise NoRunsError("study", name, f"no runs of it in {where}", remedy)
    return sorted(observations, key=_order)


def how_to_make(study: str, root: Path | None, folder: Path = KEPT) -> str:
    """Return the remedy for a study that has no runs under ``root``, or no kept ones without it."""
    kept_elsewhere = f" --kept {quote(str(folder))}" * (folder != KEPT)
    where = f" --keep{kept_elsewhere}" if root is None else f" --root {quote(str(root))}"
    return f"make them: anchorflow study {study} --run{where}"


def _inside(path: Path, variants: bool) -> list[Path]:
    if not is_folder(path) or is_run_folder(path):
        return [path]
    whole = normalized(path)
    listed = kept_files(whole.name, whole.parent)  # A lost file is refused, too.
    kept_here = sorted({*path.glob(f"*{KEPT_SUFFIX}"), *(path / file.name for file in listed)})
    # A folder without runs is refused when it is read.
    return [*runs_inside(path, *((1, 2) if variants else (1,))), *kept_here] or [path]


def _order(run: Observations) -> tuple[str, str, float, int]:
    """Return a sort key: variant, which is a folder's name or the beginning of a file's, then γ and seed."""
    assert run.path is not None
    variant = run.path.name.rpartition("__")[0]
    return str(run.path.parent), variant, run.config.init_rate, run.config.seed


# --- one run --------------------------------------------------------------------------------------------


def observe(run: Run) -> Observations:
    """Return the observations of a finished run, on which claims and figures are based.

    All arrays are computed in float64 from the snapshots, when the first of them is needed. Observables of
    matrices that a snapshot does not hold are absent: train with ``training.snapshot_tensors = "all"`` to
    observe attention, outputs and every spectrum.
    """
    arrays = LazyArrays(partial(_arrays, run))
    return Observations(run.config, run.provenance, run.metrics, run.snapshot_epochs, arrays, run.path)


def _arrays(run: Run) -> dict[str, FloatArray]:
    # Both import torch, which kept files do not need.
    if isinstance(run.config.task, LanguageTask):
        from validate.observe.language import observe_language

        return observe_language(run)
    from sim.models.base import model_of
    from validate.observe.parameters import draw_probe, observe_parameters

    probe, snapshots = draw_probe(run.task), []
    for epoch in run.snapshot_epochs:
        parameters = {name: array.astype(np.float64) for name, array in run.snapshot(epoch).items()}
        snapshots.append(observe_parameters(parameters, run.config, probe))
    shared = [name for name in snapshots[0] if all(name in other for other in snapshots)]
    arrays: dict[str, FloatArray] = {name: np.stack([other[name] for other in snapshots]) for name in shared}
    # Without an axis of epochs: the anchors' labels in the training data, and an Emb-MLP's frozen flow.
    anchors, C = list(run.task.anchors), run.token_label_matrix
    counts, n_sequences = run.token_label_counts()
    arrays["token_label_matrix_anchors"] = C[anchors]
    arrays["token_ratio"] = counts[anchors].sum(axis=1) / n_sequences
    if "frozen flow" in model_of(run.config.model).shows:
        direction = frozen_direction(C, run.initial())[anchors]
        arrays["frozen_direction"] = direction @ direction.T
        arrays["frozen_start"] = run.embedding(0)[anchors] @ direction.T
    return arrays
