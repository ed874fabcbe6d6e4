"""Fig. 2, 6, 12, 13, 15: sequences, attention and the spectra of weight matrices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from theory import InputError, Task
from validate.figures.attention import (
    AttentionMatrix,
    AttentionRows,
    LastAttention,
    LastLogits,
    PositionLogits,
)
from validate.figures.average import AverageOverGamma
from validate.figures.members import KINDS, Members, group_observations, large_scales, seeds_note, small_scale
from validate.figures.paper.embeddings import shown_epochs
from validate.figures.paper.training import attention_settings
from validate.figures.sequences import ExampleSequences
from validate.figures.sheet import Panel, PanelRow, Sheet
from validate.figures.spectra import EffectiveRank, SingularValues, ValueAlignment, matrix_name
from validate.observe import Observations

BAR = "attention"
MOST_MATRICES = 16


def examples(observations: Sequence[Observations]) -> Sheet:
    """Fig. 2: sequences of each mapping, of the paper's task or that of the first run given."""
    task = observations[0].task if observations else Task.paper()
    panels = ExampleSequences.from_task(task)
    rows = [PanelRow(f"{chr(65 + i)}  {panel.title}", [panel]) for i, panel in enumerate(panels)]
    for panel in panels:
        panel.title = ""
    caption = "Sequences of each mapping with their labels; tokens coloured by kind."
    width = 0.5 * (task.length + 3) / 1.4
    return Sheet("fig02_sequences", caption, "drawn with seed 0", rows, width=max(width, 3.2))


def first_attention(observations: Sequence[Observations]) -> Sheet:
    """Fig. 6: the first attention and W_V at small initial weights."""
    settings = attention_settings(observations, "Fig. 6")
    setting = small_scale(settings)
    early, late = shown_epochs(setting)
    rows = [_attention_row("A, B  First attention", setting, (0, early, late))]
    panels: list[Panel] = [
        SingularValues.from_runs(settings, "0.W_V", [s.nearest(early) for s in settings], f"epoch {early}"),
        ValueAlignment.from_runs(setting, early, f"epoch {early}"),
        ValueAlignment.from_runs(setting, late, f"epoch {late}"),
    ]
    rows.append(PanelRow("C, D  Singular values of $W_V$, and the first one's direction", panels))
    caption = (
        f"The first attention at {setting.label} against the average operator (A, B: dotted 1/i; bars: a "
        "standard deviation over probe sequences), the singular values of W_V (C), and the cosine of every "
        "anchor's embedding with its top left singular vector (D)."
    )
    return Sheet("fig06_first_attention", caption, seeds_note(settings), rows, width=2.8)


def first_attention_large(observations: Sequence[Observations]) -> Sheet:
    """Fig. 12: the first attention at large initial weights, and its error over γ."""
    every = attention_settings(observations, "Fig. 12")
    rows = []
    for letter, setting in zip("ABCDEFGH", large_scales(every), strict=False):
        early = shown_epochs(setting)[0]
        rows.append(_attention_row(f"{letter}  First attention, {setting.label}", setting, (0, early)))
    early, late = shown_epochs(every[0])
    over_gamma = [make(every, [0, early, late]) for make in (AverageOverGamma.error, AverageOverGamma.share)]
    rows.append(PanelRow("Distance from the average over γ", over_gamma))
    caption = (
        "The first attention at large initial weights; over γ, its largest distance from 1/i over sequences "
        "and places, and the share of entries near 1/i."
    )
    return Sheet("fig12_first_attention_large", caption, seeds_note(every), rows, width=2.8)


def spectra(observations: Sequence[Observations]) -> Sheet:
    """Fig. 13: singular values of every weight matrix over γ, and effective ranks."""
    families = _families(observations)
    scan = max(families, key=lambda own: len(own))
    names = _matrices(scan)
    epochs = [shown_epochs(s)[1] for s in scan]
    singular = [SingularValues.from_runs(scan, n, epochs, _matrix_title(n)) for n in names]
    kind = KINDS[scan[0].kind]
    rows = [
        PanelRow(
            f"A  Singular values, {kind}, epoch {epochs[-1]}" if start == 0 else "",
            singular[start : start + 4],
            height=2.3,
            legend=start + 4 >= len(names),
        )
        for start in range(0, len(names), 4)
    ]
    ranks = [EffectiveRank.over_gamma(scan, own, epochs, title) for title, own in _by_layer(names).items()]
    rows.append(PanelRow(f"B  Effective rank over γ, epoch {epochs[-1]}", ranks, legend=False))
    longest = max(families, key=lambda own: own[0].epochs()[-1])
    over_time = [EffectiveRank.over_epochs(longest, n, _matrix_title(n)) for n in _telling(names)]
    rows.append(PanelRow("C  Effective rank over epochs", over_time))
    caption = (
        "Singular values of every weight matrix over the largest, and the effective rank exp(−Σ p ln p), "
        "p = σ/Σσ, over γ and over epochs."
    )
    note = seeds_note([*scan, *longest])
    return Sheet("fig13_spectra", caption, note, rows, width=2.6)


def second_attention(observations: Sequence[Observations]) -> Sheet:
    """Fig. 15: the last row of the last attention by place of the key, and with positions only."""
    setting = small_scale(attention_settings(observations, "Fig. 15"))
    rows = []
    for letter, epoch in zip("AB", shown_epochs(setting), strict=True):
        panels: list[Panel] = [
            LastLogits.from_runs(setting, epoch, "logits"),
            LastAttention.from_runs(setting, epoch, "after the softmax"),
        ]
        if setting.has("last_logits_positions"):
            panels.append(PositionLogits.from_runs(setting, epoch, "positions alone"))
        rows.append(PanelRow(f"{letter}  Last row, epoch {epoch}", panels, BAR, height=3.0))
    caption = (
        f"The last row of the last layer's attention at {setting.label}, by place p of the key (hollow; "
        "anchors full): before and after the softmax, and before it with all token embeddings set to zero."
    )
    return Sheet("fig15_second_attention", caption, seeds_note([setting]), rows, width=3.0)


def _attention_row(title: str, setting: Members, epochs: Sequence[int]) -> PanelRow:
    panels: list[Panel] = [AttentionMatrix.from_runs(setting, e, f"epoch {e}") for e in epochs]
    last = epochs[-1]
    panels.append(AttentionRows.from_runs(setting, last, f"rows, epoch {last}"))
    return PanelRow(title, panels, BAR, height=3.0)


def _families(observations: Sequence[Observations]) -> list[list[Members]]:
    """Return settings grouped by all but γ: a scan over γ is one family."""
    found: dict[str, list[Members]] = defaultdict(list)
    for setting in group_observations(observations):
        config = setting.runs[0].config
        found[config.model_dump_json(exclude={"seed", "init_rate"})].append(setting)
    return list(found.values())


def _matrices(settings: Sequence[Members]) -> list[str]:
    """Return the weight matrices whose singular values all settings hold."""
    shared = set.intersection(*(set(run.arrays) for s in settings for run in s.runs))
    names = [
        n.removeprefix("singular/") for n in settings[0].runs[0].arrays if n in shared and "singular/" in n
    ]
    if not names:
        raise InputError("runs", len(settings), "hold no singular values", "observe the runs again")
    return names[:MOST_MATRICES]


def _by_layer(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the matrices of each layer, and those of none."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        layer = name.rpartition(".")[0]
        found[f"layer {int(layer) + 1}" if layer else "outside the layers"].append(name)
    return dict(found)


def _telling(names: Sequence[str]) -> list[str]:
    """Return three matrices to follow over time: the first values, the embedding, the read-out."""
    order = ("0.W_V", "W_E", "W_U", "W_emb", "W1", "W2")
    return [name for name in order if name in names][:3]


def _matrix_title(name: str) -> str:
    layer = name.rpartition(".")[0]
    return f"{matrix_name(name)}, layer {int(layer) + 1}" if layer else matrix_name(name)
