"""``compare_series``: the embeddings of many revisions of a model against their text, step by step."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from theory import InputError, corpus_gram
from theory.corpus.counts import CountPredictor
from theory.edge.arrays import FloatArray
from theory.edge.checked import Size, checked
from theory.edge.checks import Between
from validate.corpus.association import MEASURES, NOTES, Association, Associations, associate_rows, named_json
from validate.corpus.checkpoint import Checkpoint
from validate.corpus.embedding import counts_and_controls, token_sets
from validate.figures.curves import Curve, Curves
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE, Look
from validate.terminal.output import Table

_SAMPLED = 500  # Rows used to compare revisions with each other.


class Point(NamedTuple):
    """One matrix of one revision, "embedding" or "read-out", compared with one predictor."""

    step: int
    file: str
    matrix: str
    predictor: str
    association: Association


@dataclass(frozen=True, repr=False)
class EmbeddingSeries(Associations):
    """Predicted and observed cosines over the revisions of a model; print it.

    Attributes
    ----------
    points : tuple of Point
        In order of steps.
    warnings : tuple of str
        Identical revisions, and revisions that do not lie between their neighbours.
    """

    points: tuple[Point, ...]
    warnings: tuple[str, ...]

    def table(self) -> Table:
        """Return one line per point."""
        lines = [[str(p.step), p.matrix, p.predictor, *p.association.cells(), p.file] for p in self.points]
        title = "cosines predicted from the text against each revision's"
        spare = ("file", "mean", "observed", "Spearman", "control")
        return Table(title, ("step", "matrix", "predictor", *MEASURES, "file"), lines, spare, NOTES)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; undefined values are null."""
        points = [named_json(each) for each in self.points]
        schema = "anchorflow/embedding-series/1"
        return {"schema": schema, "points": points, "warnings": list(self.warnings)}

    def sheet(self) -> Sheet:
        """Return a figure of Pearson's correlation and its control over the steps, and of mean cosines."""
        correlations, means = dict[str, Curve](), dict[str, Curve]()
        kinds = dict.fromkeys((p.matrix, p.predictor) for p in self.points)
        for kind, colour in zip(kinds, itertools.cycle(PALETTE), strict=False):
            points = [p for p in self.points if (p.matrix, p.predictor) == kind]
            steps, name = [p.step for p in points], ", ".join(kind)
            own = [p.association.pearson for p in points], Look(colour, "o")
            control = [p.association.control for p in points], Look(colour, line=":")
            for label, (found, look) in {name: own, f"{name}, shuffled text": control}.items():
                ends = np.array([[e.low, e.high] for e in found], dtype=float).T
                correlations[label] = Curve(steps, np.array([[e.mean for e in found]]), look, interval=ends)
            observed = np.array([[p.association.observed_mean for p in points]])
            means[f"_{name}"] = Curve(steps, observed, Look(colour, "o"))
        scale = "symlog" if any(p.step for p in self.points) else "linear"
        over, title = "95 % interval over tokens (jackknife)", "predicted and observed cosines"
        panels = [
            Curves(title, correlations, "step", "correlation", scale, interval=over),
            Curves("mean cosine observed", means, "step", "cosine", scale),
        ]
        caption = "Predicted and observed cosines over the revisions of a model, with 95 % intervals."
        return Sheet("series", caption, "", [PanelRow("", panels, height=2.6)])


@checked
def compare_series(
    checkpoints: Sequence[Any],
    corpus: Any,
    *,
    tensor: str | None = None,
    readout: str | None = None,
    steps: Sequence[int] = (),
    weights_only: bool = False,
    predictors: Sequence[CountPredictor] = (),
    tokens: Sequence[int] = (),
    top: Annotated[int, Between(2, 4000)] = 500,
    controls: Size = 3,
    padded: bool = False,
    seed: Annotated[int, Between(0)] = 0,
) -> EmbeddingSeries:
    """Compare predicted cosines of a corpus with the cosines of many revisions of one model.

    From each checkpoint only the embedding is read, and the read-out if it is not tied.

    Parameters
    ----------
    checkpoints : sequence of path or file
        Anything ``read_embedding`` opens; sorted by step.
    corpus : Corpus, list or tuple
        See ``compare_embedding``.
    tensor : str, optional
        The embedding's name.
    readout : str, optional
        The read-out's name, or "tied"; by default what the file says. Where it says nothing, "tied" and
        "bigram" are both compared, and a warning says so.
    steps : sequence of int, optional
        The step of each checkpoint; by default read from its path (``steps_of``).
    weights_only : bool, optional
        See ``read_embedding``.
    predictors : sequence of {"bigram", "marginal", "tied", "readout"}, optional
        By default "tied" for a tied embedding; else "bigram", and "readout" for the read-out.
    tokens, top, controls, padded, seed
        See ``compare_embedding``; compared are the most frequent tokens, or the ``tokens`` named.
    """
    if not checkpoints:
        raise InputError("checkpoints", [], "none", "name at least one")
    files = [Checkpoint(checkpoint, weights_only=weights_only) for checkpoint in checkpoints]
    if steps and len(steps) != len(files):
        raise InputError("steps", len(steps), f"not one for each of {len(files)} checkpoints", "give as many")
    numbers = list(steps) or steps_of([checkpoint.name for checkpoint in files])
    opened = sorted(zip(numbers, files, strict=True), key=lambda each: each[0])
    shape = opened[0][1].matrices(tensor, readout)[0].rows.shape
    rng = np.random.default_rng(seed)
    corpora = counts_and_controls(corpus, shape[0], padded, controls, rng)
    ((_, chosen),) = token_sets(corpora[0], tokens, top, (), rng)
    grams = cache(lambda predictor: [corpus_gram(each, chosen, predictor) for each in corpora])
    points, rows, unsaid = [], [], []
    for step, checkpoint in opened:
        matrices = checkpoint.matrices(tensor, readout)
        for kind, matrix, fitting in matrices:
            # A read-out may have more rows than the embedding, or fewer: padding.
            if (matrix.shape != shape and kind == matrices[0].kind) or len(matrix) <= chosen.max():
                problem = f"its {kind} has the shape {matrix.shape}, the first embedding {shape}"
                raise InputError("checkpoints", checkpoint.name, problem, "name revisions of one model")
            for predictor in predictors or fitting:
                association = associate_rows(matrix, chosen, grams(predictor), False, seed)
                points.append(Point(step, checkpoint.name, kind, predictor, association))
        first = matrices[0]
        unsaid += [checkpoint.name] * (len(first.predictors) > 1 and not predictors)
        digest = hashlib.sha256(first.rows.tobytes()).digest()
        rows.append((checkpoint.name, digest, first.rows[chosen[:_SAMPLED]]))
    both = f"{unsaid[0]} does not say whether its read-out is tied: both readings are shown" if unsaid else ""
    more = f" (and {len(unsaid) - 1} others)" * (len(unsaid) > 1) + "; settle it with readout (--readout)"
    return EmbeddingSeries(tuple(points), (*[both + more] * bool(unsaid), *_warnings(rows)))


def _warnings(revisions: Sequence[tuple[str, bytes, FloatArray]]) -> list[str]:
    warnings: list[str] = []
    first: dict[bytes, tuple[str, FloatArray]] = {}
    for name, digest, rows in revisions:
        if digest in first:
            warnings.append(f"{name} holds the same embedding as {first[digest][0]}")
        first.setdefault(digest, (name, rows))
    distinct = list(first.values())
    for (before, a), (name, own), (after, b) in zip(distinct, distinct[1:], distinct[2:], strict=False):
        # During training a revision is nearer to one of its neighbours than they are to each other.
        if min(np.linalg.norm(own - a), np.linalg.norm(own - b)) > np.linalg.norm(a - b):
            near = f"{before} and {after} are nearer to each other than to it"
            warnings.append(f"{name} is out of order: {near}")
    return warnings


# --- the step of each checkpoint, read from its path ----------------------------------------------------

_STEP_WORDS = {
    "step": "global_?steps?|steps?",
    "iteration": "iterations?|iters?",
    "checkpoint": "checkpoints?|ckpts?",
    "epoch": "epochs?",
}
"""The words that a number may belong to, in the order in which they are believed."""
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_NUMBER = r"(\d+e\d{1,2}(?![0-9a-zA-Z])|\d+\.\d+(?=[kKmMbB](?![a-zA-Z]))|\d+)([kKmMbB](?![a-zA-Z]))?"
_HASH = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}(?![0-9A-Za-z])")
_START = re.compile(r"(?<![a-z])(init(ial)?(ised|ized|isation|ization)?|random)(?![a-z])", re.IGNORECASE)


def steps_of(paths: Sequence[str]) -> list[int]:
    """Return the step of each path.

    It is the number beside "step", "iter", "checkpoint" or "epoch", or else the number in which the paths
    differ; k, M and B are understood, and "init" is step 0. Paths without any number keep their order; runs
    that share steps are numbered by name.

    Raises
    ------
    InputError
        If numbers disagree about the order, or a path has none.
    """
    plain = [_HASH.sub("", path) for path in paths]
    if not any(re.search(r"\d", path) for path in plain):
        return list(range(len(paths)))
    readings = dict[str, list[int]]()
    for kind, word in _STEP_WORDS.items():
        for pattern in (rf"(?:{word})[-_=.: ]*{_NUMBER}", rf"{_NUMBER}[-_ ]?(?:{word})(?![a-z])"):
            found = [re.findall(pattern, path, re.IGNORECASE) for path in plain]
            complete = all(f or _START.search(p) for f, p in zip(found, plain, strict=True))
            if any(found) and complete and kind not in readings:
                readings[kind] = [_value(*numbers[-1]) if numbers else 0 for numbers in found]
    readings = readings or _unnamed(plain)
    distinct = {kind: numbers for kind, numbers in readings.items() if len(set(numbers)) == len(paths)}
    if len(readings) == 1 and not distinct and len({len(path.split("/")) for path in paths}) == 1:
        # Several runs under one pattern have the same steps: their places in order, 83 before 166.
        natural = sorted(
            paths, key=lambda path: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", path)]
        )
        return [natural.index(path) for path in paths]
    orders = {tuple(np.argsort(numbers)): kind for kind, numbers in distinct.items()}
    if len(orders) != 1:
        listed = [
            f"by {kind}: {', '.join(map(str, readings[kind][:6]))}" for kind in orders.values() or readings
        ]
        problem = f"their names give no single order ({'; '.join(listed[:2]) or 'some have no step'})"
        raise InputError("checkpoints", list(paths)[:6], problem, "give the steps (--steps)")
    return next(iter(distinct.values()))


def _value(digits: str, unit: str) -> int:
    return round(float(digits) * _FACTORS[unit.lower()])


def _unnamed(paths: Sequence[str]) -> dict[str, list[int]]:
    """Return each column of numbers in which the paths differ, the last first; "init" alone is 0."""
    rows = [[_value(*number) for number in re.findall(_NUMBER, path)][-12:] for path in paths]
    length = max(map(len, rows))
    rows = [
        [0] * length if len(r) < length and _START.search(p) else r for r, p in zip(rows, paths, strict=True)
    ]
    if min(map(len, rows)) < length:
        return {}
    columns = {f"number {i + 1}": [row[i] for row in rows] for i in reversed(range(length))}
    return {name: column for name, column in columns.items() if len(set(column)) == len(paths)}
