"""The geometry of an embedding: maps and rows of cosines, components, label distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from theory import (
    InputError,
    PrincipalComponents,
    Task,
    cosine_matrix,
    eq14_embedding,
    label_distribution,
    off_diagonal,
    principal_components,
)
from theory.edge.arrays import FloatArray
from theory.edge.display import spread
from validate.compare.ranking import STEPS
from validate.figures import beforehand
from validate.figures.curves import Curve, Curves
from validate.figures.heat_map import HeatMap, cosine_map
from validate.figures.moments import Moment
from validate.figures.panel import BasePanel, Group, Points, seeds_text
from validate.figures.style import MEMORY, OTHERS, REASONING, ZERO, Look, palette, sequential
from validate.judge.measures.agreement import agreement, spearman
from validate.judge.stats import COSINE, SHARE, SIZE, number
from validate.observe.groups import Setting
from validate.predict.predictors import PREDICTORS, UNIFORM, Tokens, colours

BAR = "cosine similarity"
FROZEN, EQ14 = "frozen flow, late", "eq. 14"
KNOWS = {UNIFORM: "knows the order", beforehand.NARROW: "knows the size"}
"""What a prediction is right about (docs/theory/adaptive.md)."""


def looks() -> dict[str, tuple[str, Look]]:
    """Return the label and the look of each prediction that figures of a run show."""
    found = {p.name: (p.label, Look(palette(p.colour), p.marker)) for p in PREDICTORS if p.whole_run}
    return found | {name: (name, Look(palette(2), "P")) for name in beforehand.FILES}


def colours_of() -> dict[str, str]:
    """Return the colour of each predictor and each step of the ladder, the same in every panel."""
    steps = {f"{lower} → {upper}": number for number, (lower, upper, _) in enumerate(STEPS)}
    return {name: palette(number) for name, number in (colours() | steps).items()}


def predictions(setting: Setting, tokens: Tokens, epoch: int) -> dict[str, FloatArray]:
    """Return every prediction of some anchors' cosines, each of shape (n_seeds or 1, n, n).

    Those from the task are the same for every seed and given once; those from the run's own label counts
    and the frozen flow's late direction (Emb-MLP only) are given where they were observed; the narrow
    network's, for the training accuracy at the epoch, and the mean course's where they are kept.
    """
    found = {}
    for p in PREDICTORS:
        if p.whole_run and all(p.applies(run, tokens) for run in setting.runs):
            runs = setting.runs[:1] if p.of_task is not None else setting.runs
            found[p.name] = np.array([p.of_run(run, tokens, run.epochs[-1]) for run in runs])
    if (narrow := beforehand.narrow_cosines(setting, tokens, epoch)) is not None:
        found[beforehand.NARROW] = narrow[None]
    if (course := beforehand.course_cosines(setting, tokens, epoch)) is not None:
        found[beforehand.COURSE] = course[None]
    return found


def followed(setting: Setting) -> list[Moment]:
    """Return all seeds at the last epoch up to which the mean course holds, where it is kept."""
    return [Moment(setting, epoch, setting.seeds_text) for epoch in beforehand.followed_epochs(setting)[-1:]]


def mapping_groups(task: Task, *, tables: bool = True) -> dict[str, Tokens]:
    """Return the anchors of each mapping, or rule, that has more than two; refuse a task without any."""
    found = {m.name: m.anchors for m in task.mappings if len(m.anchors) > 2 and m.is_table <= tables}
    if not found:
        problem = f"no {'mapping' if tables else 'rule'} with more than two anchors"
        raise InputError("runs", [m.name for m in task.mappings], problem, "give runs of another task")
    return found


def rule_group(task: Task) -> tuple[str, Tokens]:
    """Return the first rule with more than two anchors, and its anchors; refuse a task without one."""
    return next(iter(mapping_groups(task, tables=False).items()))


def observed_maps(moment: Moment) -> list[HeatMap]:
    """Return the cosine matrices of each mapping's anchors, means over seeds."""
    where = moment.when.replace(", ", ",\n")
    return [
        cosine_map(f"{name} anchors,\n{where}", tokens, moment.setting.cosines(tokens, moment.epoch))
        for name, tokens in mapping_groups(moment.setting.task).items()
    ]


def predicted_maps(
    setting: Setting, tokens: Tokens, epoch: int, names: Sequence[str], *, angles: bool = False
) -> list[HeatMap]:
    """Return a map of each named prediction that applies to these tokens, of cosines or of angles.

    Above each stands its distance from training at the epoch.
    """
    found, known, maps = predictions(setting, tokens, epoch), looks(), []
    observed = np.array([off_diagonal(matrix) for matrix in setting.cosines(tokens, epoch)])
    for name in (name for name in names if name in found):
        title = known[name][0].replace(" of ", "\nof ").replace(" (", "\n(")
        title = f"{title.partition(chr(10))[0]}:\n{KNOWS[name]}" if name in KNOWS else title
        panel = cosine_map(title, tokens, found[name], angles=angles)
        predicted = np.array([off_diagonal(matrix) for matrix in found[name]])
        (rmse,) = agreement(predicted, observed, "rmse")
        panel.title = f"{title}\nRMSE {number(rmse.mean)}"
        panel.numbers += f"; RMSE against training at epoch {epoch}: {rmse}"
        maps.append(panel)
    return maps


def cosine_rows(
    moments: Sequence[Moment], tokens: Tokens, names: Sequence[str], when: str = ""
) -> list[Curves]:
    """Return cos(s, ·) for each token s, without s itself: training beside the named predictions.

    Training has a line for each moment. ``numbers`` has each prediction's RMSE against training.
    """
    first = moments[0]
    found, known = predictions(first.setting, tokens, first.epoch), looks()
    predicted = {known[n][0]: (found[n], known[n][1]) for n in names if n in found}
    seen = {
        "training" + f", {m.which}" * bool(m.which): (m.setting.cosines(tokens, m.epoch), m.look)
        for m in moments
    }
    panels = rows_of(tokens, predicted | seen, when)
    for i, panel in enumerate(panels):
        # Of three seeds each an interval says little: with two ways to learn every seed has a thin line.
        panel.singly = any(m.look is OTHERS for m in moments)
        others = np.arange(len(tokens)) != i
        distances = [
            f"{name} {seeds_text(np.sqrt(((m - own)[:, i, others] ** 2).mean(axis=1)), SIZE)}"
            + f" ({of.removeprefix('training, ')})" * (of != "training")
            for name, (m, _) in predicted.items()
            for of, (own, _) in seen.items()
        ]
        panel.numbers = f"{panel.title}: RMSE against training, {', '.join(distances)}"
    return panels


def rows_of(tokens: Tokens, cosines: Mapping[str, tuple[FloatArray, Look]], when: str = "") -> list[Curves]:
    """Return cos(s, ·) for each token s from matrices of shape (n_seeds, n, n); cos(s, s) = 1 is left out."""
    panels, ends = [], [tokens[i] for i in spread(len(tokens), 3)]
    for i, s in enumerate(tokens):
        itself = np.arange(len(tokens)) == i
        curves = {
            name: Curve(tokens, np.where(itself, np.nan, m[:, i]), look, COSINE)
            for name, (m, look) in cosines.items()
        }
        panel = Curves(f"cos({s}, ·){when}", curves, "token", BAR, ylim=(None, 1.05))
        panel.xticks = ends, [str(end) for end in ends]
        panels.append(panel)
    return panels


def label_curves(task: Task, tokens: Tokens, title: str) -> Curves:
    """Return P^s − u of some tokens over the labels (eq. 7, 8), dark to light in the tokens' order."""
    excess = label_distribution(task, list(tokens), held_out=True) - 1 / task.vocab_size
    return excess_curves(tokens, np.asarray(excess), title)


def excess_curves(tokens: Tokens, excess: FloatArray, title: str) -> Curves:
    """Return lines over the labels, one for each token, from an array of shape (n, d)."""
    shown, alike = {tokens[0], tokens[-1]}, len(tokens) > 1 and np.ptp(excess, axis=0).max() == 0
    if alike:
        tokens, excess = tokens[:1], excess[:1]
    curves = {
        "all alike" if alike else f"{'' if s in shown else '_'}s = {s}": Curve(
            np.arange(len(row)), row[None], Look(colour, width=1)
        )
        for s, row, colour in zip(
            tokens, excess, [MEMORY.colour] if alike else sequential(len(tokens)), strict=True
        )
    }
    return Curves(title, curves, "label i", "P$^s_i$ − 1/d", levels=ZERO)


def token_map(moment: Moment, title: str = "") -> Points:
    """Return anchors and keys on the first two principal components of the first seed's embedding.

    Seeds have no axes in common. The title has the first seed's largest rank correlation of a component with
    the keys' numbers, and ``numbers`` that of all seeds; a ring, which no component puts in order, is named.
    """
    task, coordinates = moment.setting.task, moment.array("pca")[..., :2]
    title += moment.when.replace(", ", ",\n")
    if coordinates.shape[-1] < 2:
        raise InputError(
            "runs", moment.setting.label, "one principal component makes no map", "give wider models"
        )
    keys, numbers = coordinates[:, len(task.anchors) :], range(len(task.keys))
    order_text, in_full, shape = "", "", ring(keys[0])
    if len(numbers) > 2:  # Fewer are always in order.
        order = [max(abs(spearman(numbers, component)) for component in seed.T) for seed in keys]
        order_text = f"\norder of keys |ρ| = {order[0]:.2f}"
        in_full = f": order of the keys along a component, |ρ| = {seeds_text(order, SHARE)}"
    ends = {0: str(task.keys[0]), len(task.keys) - 1: str(task.keys[-1])}
    groups = {
        "keys (dark to light)": Group(keys[0], sequential(len(task.keys)), size=3, joined=True, names=ends)
    }
    for is_table, look in ((True, MEMORY), (False, REASONING)):
        own = task.memory_anchors if is_table else task.reasoning_anchors
        if own:
            rows = [task.anchors.index(s) for s in own]
            groups[f"{task.name_of_kind(is_table)} anchors"] = Group(
                coordinates[0, rows], look.colour, look.marker, 4
            )
    first, second = 100 * moment.array("pca_variance")[0, :2]
    return Points(
        f"{title}{order_text}" + f";\n{shape}" * bool(shape),
        groups,
        f"component 1 ({first:.0f} %)",
        f"component 2 ({second:.0f} %)",
        numbers=" ".join(title.split()) + in_full + f"; keys of the first seed: {shape}" * bool(shape),
    )


def ring(keys: FloatArray) -> str:
    """Describe the ring, or the arc of one, that points in the plane follow in their order; empty if none.

    They follow one where their distances from the middle spread by less than two fifths of the mean, at
    least three quarters of the steps from one to the next turn the same way, and they cover three quarters of
    a turn.
    """
    if len(keys) < 3:
        return ""
    offsets = keys - (keys.max(axis=0) + keys.min(axis=0)) / 2
    offsets /= np.maximum(np.abs(offsets).max(axis=0), 1e-300)
    radii, angles = np.hypot(*offsets.T), np.arctan2(offsets[:, 1], offsets[:, 0])
    steps = (np.diff(angles) + np.pi) % (2 * np.pi) - np.pi
    regular = max((steps > 0).mean(), (steps < 0).mean())
    turns = abs(steps.mean()) * len(keys) / (2 * np.pi)  # Counting the step that would close a ring.
    if radii.std() > 0.4 * radii.mean() or regular < 0.75 or turns < 0.75:
        return ""
    return f"{'ring' if turns > 1 - 1e-9 else 'arc'}, {turns:.1f} turns"


def components_map(title: str, tokens: Tokens, components: PrincipalComponents) -> Points:
    """Return the first two principal components of some tokens in their numerical order, dark to light."""
    names = {i: str(tokens[i]) for i in (0, len(tokens) // 2, len(tokens) - 1)}
    group = Group(components.coordinates[:, :2], sequential(len(tokens)), size=3.7, joined=True, names=names)
    first, second = 100 * components.explained[:2]
    return Points(title, {"_": group}, f"component 1 ({first:.0f} %)", f"component 2 ({second:.0f} %)")


def eq14_panels(task: Task, tokens: Tokens, beside: Sequence[BasePanel] = ()) -> list[BasePanel]:
    """Return cosines and components of eq. 14's embedding of some anchors, ``beside``, and of the keys'."""
    predicted = eq14_embedding(task, tokens)
    panels: list[BasePanel] = [
        cosine_map("eq. 14, width 12", tokens, cosine_matrix(predicted)[None]),
        components_map("eq. 14", tokens, principal_components(predicted)),
        *beside,
    ]
    if len(task.keys) > 1:
        of_keys = principal_components(eq14_embedding(task, task.keys))
        panels.append(components_map("eq. 14, keys", task.keys, of_keys))
    return panels
