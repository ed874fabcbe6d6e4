"""Fig. 13: singular values of every weight matrix over γ, layer by layer, and effective ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from theory import InputError
from validate.claims.statements import LARGE, SMALL
from validate.figures.context import about, epoch_text, missing_rates, model_name, shown_epochs
from validate.figures.panels.spectra import EffectiveRank, SingularValues, matrix_name
from validate.figures.paper.registry import paper_figure
from validate.figures.paper.sources import Source, likeliest
from validate.figures.selection import without_gamma
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.groups import Setting, group_runs
from validate.observe import Observations

MOST_MATRICES = 16
OVER_GAMMA = Source(("group-small", "scan"), (LARGE, SMALL))
"""The ranks over more γ: the primary setting at a quarter of the size, then what was trained for 3 epochs."""
PREFIXES = {"singular values": "singular/", "effective ranks": "effective_rank/"}
"""How the names of such observables begin."""
IN_A_LAYER = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")


@paper_figure(13, "Singular values over γ", likeliest(LARGE, SMALL), OVER_GAMMA, compares="γ")
def spectra(observations: Sequence[Observations]) -> Sheet:
    """Fig. 13: singular values layer by layer, and effective ranks over γ and over epochs.

    Where other runs have more γ than the longest ones, the ranks over those stand in a row of their own. Of
    equally long ones those are shown that hold the singular values of more matrices.
    """
    families = _families(observations)
    main = max(
        families, key=lambda own: (len(own) > 1, own[0].epochs()[-1], len(_names(own, "singular values")))
    )
    scan = max(families, key=len)
    layers = _by_layer(_matrices(main, "singular values"))
    rows = [*_values(main, layers), _ranks("B", main)]
    followed = _telling([name for names in layers.values() for name in names])
    over_time = [EffectiveRank.over_epochs(main, n, _with_layer(n)) for n in followed]
    rows.append(PanelRow(f"C  Effective rank over epochs; {model_name(main[0])}", over_time))
    caption = (
        "A: singular values of every weight matrix over the largest. B, C: the effective rank "
        f"exp(−Σ p ln p), p = σ/Σσ, over γ and over epochs. {missing_rates(main)}"
    ).strip()
    runs = about(main)
    if len(scan) > len(main):
        rows.append(_ranks("D", scan))
        caption += " D: the same rank over more γ, in other runs."
        runs = f"A–C: {runs}. D: {about(scan)}"
    return Sheet("fig13_spectra", caption, runs, rows, width=1.6)


def _values(settings: Sequence[Setting], layers: dict[str, list[str]]) -> list[PanelRow]:
    """Return a row of singular values for each layer."""
    epochs = _late(settings)
    last = list(layers)[-1]
    return [
        PanelRow(
            f"A  Singular values, {layer}; {model_name(settings[0])}, {epoch_text(epochs)}",
            [SingularValues.from_runs(settings, name, epochs, matrix_name(name)) for name in names],
            height=2.0 if layer == last else 1.7,
            legend=layer == last,
            share_y=layer,
        )
        for layer, names in layers.items()
    ]


def _ranks(letter: str, settings: Sequence[Setting]) -> PanelRow:
    """Return the effective ranks over γ, a panel for each layer."""
    epochs, layers = _late(settings), _by_layer(_matrices(settings, "effective ranks"))
    among = [name for names in layers.values() for name in names]
    panels = [
        EffectiveRank.over_gamma(settings, names, epochs, layer, among) for layer, names in layers.items()
    ]
    title = f"{letter}  Effective rank over γ; {model_name(settings[0])}, {epoch_text(epochs)}"
    return PanelRow(title, panels, height=2.2)


def _late(settings: Sequence[Setting]) -> list[int]:
    return [shown_epochs(setting)[-1] for setting in settings]


def _families(observations: Sequence[Observations]) -> list[list[Setting]]:
    """Return settings grouped by all but γ: a scan over γ is one family."""
    found: dict[str, list[Setting]] = defaultdict(list)
    for setting in group_runs(observations):
        found[without_gamma(setting)].append(setting)
    return list(found.values())


def _matrices(settings: Sequence[Setting], what: str) -> list[str]:
    """Return the weight matrices of which all settings hold singular values, or effective ranks."""
    names = _names(settings, what)
    if not names:
        raise InputError("runs", len(settings), f"hold no {what}", "observe the runs again")
    return sorted(names, key=_order)[:MOST_MATRICES]


def _names(settings: Sequence[Setting], what: str) -> list[str]:
    prefix = PREFIXES[what]
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    return [name.removeprefix(prefix) for name in shared if name.startswith(prefix)]


def _order(name: str) -> tuple[str, int, str]:
    """Return where a matrix stands in its layer: in the order in which the layer applies them."""
    layer, _, matrix = name.rpartition(".")
    return layer, IN_A_LAYER.index(matrix) if matrix in IN_A_LAYER else -1, matrix


def _by_layer(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the matrices of each layer, and last those of none."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda n: (not n.rpartition(".")[0], n.rpartition(".")[0])):
        layer = name.rpartition(".")[0]
        found[f"layer {int(layer) + 1}" if layer else "outside the layers"].append(name)
    return dict(found)


def _telling(names: Sequence[str]) -> list[str]:
    """Return three matrices to follow over time: the first values, the embedding, the read-out."""
    order = ("0.W_V", "W_E", "W_U", "W_emb", "W1", "W2")
    return [name for name in order if name in names][:3]


def _with_layer(name: str) -> str:
    layer = name.rpartition(".")[0]
    return f"{matrix_name(name)}, layer {int(layer) + 1}" if layer else matrix_name(name)
