"""Fig. 13: singular values of every weight matrix over γ, layer by layer, and effective ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from theory import InputError
from validate.figures.context import about, model_name, shown_epochs
from validate.figures.panels.spectra import EffectiveRank, SingularValues, matrix_name
from validate.figures.paper.registry import paper_figure
from validate.figures.sheet import PanelRow, Sheet
from validate.groups import Setting, group_runs
from validate.observe import Observations

MOST_MATRICES = 16
IN_A_LAYER = ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")


@paper_figure(13, "Singular values over γ", "scan", "transformer", compares="γ")
def spectra(observations: Sequence[Observations]) -> Sheet:
    """Fig. 13: a row of singular values for each layer, and effective ranks over γ and over epochs."""
    families = _families(observations)
    scan = max(families, key=lambda own: len(own))
    longest = max(families, key=lambda own: own[0].epochs()[-1])
    layers = _by_layer(_matrices(scan))
    epochs = [shown_epochs(s)[-1] for s in scan]
    what = f"{model_name(scan[0])}, epoch {epochs[-1]}"
    rows = [
        PanelRow(
            f"A  Singular values, {layer}; {what}",
            [SingularValues.from_runs(scan, name, epochs, matrix_name(name)) for name in names],
            height=2.0 if layer == list(layers)[-1] else 1.7,
            legend=layer == list(layers)[-1],
            share_y=layer,
        )
        for layer, names in layers.items()
    ]
    ranks = [EffectiveRank.over_gamma(scan, names, epochs, layer) for layer, names in layers.items()]
    rows.append(PanelRow(f"B  Effective rank over γ; {what}", ranks, legend=False))
    followed = _telling([name for names in layers.values() for name in names])
    over_time = [EffectiveRank.over_epochs(longest, n, _with_layer(n)) for n in followed]
    rows.append(PanelRow(f"C  Effective rank over epochs; {model_name(longest[0])}", over_time))
    caption = (
        "A: singular values of every weight matrix over the largest. B, C: the effective rank "
        "exp(−Σ p ln p), p = σ/Σσ, over γ and over epochs."
    )
    runs = f"A, B: {about(scan)}. C: {about(longest)}" if longest is not scan else about(scan)
    return Sheet("fig13_spectra", caption, runs, rows, width=1.6)


def _families(observations: Sequence[Observations]) -> list[list[Setting]]:
    """Return settings grouped by all but γ: a scan over γ is one family."""
    found: dict[str, list[Setting]] = defaultdict(list)
    for setting in group_runs(observations):
        config = setting.config
        found[config.model_dump_json(exclude={"seed", "init_rate"})].append(setting)
    return list(found.values())


def _matrices(settings: Sequence[Setting]) -> list[str]:
    """Return the weight matrices whose singular values all settings hold."""
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    names = [
        n.removeprefix("singular/") for n in settings[0].runs[0].arrays if n in shared and "singular/" in n
    ]
    if not names:
        raise InputError("runs", len(settings), "hold no singular values", "observe the runs again")
    return sorted(names, key=_order)[:MOST_MATRICES]


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
