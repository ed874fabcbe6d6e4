"""Fig. 13: singular values of every weight matrix over γ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from theory import InputError
from validate.figures import Curve, Curves, Look, PanelRow, Sheet, group_runs
from validate.figures.footnote import about, missing_rates, model_name
from validate.figures.moments import Moment
from validate.figures.panel import seeds_text
from validate.figures.paper.registry import Source, likeliest, paper_figure
from validate.figures.runs import apart, over_settings, shown_epochs
from validate.figures.sheet import in_rows
from validate.figures.style import MARKERS, PALETTE, sequential
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import SHARE, SIZE
from validate.observe import Observations
from validate.observe.groups import Setting

MOST_MATRICES = 16
COLOURS = (*PALETTE, "#8c510a")
OVER_GAMMA = Source(("group-small", "scan"), (LARGE, SMALL))
"""Ranks over more γ: the primary setting at a quarter of the size, then runs of 3 epochs."""
IN_A_LAYER = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
FOLLOWED = ("0.W_V", "W_E", "W_U", "W_emb", "W1", "W2")
"""The matrices to follow over time: the first three of these that exist."""
LINES = ("-", "--", "-.", ":")
"""The lines of the layers."""


@paper_figure(13, "Singular values over γ", likeliest(LARGE, SMALL), OVER_GAMMA, compares="γ")
def spectra(observations: Sequence[Observations]) -> Sheet:
    """Draw singular values layer by layer (A), and effective ranks over epochs (B) and γ (C, D).

    The effective rank exp(−Σ p ln p), p = σ/Σσ (Roy and Vetterli 2007), is r for r equal singular values. D
    has more γ, in other runs.
    """
    families: dict[str, list[Setting]] = {}
    for setting in group_runs(apart(observations)):
        families.setdefault(setting.family, []).append(setting)

    def worth(own: list[Setting]) -> tuple[bool, bool, int, int]:
        """Prefer several γ, singular values, long runs and many matrices; more γ have panels of their own."""
        held = len(_matrices(own, "singular/"))
        return len(own) > 1, held > 0, own[0].epochs()[-1], held

    main = max(families.values(), key=worth)
    scan = max((own for own in families.values() if _matrices(own, "effective_rank/")), key=len, default=main)
    every, held = _in_order(main, "singular/"), _matrices(main, "singular/")
    late = [Moment(s, shown_epochs(s)[-1]) for s in main]
    panels = _of_kinds(late, every)
    name = f"{model_name(main[0])}, epoch {' or '.join(map(str, sorted({m.epoch for m in late})))}"
    rows = in_rows(panels, min(len(panels), 3), f"A  Singular values; {name}")
    for row in rows:
        row.height = 1.45 + 0.2 * row.legend
    followed = [m for m in FOLLOWED if m in every] or every
    rows.append(
        PanelRow("B  Effective rank over epochs", [_over_epochs(main, m) for m in followed[:3]], height=1.9)
    )
    looks, about_runs = dict[str, Look](), about(main)
    over_gamma, title = _over_gamma(main, looks), f"C  Effective rank over {len(main)} γ"
    rows.append(PanelRow(title, over_gamma, height=1.9, share_y="C", legend=len(scan) <= len(main)))
    which = "every weight matrix" if len(held) == len(every) else f"{len(every)} of {len(held)} matrices"
    caption = (
        f"A: singular values of {which} relative to the largest, the places i counted as shares of their "
        "number; layers after the first are dashed. B, C: the effective rank exp(−Σ p ln p), p = σ/Σσ, over "
        f"epochs (axes do not begin at 0) and over γ. {missing_rates(main)}"
    )
    if len(scan) > len(main):
        title = f"D  Effective rank over {len(scan)} γ, in other runs"
        rows.append(PanelRow(title, _over_gamma(scan, looks), height=1.9, share_y="D"))
        caption += " D: the same rank over more γ, in other runs."
        about_runs = f"A–C: {about_runs}. D: {about(scan)}"
    return Sheet("fig13_spectra", caption, about_runs, rows)


def _of_kinds(late: Sequence[Moment], matrices: Sequence[str]) -> list[Curves]:
    """Return a panel for each kind of matrix, a line for each γ and layer; the layers' kinds come first."""
    kinds: dict[str, list[str]] = {}
    for name in matrices:
        kinds.setdefault(matrix_name(name), []).append(name)
    panels = []
    for kind, names in kinds.items():
        of_layers = []
        for name, line in zip(names, cycle(LINES), strict=False):
            of = f"layer {_layer(name) + 1}" * (_layer(name) > 0)
            own = [Moment(m.setting, m.epoch, of, Look("", line=line)) for m in late]
            of_layers.append(singular_values(own, name, kind, shares=True))
        of_layers[0].curves = {key: curve for panel in of_layers for key, curve in panel.curves.items()}
        panels.append(of_layers[0])
    if any(_layer(name) > 0 for name in matrices):
        panels[-1].levels = {"layer 2": (float("nan"), Look("0.4", line="--"))}
    return panels


def singular_values(moments: Sequence[Moment], name: str, title: str, *, shares: bool = False) -> Curves:
    """Return one matrix's singular values relative to the largest, a line for each moment in the colour of γ.

    With ``shares`` the place of a singular value is a share of their number, so that matrices of several
    sizes have one axis.
    """
    curves, rates = {}, sorted({m.setting.init_rate for m in moments})
    colours = dict(zip(rates, sequential(len(rates)), strict=True))
    for m in moments:
        values, rate = m.array(f"singular/{name}"), m.setting.init_rate
        index = np.arange(1, values.shape[1] + 1)
        look = Look(colours[rate], line=m.look.line, width=0.8 if m.look.line == ":" else None)
        x = index / index[-1] if shares else index
        curves[f"γ = {rate:g}" + f", {m.which}" * bool(m.which)] = Curve(
            x, values / values[:, :1], look, SHARE
        )
    smallest = min(float(curve.mean[curve.mean > 0].min(initial=1.0)) for curve in curves.values())
    ylim, x_name = (max(smallest / 2, 1e-4), 1.3), "i / number of values" if shares else "i"
    singly = shares or any(m.look.line == "--" for m in moments)
    y_name = r"$\sigma_i / \sigma_1$"
    return Curves(title, curves, x_name, y_name, yscale="log", ylim=ylim, whole=not shares, singly=singly)


def matrix_name(name: str) -> str:
    """Return a matrix's name for a figure: "0.W_V" becomes W with subscript V."""
    head, _, index = name.removeprefix(f"{_layer(name)}.").partition("_")
    return f"${head}_{{\\mathrm{{{index}}}}}$" if index else f"${head}$"


def _over_gamma(settings: Sequence[Setting], looks: dict[str, Look]) -> list[Curves]:
    """Return a panel for each layer, and add missing looks to ``looks``: one legend serves all panels."""
    layers: dict[str, dict[str, Curve]] = {}
    gammas = [s.init_rate for s in settings]
    for matrix in _in_order(settings, "effective_rank/"):
        name = matrix_name(matrix)
        layer = f"layer {_layer(matrix) + 1}" if _layer(matrix) >= 0 else "outside the layers"
        ranks = [s.array(f"effective_rank/{matrix}", shown_epochs(s)[-1]) for s in settings]
        # Colour and marker together differ for each of 63 matrices, and nine have colours of their own.
        look = Look(COLOURS[len(looks) % len(COLOURS)], MARKERS[len(looks) % len(MARKERS)])
        own = looks.setdefault(name, look)
        layers.setdefault(layer, {})[name] = Curve(gammas, over_settings(ranks), own, SIZE)
    return [_ranks(layer, curves, "γ") for layer, curves in layers.items()]


def _over_epochs(settings: Sequence[Setting], matrix: str) -> Curves:
    epochs = sorted(set.intersection(*(set(s.epochs()) for s in settings)))
    curves = {}
    for s, colour, marker in zip(settings, sequential(len(settings)), cycle(MARKERS), strict=False):
        ranks = np.stack([s.array(f"effective_rank/{matrix}", e) for e in epochs], axis=1)
        curves[f"γ = {s.init_rate:g}"] = Curve(epochs, ranks, Look(colour, marker), SIZE)
    title = matrix_name(matrix) + f", layer {_layer(matrix) + 1}" * (_layer(matrix) >= 0)
    panel = _ranks(title, curves, "epoch")
    panel.ylim, panel.whole = None, True  # From 0 on, what changes little would be flat.
    panel.singly = True  # Seeds may learn in two ways, and an interval would span both.
    return panel


def _ranks(title: str, curves: dict[str, Curve], xlabel: str) -> Curves:
    ends = [
        f"{name} from {seeds_text(curve.seeds[:, 0], SIZE)} to {seeds_text(curve.seeds[:, -1], SIZE)}"
        for name, curve in curves.items()
    ]
    x = np.asarray(next(iter(curves.values())).x)
    numbers = f"effective rank, {title}, {xlabel} {x[0]:g} to {x[-1]:g}: {', '.join(ends)}"
    return Curves(title, curves, xlabel, "effective rank", ylim=(0, None), numbers=numbers)


def _matrices(settings: Sequence[Setting], prefix: str) -> set[str]:
    """Return the matrices for which all runs hold the observable of some prefix."""
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    return {name.removeprefix(prefix) for name in shared if name.startswith(prefix)}


def _in_order(settings: Sequence[Setting], prefix: str) -> list[str]:
    """Return the matrices layer by layer in the order of their use, and last those outside the layers."""
    place = {name: i for i, name in enumerate(IN_A_LAYER)}
    names = sorted(
        _matrices(settings, prefix), key=lambda m: (_layer(m), place.get(m.rpartition(".")[2], -1), m)
    )
    if not names:
        raise InputError("runs", len(settings), f"hold no {prefix}NAME", "give run folders, or other runs")
    return sorted(names[:MOST_MATRICES], key=lambda name: _layer(name) < 0)


def _layer(name: str) -> int:
    """Return the layer of a matrix, counted from 0; −1 for one outside the layers."""
    layer, dot, _ = name.partition(".")
    return int(layer) if dot and layer.isdecimal() else -1
