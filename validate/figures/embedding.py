"""The geometry of an embedding: maps of cosines, rows of them, components, label distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from theory import InputError, PrincipalComponents, Task, label_distribution
from theory.arrays import FloatArray
from validate.figures.findings import ring
from validate.figures.panels.curves import Curve, Curves
from validate.figures.panels.heat_map import HeatMap, cosine_map
from validate.figures.panels.points import Group, Points, ends
from validate.figures.predicted import LOOKS, predictions
from validate.figures.seeds import seeds_text
from validate.figures.style import MARKERS, MEMORY, OBSERVED, PALETTE, REASONING, Look, sequential
from validate.judge.compare import ALL, groups_of
from validate.judge.groups import Setting
from validate.judge.stats import COSINE, SHARE, SIZE
from validate.predict.predictors import Tokens

BAR = "cosine similarity"


def mapping_groups(task: Task) -> dict[str, Tokens]:
    """Return the anchors of each mapping that has more than two."""
    return {name: tokens for name, tokens in groups_of(task).items() if name != ALL}


def reasoning_group(task: Task) -> Tokens:
    """Return the anchors of the first mapping that adds; refuse a task without one."""
    for mapping in task.mappings:
        if not mapping.is_table and len(mapping.anchors) > 2:
            return mapping.anchors
    raise InputError(
        "runs", [m.name for m in task.mappings], "no reasoning anchors to show", "give runs of another task"
    )


def observed_maps(setting: Setting, epochs: Sequence[int], title: str = "") -> list[HeatMap]:
    """Return the cosine matrices of each mapping's anchors at some epochs, means over seeds."""
    return [
        cosine_map(f"{name} anchors,\n{title}epoch {epoch}", tokens, setting.cosines(tokens, epoch))
        for epoch in epochs
        for name, tokens in mapping_groups(setting.task).items()
    ]


def predicted_maps(setting: Setting, tokens: Tokens, names: Sequence[str]) -> list[HeatMap]:
    """Return the map of each of some predictions that says anything of these tokens."""
    found = predictions(setting, tokens)
    return [
        cosine_map(LOOKS[name].label.replace(" of ", "\nof ").replace(" (", "\n("), tokens, found[name])
        for name in names
        if name in found
    ]


def cosine_rows(setting: Setting, tokens: Tokens, epoch: int, names: Sequence[str]) -> list[Curves]:
    """Return cos(s, ·) for each of some tokens at an epoch: training beside some predictions.

    ``numbers`` has each prediction's RMSE against training, the token itself left out.
    """
    observed, found = setting.cosines(tokens, epoch), predictions(setting, tokens)
    predicted = {LOOKS[n].label: (found[n], LOOKS[n].look) for n in names if n in found}
    return [_row(tokens, i, predicted, observed) for i in range(len(tokens))]


def predicted_rows(tokens: Tokens, predicted: Mapping[str, FloatArray]) -> list[Curves]:
    """Return cos(s, ·) for each of some tokens from matrices of shape (n, n), without training."""
    looks = [Look(colour, marker) for colour, marker in zip(PALETTE, MARKERS, strict=False)]
    lines = {name: (m[None], look) for (name, m), look in zip(predicted.items(), looks, strict=False)}
    return [_row(tokens, i, lines, None) for i in range(len(tokens))]


def _row(
    tokens: Tokens, i: int, predicted: Mapping[str, tuple[FloatArray, Look]], observed: FloatArray | None
) -> Curves:
    title = f"cos({tokens[i]}, ·)"
    curves = {name: Curve(tokens, m[:, i], look, COSINE) for name, (m, look) in predicted.items()}
    numbers = ""
    if observed is not None:
        curves["training"] = Curve(tokens, observed[:, i], OBSERVED, COSINE)
        others = np.arange(len(tokens)) != i
        errors = {
            name: np.sqrt(((m - observed)[:, i, others] ** 2).mean(axis=1))
            for name, (m, _) in predicted.items()
        }
        told = [f"{name} {seeds_text(error, SIZE)}" for name, error in errors.items()]
        numbers = f"{title}: RMSE against training, {', '.join(told)}"
    lowest = min(float(np.nanmin(curve.seeds)) for curve in curves.values())
    return Curves(
        title, curves, "token", BAR, ylim=(lowest - 0.05, 1.05), whole=True, numbers=numbers if curves else ""
    )


def label_curves(task: Task, tokens: Tokens, title: str, *, held_out: bool = True) -> Curves:
    """Return P^s − u of some tokens over the labels (eq. 7, 8), dark to light in the tokens' order."""
    excess = [label_distribution(task, s, held_out=held_out) - 1 / task.vocab_size for s in tokens]
    return excess_curves(tokens, np.array(excess), title)


def excess_curves(tokens: Tokens, excess: FloatArray, title: str) -> Curves:
    """Return lines over the labels, one for each token, from an array of shape (n, d)."""
    shown = {tokens[0], tokens[-1]}
    curves = {
        f"{'' if s in shown else '_'}s = {s}": Curve(np.arange(len(row)), row[None], Look(colour, width=1))
        for s, row, colour in zip(tokens, excess, sequential(len(tokens)), strict=True)
    }
    return Curves(
        title, curves, "label i", "P$^s_i$ − 1/d", levels={"_zero": (0.0, Look("black", width=0.5))}
    )


def token_map(setting: Setting, epoch: int, title: str) -> Points:
    """Return anchors and keys on the first two principal components of the first seed's embedding.

    Seeds have no common axes. ``numbers`` has, over seeds, the largest rank correlation of a component with
    the keys' numbers; a ring, which no component orders, is named in the title.
    """
    task, tokens = setting.task, setting.runs[0].tokens
    coordinates = setting.array("pca", epoch)[..., :2]
    places = {s: i for i, s in enumerate(tokens)}
    first, second = 100 * setting.array("pca_variance", epoch)[0, :2]

    def rows(of: Sequence[int], seed: int = 0) -> FloatArray:
        return np.asarray(coordinates[seed][[places[s] for s in of]])

    order = [_numerical_order(rows(task.keys, seed)) for seed in range(len(setting.runs))]
    groups = {
        "keys (dark to light)": Group(
            rows(task.keys), sequential(len(task.keys)), size=3, joined=True, names=ends(task.keys)
        )
    }
    for name, own, look in (
        ("memory", task.memory_anchors, MEMORY),
        ("reasoning", task.reasoning_anchors, REASONING),
    ):
        if own:
            groups[f"{name} anchors"] = Group(rows(own), look.colour, look.marker, 4)
    shape = ring(rows(task.keys))
    text = f"order of keys |ρ| = {np.mean(order):.2f}" + f"; {shape}" * bool(shape)
    return Points(
        f"{title}\n{text}",
        groups,
        f"component 1 ({first:.0f} %)",
        f"component 2 ({second:.0f} %)",
        numbers=f"{' '.join(title.split())}: order of the keys along a component, "
        f"|ρ| = {seeds_text(order, SHARE)}" + f"; keys of the first seed on a {shape}" * bool(shape),
    )


def _numerical_order(coordinates: FloatArray) -> float:
    """Return the larger |Spearman's ρ| of a column with 0, 1, 2, ..."""
    from scipy.stats import spearmanr  # A second of loading, and most figures have no map.

    numbers = np.arange(len(coordinates))
    return max(abs(float(spearmanr(numbers, column).statistic)) for column in coordinates.T)


def components_map(title: str, tokens: Tokens, components: PrincipalComponents) -> Points:
    """Return the first two principal components of some tokens in their numerical order, dark to light."""
    names = {i: str(tokens[i]) for i in (0, len(tokens) // 2, len(tokens) - 1)}
    group = Group(components.coordinates[:, :2], sequential(len(tokens)), size=3.7, joined=True, names=names)
    first, second = 100 * components.explained[:2]
    return Points(title, {"_": group}, f"component 1 ({first:.0f} %)", f"component 2 ({second:.0f} %)")
