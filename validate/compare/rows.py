"""Predicted against observed cosine similarity, over time, with intervals over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sim.runs.table import frame
from theory import InputError, Task, cosine_matrix, eq14_embedding, fit_width
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.edge.display import html_table, spread
from validate.compare.answer import Answer, answers
from validate.judge.measures.agreement import MEASURES, measures
from validate.judge.stats import Estimate, Record, columns_over_seeds
from validate.observe import Observations, Source
from validate.observe.groups import Setting, group_runs
from validate.observe.times import early_epoch
from validate.predict.predictors import FITTED_WIDTH, Tokens, groups_of, predictions
from validate.terminal.progress import track


@dataclass(frozen=True)
class Row(Record):
    """One line of the comparison: an estimate over seeds of a measure of one predictor.

    ``setting`` says which runs, by γ and whatever else distinguishes them; ``group`` which tokens; ``anchor``
    which row of the cosine matrix, None for all off-diagonal pairs.
    """

    setting: str
    epoch: int
    group: str
    anchor: int | None
    predictor: str
    measure: str
    estimate: Estimate


class Comparison(tuple[Row, ...]):
    """A comparison's rows, with the compared settings, its verdicts, and a table for notebooks and pandas."""

    settings: tuple[Setting, ...]

    def __new__(cls, rows: Iterable[Row], settings: Iterable[Setting] = ()) -> Comparison:
        """Return the rows of some settings."""
        self = super().__new__(cls, rows)
        self.settings = tuple(settings)
        return self

    @cached_property
    def answers(self) -> list[Answer]:
        """The verdict on each task and model, from ``validate.answers``; none for rows without settings."""
        return answers(self.settings) if self.settings else []

    def __repr__(self) -> str:
        verdicts = ", ".join(answer.verdict for answer in self.answers)
        settings = ", ".join(dict.fromkeys(row.setting for row in self))
        return f"Comparison({verdicts}; {len(self)} rows: {settings})"

    def _repr_html_(self) -> str:
        """Return the verdicts, and Pearson's correlation over all pairs; of many rows 24."""
        said = "".join(f"<p>verdict: {escape(answer.verdict_line())}</p>" for answer in self.answers)
        shown = [row for row in self if row.anchor is None and row.measure == "pearson"]
        shown = [shown[i] for i in spread(len(shown), 24)]
        cells = [[r.setting, r.epoch, r.group, r.predictor, r.estimate.brief] for r in shown]
        header = ["setting", "epoch", "anchors", "predictor", "Pearson [95 %]"]
        return said + html_table(repr(self), header, cells)

    def plot(self) -> Figure:
        """Return a figure of Pearson's correlation over the epochs, a colour for each predictor."""
        if not self:
            raise InputError("rows", 0, "nothing to draw", "compare runs with three anchors or more")
        figure = Figure(layout="constrained")
        ax = figure.subplots()
        lines: dict[tuple[str, str], list[Row]] = defaultdict(list)
        group = {row.setting: row.group for row in self}  # The last one, of each task its own.
        for row in self:
            if row.anchor is None and row.measure == "pearson" and row.group == group[row.setting]:
                lines[row.setting, row.predictor].append(row)
        markers: dict[str, str] = {}
        colours: dict[str, str] = {}
        for (setting, predictor), rows in lines.items():
            marker = markers.setdefault(setting, ".o^sDv"[len(markers) % 6])
            style = colours.setdefault(predictor, f"C{len(colours)}") + marker + "-"
            means = [row.estimate.mean for row in rows]
            ax.plot([row.epoch for row in rows], means, style, label=f"{setting}: {predictor}")
        title = f"predicted and observed cosines: {', '.join(dict.fromkeys(group.values()))}"
        ax.set(xlabel="epoch", ylabel="Pearson", title=title)
        ax.legend(fontsize="small")
        return figure

    def to_records(self) -> list[dict[str, Any]]:
        """Return plain rows: the fields of ``Row``, with the estimate as mean, low, high and n."""
        flat = (row.as_dict() for row in self)
        return [{k: v for k, v in row.items() if k != "estimate"} | row["estimate"] for row in flat]

    def to_frame(self) -> Any:
        """Return ``to_records`` as a pandas DataFrame; without pandas an ImportError names the extra."""
        columns = ("setting", "epoch", "group", "anchor", "predictor", "measure", "mean", "low", "high", "n")
        return frame(self.to_records(), columns)


def all_predictions(
    runs: Sequence[Observations], epochs: Sequence[int], tokens: Tokens
) -> dict[str, list[FloatArray]]:
    """Return each predictor's matrices, at an epoch for each run, and those of eq. 14 with a fitted width."""
    predicted, task = predictions(runs, epochs, tokens), runs[0].task
    if "eq. 14" in predicted:
        observed = [run.cosines(tokens, epoch) for run, epoch in zip(runs, epochs, strict=True)]
        widths = widths_by_others(task, tokens, observed)
        predicted[FITTED_WIDTH] = [cosine_matrix(eq14_embedding(task, tokens, width=w)) for w in widths]
    return predicted


@checked
def compare_runs(
    runs: Source | Iterable[Setting | Source], epochs: Sequence[int] | None = None
) -> Comparison:
    """Compare every predictor with every setting's runs, at every snapshot they share.

    Parameters
    ----------
    runs : path, Run, Observations, or iterable of these or of Setting
        Runs, run folders, kept files and folders of them are grouped by all but the seed.
    epochs : sequence of int, optional
        Snapshot epochs to compare at; by default all that the runs share.

    Returns
    -------
    Comparison
        A long table of ``Row``: per anchor row and over all off-diagonal pairs. It shows its verdicts first.
    """
    rows: list[Row] = []
    settings = group_runs(runs)
    for setting in track(settings, "comparing settings"):
        for epoch in epochs if epochs is not None else setting.epochs():
            rows += _rows_at(setting, [epoch] * len(setting.runs))
    return Comparison(rows, settings)


def early_rows(setting: Setting) -> list[Row]:
    """Return the comparison with each run at its early epoch; a row's epoch is the latest of them."""
    return _rows_at(setting, [early_epoch(run) for run in setting.runs])


def _rows_at(setting: Setting, epochs: Sequence[int]) -> list[Row]:
    """Return the comparison with each run at its own epoch."""
    rows = []
    for group, tokens in groups_of(setting.task).items():
        observed = _pairs_and_rows([r.cosines(tokens, e) for r, e in zip(setting.runs, epochs, strict=True)])
        for name, matrices in all_predictions(setting.runs, epochs, tokens).items():
            overall, per_row = map(measures, _pairs_and_rows(matrices), observed)
            for key, within in MEASURES.items():
                estimates = columns_over_seeds(np.column_stack([overall[key], per_row[key]]), within)
                rows += [
                    Row(setting.label, max(epochs), group, anchor, name, key, estimate)
                    for anchor, estimate in zip((None, *tokens), estimates, strict=True)
                ]
    return rows


def _pairs_and_rows(matrices: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return each seed's pairs, and its rows without the diagonal."""
    stacked = np.array(matrices)
    m, n, _ = stacked.shape
    return stacked[:, *np.triu_indices(n, 1)], stacked[:, ~np.eye(n, dtype=bool)].reshape(m, n, n - 1)


def widths_by_others(task: Task, tokens: Tokens, observed: list[FloatArray]) -> list[float]:
    """Return eq. 14's best width for each seed, fitted to the *other* seeds' cosines where there are any."""
    others = [observed[:i] + observed[i + 1 :] or observed for i in range(len(observed))]
    return [fit_width(task, tokens, np.array(matrices)) for matrices in others]
