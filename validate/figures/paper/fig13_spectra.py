"""Singular values of every weight matrix over γ.

The paper: the smaller the initial weights, the lower the rank of every matrix. A has the singular values
over the largest, a row for each layer; B, C and D have the effective rank exp(−Σ p ln p), p = σ/Σσ (Roy and
Vetterli 2007), which is r for r equal singular values: B over γ in these runs, C over epochs, D over more γ
in others. Whether it falls, and how far, differs between matrices. The theory's reason for low rank: along
C, the token-label matrix, the ranks are learned one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from theory import InputError
from validate.figures.context import about, epoch_text, missing_rates, model_name, shown_epochs
from validate.figures.panels.curves import Curve, Curves
from validate.figures.paper.fig06_first_attention import singular_values
from validate.figures.paper.registry import Source, likeliest, paper_figure
from validate.figures.seeds import seeds_text
from validate.figures.selection import over_settings, without_gamma
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import MARKERS, PALETTE, Look, sequential
from validate.judge.condition import LARGE, SMALL
from validate.judge.groups import Setting, group_runs
from validate.judge.stats import SIZE
from validate.observe import Observations

MOST_MATRICES = 16
OVER_GAMMA = Source(("group-small", "scan"), (LARGE, SMALL))
"""The ranks over more γ: the primary setting at a quarter of the size, then what was trained for 3 epochs."""
IN_A_LAYER = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
FOLLOWED = ("0.W_V", "W_E", "W_U", "W_emb", "W1", "W2")
"""The matrices to follow over time, the first three that there are."""


@paper_figure(13, "Singular values over γ", likeliest(LARGE, SMALL), OVER_GAMMA, compares="γ")
def spectra(observations: Sequence[Observations]) -> Sheet:
    """Draw singular values layer by layer, and effective ranks over γ and over epochs.

    Where other runs have more γ than the longest ones, the ranks over those stand in a row of their own. Of
    equally long ones those are shown that hold the singular values of more matrices.
    """
    found: dict[str, list[Setting]] = defaultdict(list)
    for setting in group_runs(observations):
        found[without_gamma(setting)].append(setting)
    families = list(found.values())
    main = max(families, key=lambda own: (len(own) > 1, own[0].epochs()[-1], len(_names(own, "singular/"))))
    scan = max(families, key=len)
    layers = _by_layer(_matrices(main, "singular/"))
    name, late = model_name(main[0]), [shown_epochs(s)[-1] for s in main]
    rows = [
        PanelRow(
            f"A  Singular values, {layer}; {name}, {epoch_text(late)}",
            [singular_values(main, matrix, late, matrix_name(matrix)) for matrix in matrices],
            height=1.25 + 0.2 * (layer == list(layers)[-1]),
            legend=layer == list(layers)[-1],
            share_y=layer,
        )
        for layer, matrices in layers.items()
    ]
    more = len(scan) > len(main)
    rows.append(_over_gamma("B", main, f"; {name}, {epoch_text(late)}", legend=not more))
    followed = [m for m in FOLLOWED if any(m in names for names in layers.values())][:3]
    rows.append(
        PanelRow("C  Effective rank over epochs", [_over_epochs(main, m) for m in followed], height=1.75)
    )
    caption = (
        "A: singular values of every weight matrix over the largest. B, C: the effective rank "
        f"exp(−Σ p ln p), p = σ/Σσ, over γ and over epochs. {missing_rates(main)}"
    ).strip()
    runs = about(main)
    if more:
        rows.append(_over_gamma("D", scan, " in smaller runs" * (_width(scan) < _width(main))))
        caption += " D: that rank over more γ, in other runs."
        runs = f"A–C: {runs}. D: {about(scan)}"
    return Sheet("fig13_spectra", caption, runs, rows, width=1.6)


def _over_gamma(letter: str, settings: Sequence[Setting], which: str, *, legend: bool = True) -> PanelRow:
    """Return the effective ranks over γ, a panel for each layer."""
    layers = _by_layer(_matrices(settings, "effective_rank/"))
    every = list(dict.fromkeys(matrix_name(m) for names in layers.values() for m in names))
    late = [(s, shown_epochs(s)[-1]) for s in settings]
    gammas = np.array([s.init_rate for s in settings])
    panels = []
    for layer, names in layers.items():
        each = {matrix_name(m): [s.array(f"effective_rank/{m}", e) for s, e in late] for m in names}
        curves = {
            name: Curve(gammas, over_settings(values), _look(every.index(name)), SIZE)
            for name, values in each.items()
        }
        panels.append(_ranks(layer, curves, "initialisation rate γ"))
    title = f"{letter}  Effective rank over {len(settings)} γ{which}"
    return PanelRow(title, panels, height=1.65 + 0.2 * legend, legend=legend)


def _over_epochs(settings: Sequence[Setting], matrix: str) -> Curves:
    """Return the effective rank of one matrix of every setting at the epochs that all have."""
    epochs = sorted(set.intersection(*(set(s.epochs()) for s in settings)))
    looks = [Look(c, m) for c, m in zip(sequential(len(settings)), MARKERS * 9, strict=False)]
    curves = {
        f"γ = {s.init_rate:g}": Curve(
            epochs, np.stack([s.array(f"effective_rank/{matrix}", e) for e in epochs], axis=1), look, SIZE
        )
        for s, look in zip(settings, looks, strict=True)
    }
    layer = matrix.rpartition(".")[0]
    return _ranks(
        f"{matrix_name(matrix)}, layer {int(layer) + 1}" if layer else matrix_name(matrix), curves, "epoch"
    )


def _ranks(title: str, curves: dict[str, Curve], xlabel: str) -> Curves:
    ends = [
        f"{name} from {seeds_text(curve.seeds[:, 0], SIZE)} to {seeds_text(curve.seeds[:, -1], SIZE)}"
        for name, curve in curves.items()
    ]
    x = np.asarray(next(iter(curves.values())).x)
    highest = max(float(np.nanmax(curve.seeds)) for curve in curves.values())
    told = f"effective rank, {title}, {xlabel} {x[0]:g} to {x[-1]:g}: {', '.join(ends)}"
    whole = xlabel == "epoch"
    return Curves(
        title, curves, xlabel, "effective rank", ylim=(0, 1.05 * highest), whole=whole, numbers=told
    )


def _look(place: int) -> Look:
    """Return colour and marker, which together differ for each of 56 matrices."""
    return Look(PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)])


def _width(settings: Sequence[Setting]) -> int:
    return int(getattr(settings[0].config.model, "d_m", None) or settings[0].task.vocab_size)


def _matrices(settings: Sequence[Setting], prefix: str) -> list[str]:
    """Return the matrices of which all settings hold some observable, in the order in which they apply."""
    names = _names(settings, prefix)
    if not names:
        raise InputError("runs", len(settings), f"hold no {prefix}NAME", "observe the runs again")

    def order(name: str) -> tuple[str, int, str]:
        layer, _, matrix = name.rpartition(".")
        return layer, IN_A_LAYER.index(matrix) if matrix in IN_A_LAYER else -1, matrix

    return sorted(names, key=order)[:MOST_MATRICES]


def _names(settings: Sequence[Setting], prefix: str) -> list[str]:
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    return [name.removeprefix(prefix) for name in shared if name.startswith(prefix)]


def _by_layer(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the matrices of each layer, and last those of none."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda n: (not n.rpartition(".")[0], n.rpartition(".")[0])):
        layer = name.rpartition(".")[0]
        found[f"layer {int(layer) + 1}" if layer else "outside the layers"].append(name)
    return dict(found)


def matrix_name(name: str) -> str:
    """Return how a matrix is written: "0.W_V" is W_V, with V below."""
    head, _, index = name.rpartition(".")[2].partition("_")
    return f"${head}_{{\\mathrm{{{index}}}}}$" if index else f"${head}$"
