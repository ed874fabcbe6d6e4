"""Loss and accuracy on memory, reasoning training and reasoning test data: what is learned when.

A is the Transformer, B the Emb-MLP. The paper's claim: with large initial weights (γ = 0.3) memory and
reasoning are fitted alike and the test set is not; with small ones (γ = 0.8) reasoning comes first, test set
included. Epochs are on a logarithmic axis.

Two dotted lines are computed from the task. In A, the entropy of a memory anchor's label distribution: a
model that knows eq. 7 and nothing else has this memory loss. In B, the memory accuracy that no sum of
embeddings can pass in expectation: it is the same for (z, a, b) and (z, b, a), whose labels differ. Dots are
the curves that the theory predicts for the Emb-MLP without any run, where they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sim.config.model import EmbMLPConfig
from theory import Task
from validate.figures.attention import ATTENTION
from validate.figures.context import about, missing_rates, model_name
from validate.figures.learning import accuracy_curves, level_text, unlearned_levels
from validate.figures.panels.curves import Curve
from validate.figures.paper.registry import likeliest, paper_figure
from validate.figures.selection import of_kind, required
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PARTS, Look
from validate.judge.ceiling import order_blind_ceiling
from validate.judge.condition import LARGE, SMALL
from validate.judge.groups import Setting
from validate.judge.learning_times import PARTS as NAMES
from validate.judge.learning_times import load_predictions, prediction_for
from validate.observe import Observations


@paper_figure(3, "Loss and accuracy over epochs", likeliest(LARGE, SMALL), "emb-mlp")
def learning(observations: Sequence[Observations]) -> Sheet:
    """Draw loss and accuracy over epochs, the Transformer above the Emb-MLP."""
    transformer, emb_mlp = of_kind(observations, *ATTENTION), of_kind(observations, "emb-mlp")
    required([*transformer, *emb_mlp], observations, "Fig. 3", "the Transformer and the Emb-MLP")
    rows, parts = [], []
    if transformer:
        name = model_name(transformer[0])
        rows += [learning_row(f"A  {name}: loss", transformer, "loss", legend=False)]
        rows += [learning_row(f"A  {name}: accuracy", transformer, "accuracy")]
        parts += ["A: loss and accuracy of the Transformer over epochs.", level_text(transformer)]
        parts += [missing_rates(transformer)]
    if emb_mlp:
        row = learning_row("B  Emb-MLP: accuracy", emb_mlp, "accuracy")
        for setting, panel in zip(emb_mlp, row.panels, strict=True):
            panel.curves |= _predicted(setting)  # type: ignore[attr-defined]
        rows += [row]
        parts += ["B: accuracy of the Emb-MLP over epochs.", _ceiling_text(emb_mlp)]
        if any(_predicted(setting) for setting in emb_mlp):
            parts += ["Dots in B: predicted by AdamW's flow from a start of its own, without a run."]
    return Sheet("fig03_learning", " ".join(filter(None, parts)), about([*transformer, *emb_mlp]), rows)


def learning_row(
    title: str,
    settings: Sequence[Setting],
    measure: Literal["loss", "accuracy"],
    *,
    legend: bool = True,
    log: bool = False,
    each: bool = False,
) -> PanelRow:
    """Return one panel for each setting."""
    one_each = len({s.init_rate for s in settings}) == len(settings)
    panels = [
        accuracy_curves(
            s,
            measure,
            levels=unlearned_levels(s.task) if measure == "loss" else _ceilings(s),
            title=f"γ = {s.init_rate:g}" if one_each else s.label,
            log=log,
            each=each,
            xscale="symlog",
        )
        for s in settings
    ]
    return PanelRow(title, panels, share_y=title, legend=legend)


def _predicted(setting: Setting) -> dict[str, Curve]:
    """Return the kept predictions of the Emb-MLP's accuracies, for its default task and widths."""
    config = setting.config
    if config.model != EmbMLPConfig() or setting.task != Task.paper(length=3):
        return {}
    kept = prediction_for(config, load_predictions())
    if kept is None:
        return {}
    epochs = np.asarray(kept.curves.steps) / kept.curves.steps_per_epoch
    return {
        f"{'_' * (part != 'mem')}predicted{'' if part == 'mem' else f' {part}'}": Curve(
            epochs, kept.curves.accuracy[name].mean(axis=0)[None], Look(PARTS[part][1].colour, ".", "")
        )
        for part, name in NAMES.items()
    }


def _ceilings(setting: Setting) -> dict[str, float]:
    """Return the accuracy that no sum of embeddings passes, for the model that sums them."""
    ceiling = order_blind_ceiling(setting.task) if setting.kind == "emb-mlp" else None
    return {} if ceiling is None else {f"memory: ceiling of a sum of embeddings, {ceiling:.4f}": ceiling}


def _ceiling_text(settings: Sequence[Setting]) -> str:
    found = {level for setting in settings for level in _ceilings(setting).values()}
    if not found:
        return ""
    levels = " or ".join(f"{level:.4f}" for level in sorted(found))
    return (
        f"Dotted, {levels}: the expected ceiling of its accuracy on memory data, since it sees a sum of "
        "embeddings, which is the same for (z, a, b) and (z, b, a), whose labels are drawn independently."
    )
