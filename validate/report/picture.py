"""The answer as a picture and a table: predicted against observed cosines, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import Task, off_diagonal
from validate.figures.embedding import BAR, LOOKS
from validate.figures.panels.heat_map import cosine_map
from validate.figures.panels.panel import BasePanel, Group, Points
from validate.figures.runs import about
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import MEMORY, PALETTE, REASONING, Look
from validate.judge.agreement import agreement, slope
from validate.judge.answer import PREDICTION, Answer
from validate.judge.groups import Setting, early_text
from validate.judge.measures.geometry import cosine_pairs
from validate.judge.stats import SHARE, Estimate, over_seeds
from validate.observe.times import early_epoch
from validate.predict.predictors import uniform_cosines

PAIRS = {"within memory": MEMORY, "within reasoning": REASONING, "across": Look(PALETTE[2], "o")}
"""The pairs of anchors by the kind of both, and their looks."""
ORDERED, SLOPES, CLOSE = 0.7, (0.5, 2.0), 0.2
"""The order is right from this Pearson on, as in the verdict; the size with such a slope and RMSE."""
AGREEMENT = ("pairs", "Pearson", "slope", "same sign", "RMSE", "in words")


@dataclass(frozen=True)
class Agreement:
    """How predicted and observed cosines of some pairs of anchors agree, over seeds.

    ``pearson`` is undefined where either side is constant; ``slope`` is that of observed over predicted
    cosine by least squares, 1 if the size is right; ``sign`` is the share of pairs with cosines of one sign.
    """

    pairs: str
    pearson: Estimate
    slope: Estimate
    sign: Estimate
    rmse: Estimate

    @property
    def words(self) -> str:
        """The order and the size in words: "order right, size wrong"."""
        has_order, low, high = self.pearson.n > 0, *SLOPES
        order = "order right, " if self.pearson.mean >= ORDERED else "order wrong, "
        size = self.rmse.mean <= CLOSE and (not has_order or low <= self.slope.mean <= high)
        return order * has_order + ("size right" if size else "size wrong")

    def cells(self) -> list[str]:
        """Return a line of the table."""
        return [self.pairs, *(e.brief for e in (self.pearson, self.slope, self.sign, self.rmse)), self.words]


def agreements(setting: Setting) -> list[Agreement]:
    """Return how the prediction agrees with each run at its early epoch, for each kind of pairs and all."""
    tokens, found = setting.task.anchors, []
    if len(tokens) < 3:
        return []
    observed = np.array([cosine_pairs(run, tokens, early_epoch) for run in setting.runs])
    predicted = np.broadcast_to(off_diagonal(uniform_cosines(setting.task, tokens)), observed.shape)
    kinds = pair_kinds(setting.task)
    for kind, chosen in {**kinds, "all pairs": np.ones(observed.shape[1], dtype=bool)}.items():
        x, y = predicted[:, chosen], observed[:, chosen]
        pearson, rmse = agreement(x, y, "pearson", "rmse")
        slopes = over_seeds([slope(*own) for own in zip(x, y, strict=True)])
        sign = over_seeds((np.sign(x) == np.sign(y)).mean(axis=1), SHARE)
        found.append(Agreement(kind, pearson, slopes, sign, rmse))
    return found


def pair_kinds(task: Task) -> dict[str, npt.NDArray[np.bool_]]:
    """Return which pairs of anchors, in the order of ``off_diagonal``, are of each kind that there is."""
    memory = np.isin(task.anchors, task.memory_anchors)
    i, j = np.triu_indices(len(memory), 1)
    kinds = (memory[i] & memory[j], ~memory[i] & ~memory[j], memory[i] != memory[j])
    return {name: chosen for name, chosen in zip(PAIRS, kinds, strict=True) if chosen.any()}


def picture(answer: Answer, name: str = "answer") -> Sheet | None:
    """Return the picture of an answer, not drawn yet; a task with fewer than three anchors has none.

    It shows the runs that the verdict is about, or those that there are.
    """
    shown = answer.judged() or list(answer.settings[-1:])
    task, tokens = shown[0].task, shown[0].task.anchors
    if len(tokens) < 3:
        return None
    found = agreements(shown[0])
    words = found[-1].words
    predicted = cosine_map(f"predicted:\n{LOOKS[PREDICTION][0]}", tokens, uniform_cosines(task, tokens)[None])
    observed, clouds = [], {}
    for s in shown:
        label = f"γ = {s.init_rate:g}"
        early = np.array([run.cosines(tokens, early_epoch(run)) for run in s.runs])
        observed.append(cosine_map(f"observed, {label}:\n{early_text(s)}", tokens, early))
        clouds[label] = np.column_stack([*map(off_diagonal, (predicted.values, observed[-1].values))])
    first, *others = clouds
    groups = {label: Group(clouds[label], "0.75", ".", 2.5) for label in others}
    for kind, chosen in pair_kinds(task).items():
        look = PAIRS[kind]
        groups[f"{first}, {kind}"] = Group(clouds[first][chosen], look.colour, look.marker, 2.5)
    pairs = Points(
        f"every pair, {first}:\n{words}",
        groups,
        "predicted cosine",
        "observed cosine",
        (-1.05, 1.05),
        numbers="; ".join(
            f"{a.pairs}: Pearson {a.pearson.brief}, slope {a.slope.brief}, same sign {a.sign.brief}, "
            f"RMSE {a.rmse.brief}, {a.words}"
            for a in found
        ),
    )
    panels: list[BasePanel] = [predicted, *observed, pairs]
    title = "All anchors: predicted, observed early, and every pair against its prediction"
    caption = (
        "Cosine similarity of all anchors, predicted from the label distributions alone and observed early "
        f"in training, and every pair of anchors; on the line a prediction is perfect. Of all pairs: {words}."
    )
    return Sheet(name, caption, about(shown), [PanelRow(title, panels, BAR, 2.3)])
