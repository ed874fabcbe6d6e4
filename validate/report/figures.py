"""The figures of a report: the paper's, if its runs can fill them, and cosines, labels and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from theory import InputError, off_diagonal
from validate.compare.answer import Answer
from validate.compare.decision import PREDICTION
from validate.compare.flow import STARTS, Level
from validate.compare.ranking import STEPS, RungDistance, agreements
from validate.compare.rows import Row
from validate.figures import beforehand
from validate.figures.curves import Curve, Curves
from validate.figures.embedding import BAR, colours_of, label_curves, looks, predicted_maps
from validate.figures.footnote import about
from validate.figures.heat_map import HeatMap, cosine_map
from validate.figures.learning import accuracy_curves, predicted_curves
from validate.figures.panel import FEW, BasePanel, Group, Points
from validate.figures.paper import FIGURES, PaperFigure
from validate.figures.sheet import PanelRow, Sheet, in_rows
from validate.figures.style import MEMORY, PALETTE, REASONING, Look
from validate.judge.measures.prediction import PAIRS, pair_kinds
from validate.judge.stats import Estimate
from validate.observe import Observations
from validate.observe.groups import Setting, early_text
from validate.observe.observations import Result
from validate.observe.times import early_epoch
from validate.predict.learning import predict_for
from validate.predict.predictors import MARGINAL, UNIFORM, Tokens, group_title, groups_of, uniform_cosines
from validate.terminal.progress import track

MOST_SETTINGS = 12
"""A figure of more settings would have panels too small to read."""
_IN_A_ROW = 3
KINDS = dict(zip(PAIRS, (MEMORY, REASONING, Look(PALETTE[2], "o")), strict=True))
"""The look of each kind of pair of anchors."""
Point = tuple[str, str, str, int, Estimate]
"""A point of a curve: the group of anchors, the setting, the line, the epoch and the error."""


class NotDrawn(Result):
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str


def paper_figures(observations: Sequence[Observations]) -> tuple[list[Sheet], list[NotDrawn]]:
    """Draw every figure of the paper that some runs can fill; name the others with the reason."""
    drawn, missing = list[Sheet](), list[NotDrawn]()
    for number, paper in sorted(FIGURES.items(), key=lambda pair: pair[0] == 2):  # Its sequences come last.
        try:
            _check(paper, observations)
            drawn.append(paper.sheet(observations))
        except InputError as error:
            missing.append(
                NotDrawn(number=number, title=paper.title, reason=f"{error.problem}; {error.remedy}")
            )
    return drawn, missing


def _check(figure: PaperFigure, observations: Sequence[Observations]) -> None:
    """Refuse runs for which a figure could be drawn but would show nothing."""
    n = len({run.config.model_dump_json(exclude={"seed"}) for run in observations})
    if n > MOST_SETTINGS:
        problem = f"{n} settings, and more than {MOST_SETTINGS} are too small to read"
        raise InputError("runs", n, problem, "name fewer runs")
    of_rates = figure.compares == "learning rate"
    configs = [run.config for run in observations]
    compared = {c.training.peak_learning_rate if of_rates else c.init_rate for c in configs}
    if figure.compares and len(compared) == 1:
        problem = f"compares several values of {figure.compares}"
        raise InputError("runs", len(observations), problem, "give runs at another one too")


def picture(answer: Answer, name: str = "answer") -> Sheet | None:
    """Return the picture of an answer, not drawn yet; a task with fewer than three anchors has none.

    It shows the settings that the verdict is about, or the last one if there are none.
    """
    shown = answer.judged() or list(answer.settings[-1:])
    task, tokens = shown[0].task, shown[0].task.anchors
    if len(tokens) < 3:
        return None
    by_kind = agreements(shown[0])
    words = by_kind[-1].words
    predicted = cosine_map(
        f"predicted:\n{looks()[PREDICTION][0]}", tokens, uniform_cosines(task, tokens)[None]
    )
    observed, clouds = [], {}
    for s in shown:
        label = f"γ = {s.init_rate:g}"
        early = np.array([run.cosines(tokens, early_epoch(run)) for run in s.runs])
        observed.append(cosine_map(f"observed, {label}:\n{early_text(s)}", tokens, early))
        clouds[label] = np.column_stack([*map(off_diagonal, (predicted.values, observed[-1].values))])
    first, *others = clouds
    groups = {label: Group(clouds[label], "0.75", ".", 2.5) for label in others}
    for kind, chosen in pair_kinds(task).items():
        look = KINDS[kind]
        groups[f"{first}, {kind}"] = Group(clouds[first][chosen], look.colour, look.marker, 2.5)
    pairs = Points(
        f"every pair, {first}:\n{words}",
        groups,
        "predicted cosine",
        "observed cosine",
        (-1.05, 1.05),
        numbers=f"{first}; "
        + "; ".join(
            f"{a.pairs}: Pearson {a.pearson.brief}, slope {a.slope.brief}, same sign {a.sign.brief}, "
            f"RMSE {a.rmse.brief}, {a.words}"
            for a in by_kind
        ),
    )
    panels: list[BasePanel] = [predicted, *observed, pairs]
    title = "All anchors: predicted, observed early, and every pair against its prediction"
    caption = (
        "Cosine similarity of all anchors, predicted from the label distributions alone and observed early "
        "in training, and every pair of anchors; on the line a prediction is perfect. "
        f"Of all pairs at {first}: {words}."
    )
    return Sheet(name, caption, about(shown), [PanelRow(title, panels, BAR, 2.3)])


def draw_overview(settings: Sequence[Setting]) -> Sheet:
    """Draw the whole story on one sheet: accuracies above, reasoning anchors below."""
    large, small = settings[0], settings[-1]
    tokens, last = small.task.reasoning_anchors, small.epochs()[-1]
    labels = label_curves(small.task, tokens, "label distributions of\nreasoning anchors")
    curves = [accuracy_curves(large), accuracy_curves(small), labels]
    maps = [_observed(s, tokens, last) for s in (large, small)]
    maps += predicted_maps(small, tokens, last, (UNIFORM, beforehand.NARROW))
    rows = [
        PanelRow("A  Accuracy, and label distributions", curves, height=2.4),
        PanelRow("B  Cosines of the reasoning anchors, observed and predicted at γ = 0.8", maps, BAR, 2.1),
    ]
    caption = (
        "Training with large and small initial weights: accuracy, and the cosines of the reasoning anchors "
        "at the end. The label distributions predict the order of the cosines (P^s − u), a narrow network "
        f"also their size. Above each prediction: its distance from training at epoch {last}. "
        f"{beforehand.cost_text(small, last)}"
    )
    return Sheet("overview", caption, about([large, small]), rows).plot(footnote=False)


def draw_label_distributions(setting: Setting) -> Sheet:
    """Draw the label distributions of a setting's task."""
    panels = [label_curves(setting.task, m.anchors, f"{m.name} anchors") for m in setting.task.mappings]
    caption = "P^s − u of every anchor (eq. 7, 8), known before training."
    return Sheet("fig4b_label_distributions", caption, "", [PanelRow("Label distributions", panels)])


def draw_cosines(settings: Sequence[Setting], epochs: Sequence[int]) -> list[Sheet]:
    """Draw each setting's and group's cosine matrices, predicted and observed, at some epochs."""
    rows = []
    for setting in reversed(settings):
        known = [epoch for epoch in epochs if epoch in setting.epochs()]
        for group, tokens in groups_of(setting.task).items():
            maps = predicted_maps(setting, tokens, [*setting.epochs(), *known][-1], (UNIFORM, MARGINAL))
            maps += [_observed(setting, tokens, epoch) for epoch in known]
            rows.append(PanelRow(f"{group_title(group)}, {setting.label}", maps, BAR))
    caption = "Cosine similarity of anchors: predicted from the label distributions, and observed."
    return [Sheet("cosines", caption, about(settings), rows)]


def draw_flows(settings: Sequence[Setting], levels: Mapping[str, Sequence[Level]]) -> list[Sheet]:
    """Draw every pair of anchors against P^s − u and against the flow, at the highest training accuracy."""
    shown = [setting for setting in settings if setting.label in levels]
    panels = []
    for setting in shown:
        last = levels[setting.label][-1]
        rows = {row.predictor: row for row in last.rows}
        flow = next(iter(rows))
        y, groups = last.observed.mean(axis=0), {}
        for name, marker, colour in ((UNIFORM, "^", PALETTE[1]), (flow, "o", PALETTE[0])):
            points = np.column_stack([last.predicted[name].mean(axis=0), y])
            groups[name] = Group(points, colour, marker, 3)
        title = f"{setting.label},\ntraining accuracy {last.level:g}"
        said = "; ".join(f"{n}: slope {rows[n].slope.brief}, RMSE {rows[n].rmse.brief}" for n in groups)
        axes, numbers = ("predicted cosine", "observed cosine"), f"{title}; {said}"
        panels.append(Points(title, groups, *axes, (-1.05, 1.05), numbers=numbers))
    caption = (
        "Every pair of anchors, mean over seeds, against P^s − u and against the flow of the optimiser. "
        "On the line a prediction is perfect."
    )
    rows_of_panels = in_rows(panels, _IN_A_ROW, height=2.6) if panels else []
    return [Sheet("flow", caption, about(shown), rows_of_panels)] if panels else []


def draw_learning(settings: Sequence[Setting]) -> list[Sheet]:
    """Draw the accuracies over epochs, observed and as predicted from other initial weights."""
    panels = []
    for setting in track(settings, "predicting the curves"):
        panel = accuracy_curves(setting)
        panel.curves |= predicted_curves(setting, predict_for(setting.config, STARTS))
        panel.xscale = "symlog"
        panels.append(panel)
    caption = "Accuracy over epochs; dots: predicted from other initial weights, without these runs."
    return [Sheet("learning", caption, about(settings), in_rows(panels, _IN_A_ROW, height=2.4))]


def draw_errors(settings: Sequence[Setting], rows: Sequence[Row]) -> list[Sheet]:
    """Draw how far predictors are from training over time."""
    shown = (row for row in rows if row.anchor is None and row.measure == "rmse")
    points = [(row.group, row.setting, row.predictor, row.epoch, row.estimate) for row in shown]
    return _over_epochs("error", "How far predictors are from training over time (RMSE).", settings, points)


def draw_rungs(settings: Sequence[Setting], distances: Sequence[RungDistance]) -> list[Sheet]:
    """Draw the distances between neighbouring rungs over epochs."""
    steps = {f"{lower} → {upper}" for lower, upper, _ in STEPS}
    points = [(d.group, d.setting, d.step, d.epoch, d.rmse) for d in distances if d.step in steps]
    caption = "The error budget over time: RMSE between neighbouring rungs, each step one idealisation."
    return _over_epochs("rungs", caption, settings, points)


def _over_epochs(name: str, caption: str, settings: Sequence[Setting], points: list[Point]) -> list[Sheet]:
    """Draw RMSEs over epochs: rows for each group, a panel for each setting, a line for each name."""
    colours, rows = colours_of(), list[PanelRow]()
    for group in dict.fromkeys(group for group, *_ in points):
        panels = []
        for setting in settings:
            of_line: dict[str, list[tuple[int, Estimate]]] = {}
            for _, _, line, epoch, estimate in (p for p in points if p[:2] == (group, setting.label)):
                of_line.setdefault(line, []).append((epoch, estimate))
            curves = {}
            for line, points_of_line in of_line.items():
                means = np.array([[e.mean for _, e in points_of_line]])
                ends = np.array([[e.low, e.high] for _, e in points_of_line], dtype=float).T
                interval = ends if len(setting.runs) >= FEW else None
                look = Look(colours[line], "o")
                curves[line] = Curve([epoch for epoch, _ in points_of_line], means, look, interval=interval)
            if curves:
                panels.append(Curves(setting.label, curves, "epoch", "RMSE of the cosine", ylim=(0, None)))
        rows += in_rows(panels, _IN_A_ROW, group_title(group))
    return [Sheet(name, caption, "", rows)] if rows else []


def _observed(setting: Setting, tokens: Tokens, epoch: int) -> HeatMap:
    return cosine_map(f"observed, {setting.label},\nepoch {epoch}", tokens, setting.cosines(tokens, epoch))
