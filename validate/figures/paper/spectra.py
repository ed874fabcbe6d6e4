"""Fig. 13: singular values of every weight matrix over γ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np

from theory import InputError
from validate.figures import Curve, Curves, Look, PanelRow, Sheet, group_runs
from validate.figures.panels.panel import seeds_text
from validate.figures.paper.registry import Source, likeliest, paper_figure
from validate.figures.runs import about, apart, missing_rates, model_name, over_settings, shown_epochs
from validate.figures.sheet import in_rows
from validate.figures.style import MARKERS, PALETTE, sequential
from validate.judge.settings import LARGE, SMALL
from validate.judge.stats import SHARE, SIZE, band
from validate.observe import Observations
from validate.observe.groups import Setting

MOST_MATRICES = 16
COLOURS = (*PALETTE, "#8c510a")
OVER_GAMMA = Source(("group-small", "scan"), (LARGE, SMALL))
"""Ranks over more γ: the primary setting at a quarter of the size, then runs of 3 epochs."""
IN_A_LAYER = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")
FOLLOWED = ("0.W_V", "W_E", "W_U", "W_emb", "W1", "W2")
"""The matrices to follow over time: the first three of these that exist."""


@paper_figure(13, "Singular values over γ", likeliest(LARGE, SMALL), OVER_GAMMA, compares="γ")
def spectra(observations: Sequence[Observations]) -> Sheet:
    """Draw singular values layer by layer (A), and effective ranks over epochs (B) and γ (C, D).

    The effective rank exp(−Σ p ln p), p = σ/Σσ (Roy and Vetterli 2007), is r for r equal singular values. D
    has more γ, in other runs.
    """
    # With singular values, then longest, then with the most matrices; more γ have panels of their own.
    families: dict[str, list[Setting]] = {}
    for setting in group_runs(apart(observations)):
        families.setdefault(setting.family, []).append(setting)

    def value(own: list[Setting]) -> tuple[bool, bool, int, int]:
        held = len(_matrices(own, "singular/"))
        return len(own) > 1, held > 0, own[0].epochs()[-1], held

    main = max(families.values(), key=value)
    scan = max((own for own in families.values() if _matrices(own, "effective_rank/")), key=len, default=main)
    layers, held = _by_layer(main, "singular/"), _matrices(main, "singular/")
    every = [m for names in layers.values() for m in names]
    late = [shown_epochs(s)[-1] for s in main]
    name = f"{model_name(main[0])}, epoch {' or '.join(map(str, sorted(set(late))))}"
    panels = _of_kinds(main, every, late)
    rows = in_rows(panels, min(len(panels), 3), f"A  Singular values; {name}")
    for row in rows:
        row.height = 1.45 + 0.2 * row.legend
    followed = [m for m in FOLLOWED if m in every] or every
    over_epochs = [_over_epochs(main, m) for m in followed[:3]]
    rows.append(PanelRow("B  Effective rank over epochs", over_epochs, height=1.7))
    looks, about_runs = dict[str, Look](), about(main)
    rows.append(
        PanelRow(f"C  Effective rank over {len(main)} γ", _over_gamma(main, looks), height=1.8, share_y="C")
    )
    which = "every weight matrix" if len(held) == len(every) else f"{len(every)} of {len(held)} matrices"
    caption = (
        f"A: singular values of {which} relative to the largest, the places i counted as shares of their "
        "number; layers after the first are dashed. B, C: the effective rank exp(−Σ p ln p), p = σ/Σσ, over "
        f"epochs and over γ. {missing_rates(main)}"
    )
    if len(scan) > len(main):
        title = f"D  Effective rank over {len(scan)} γ, in other runs"
        rows.append(PanelRow(title, _over_gamma(scan, looks), height=1.8, share_y="D"))
        caption += " D: the same rank over more γ, in other runs."
        about_runs = f"A–C: {about_runs}. D: {about(scan)}"
    return Sheet("fig13_spectra", caption, about_runs, rows)


def _of_kinds(settings: Sequence[Setting], matrices: Sequence[str], epochs: Sequence[int]) -> list[Curves]:
    """Return a panel for each kind of matrix, a line for each γ and layer; the layers' kinds come first."""
    kinds: dict[str, list[str]] = {}
    for name in matrices:
        kinds.setdefault(matrix_name(name), []).append(name)
    panels = []
    for kind, names in kinds.items():
        shown = dict[str, Curve]()
        for name, line in zip(names, cycle(("-", "--", "-.", ":")), strict=False):
            of = f", layer {_layer(name) + 1}" * (_layer(name) > 0)
            lines = {f"γ = {s.init_rate:g}{of}": (s, e, line) for s, e in zip(settings, epochs, strict=True)}
            panel = singular_values(lines, name, kind, shares=True)
            shown |= panel.curves
        panel.curves = shown
        panels.append(panel)
    if any(_layer(name) > 0 for name in matrices):
        panels[-1].levels = {"layer 2": (float("nan"), Look("0.4", line="--"))}
    return panels


def singular_values(
    lines: Mapping[str, tuple[Setting, int, str]], name: str, title: str, *, shares: bool = False
) -> Curves:
    """Return one matrix's singular values relative to the largest, from (setting, epoch, line) by name.

    With ``shares`` the place of a singular value is a share of their number, so that matrices of several
    sizes have one axis.
    """
    curves, rates = {}, sorted({setting.init_rate for setting, *_ in lines.values()})
    colours = dict(zip(rates, sequential(len(rates)), strict=True))
    for of, (setting, epoch, line) in lines.items():
        values = setting.array(f"singular/{name}", epoch)
        index = np.arange(1, values.shape[1] + 1)
        x = index / index[-1] if shares else index
        look = Look(colours[setting.init_rate], line=line, width=0.8 if line == ":" else None)
        curves[of] = Curve(x, values / values[:, :1], look, SHARE)
    smallest = min(float(curve.mean[curve.mean > 0].min(initial=1.0)) for curve in curves.values())
    ylim, x_name = (max(smallest / 2, 1e-4), 1.3), "i / number of values" if shares else "i"
    each = any(line == "--" for *_, line in lines.values()) and not shares
    y_name = r"$\sigma_i / \sigma_1$"
    return Curves(title, curves, x_name, y_name, yscale="log", ylim=ylim, whole=not shares, each=each)


def matrix_name(name: str) -> str:
    """Return a matrix's name for a figure: "0.W_V" becomes W with subscript V."""
    head, _, index = name.removeprefix(f"{_layer(name)}.").partition("_")
    return f"${head}_{{\\mathrm{{{index}}}}}$" if index else f"${head}$"


def _over_gamma(settings: Sequence[Setting], looks: dict[str, Look]) -> list[Curves]:
    """Return a panel for each layer, and add missing looks to ``looks``: one legend serves all panels."""
    layers = _by_layer(settings, "effective_rank/")
    for name in (matrix_name(m) for names in layers.values() for m in names):
        # Colour and marker together differ for each of 63 matrices, and nine have colours of their own.
        looks.setdefault(name, Look(COLOURS[len(looks) % len(COLOURS)], MARKERS[len(looks) % len(MARKERS)]))
    late = [(s, shown_epochs(s)[-1]) for s in settings]
    gammas = np.array([s.init_rate for s in settings])
    panels = []
    for layer, names in layers.items():
        each = {matrix_name(m): [s.array(f"effective_rank/{m}", e) for s, e in late] for m in names}
        curves = {m: Curve(gammas, over_settings(values), looks[m], SIZE) for m, values in each.items()}
        panels.append(_ranks(layer, curves, "γ"))
    return panels


def _over_epochs(settings: Sequence[Setting], matrix: str) -> Curves:
    epochs = sorted(set.intersection(*(set(s.epochs()) for s in settings)))
    curves = {}
    for s, colour, marker in zip(settings, sequential(len(settings)), cycle(MARKERS), strict=False):
        ranks = np.stack([s.array(f"effective_rank/{matrix}", e) for e in epochs], axis=1)
        curves[f"γ = {s.init_rate:g}"] = Curve(epochs, ranks, Look(colour, marker), SIZE)
    layer = _layer(matrix)
    title = matrix_name(matrix) + f", layer {layer + 1}" * (layer >= 0)
    return _ranks(title, curves, "epoch")


def _ranks(title: str, curves: dict[str, Curve], xlabel: str) -> Curves:
    ends = [
        f"{name} from {seeds_text(curve.seeds[:, 0], SIZE)} to {seeds_text(curve.seeds[:, -1], SIZE)}"
        for name, curve in curves.items()
    ]
    x = np.asarray(next(iter(curves.values())).x)
    told = f"effective rank, {title}, {xlabel} {x[0]:g} to {x[-1]:g}: {', '.join(ends)}"
    whole = xlabel == "epoch"
    top = max(float(np.nanmax([*c.seeds, *band(c.seeds, SIZE)], initial=0.0)) for c in curves.values())
    limits = (0, 1.1 * top)  # Markers at the edge would be cut.
    return Curves(title, curves, xlabel, "effective rank", ylim=limits, whole=whole, numbers=told)


def _matrices(settings: Sequence[Setting], prefix: str) -> set[str]:
    """Return the matrices for which all runs hold the observable of some prefix."""
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    return {name.removeprefix(prefix) for name in shared if name.startswith(prefix)}


def _by_layer(settings: Sequence[Setting], prefix: str) -> dict[str, list[str]]:
    """Return the matrices of each layer in the order of their use, and last those outside the layers."""
    place, every = {name: i for i, name in enumerate(IN_A_LAYER)}, _matrices(settings, prefix)
    names = sorted(every, key=lambda m: (_layer(m), place.get(m.rpartition(".")[2], -1), m))[:MOST_MATRICES]
    if not names:
        raise InputError("runs", len(settings), f"hold no {prefix}NAME", "give run folders, or other runs")
    found: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: _layer(name) < 0):
        layer = f"layer {at + 1}" if (at := _layer(name)) >= 0 else "outside the layers"
        found.setdefault(layer, []).append(name)
    return found


def _layer(name: str) -> int:
    """Return the layer of a matrix, counted from 0; −1 for one outside the layers."""
    layer, dot, _ = name.partition(".")
    return int(layer) if dot and layer.isdecimal() else -1
