"""Fig. 8: what the label distribution alone does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theory import InputError
from validate.figures.context import about, model_name
from validate.figures.panels.accuracy import AccuracyCurves, Look
from validate.figures.panels.outputs import OutputDistribution, label_words
from validate.figures.paper.registry import paper_figure
from validate.figures.selection import KINDS, of_kind
from validate.figures.sheet import PanelRow, Sheet
from validate.figures.style import PALETTE
from validate.groups import Setting
from validate.observe import Observations

EARLY_ACCURACY = 0.3
"""Fig. 8 right is early: the last snapshot before the accuracy of any memory mapping passes this."""


@paper_figure(8, "The effect of the label distribution", "fig8-memory", "fig8-ranges")
def label_distributions(observations: Sequence[Observations]) -> Sheet:
    """Fig. 8: two memory mappings whose label distributions differ, and outputs inside four label ranges."""
    tables = [o for o in observations if sum(m.is_table for m in o.task.mappings) > 1]
    compared = of_kind([o for o in tables if any(m.rule.kind == "window" for m in o.task.mappings)], *KINDS)
    ranges = of_kind([o for o in tables if all(m.rule.kind == "lookup" for m in o.task.mappings)], *KINDS)
    rows = [_mapping_curves(f"Left  {_name(setting)}: two memory mappings", setting) for setting in compared]
    for setting in ranges:
        epoch = early_epoch(setting)
        reached = f"memory accuracy up to {_accuracy(setting, epoch):.3f}"
        title = f"Right  {_name(setting)}: outputs at epoch {epoch}, {reached}"
        rows.append(PanelRow(title, OutputDistribution.from_runs(setting, epoch), share_y=title))
    if not rows:
        raise InputError(
            "runs", len(observations), "none has several memory mappings", "give runs of Fig. 8's tasks"
        )
    left = "Left: loss and accuracy of memory mappings whose label distributions differ. "
    right = (
        "Right: the mean output for each memory mapping beside its label distribution, at the last snapshot "
        f"before memory accuracy passes {EARLY_ACCURACY:g}. "
    )
    caption = (left if compared else "") + (right if ranges else "")
    return Sheet("fig08_label_distributions", caption.strip(), about([*compared, *ranges]), rows, width=1.7)


def early_epoch(setting: Setting) -> int:
    """Return the last snapshot before any seed's memory accuracy passes 0.3, but after the start."""
    after = [e for e in setting.epochs() if e > 0]
    early = [e for e in after if _accuracy(setting, e) < EARLY_ACCURACY]
    return early[-1] if early else after[0]


def _accuracy(setting: Setting, epoch: int) -> float:
    """Return the largest memory accuracy of any seed at the evaluation next to an epoch."""
    nearest = [min(run.metrics, key=lambda line: abs(line["epoch"] - epoch)) for run in setting.runs]
    return max(float(line["accuracy"]["mem"]) for line in nearest)


def _name(setting: Setting) -> str:
    return f"{model_name(setting)}, γ = {setting.init_rate:g}"


def _mapping_curves(title: str, setting: Setting) -> PanelRow:
    looks: Mapping[str, Look] = {
        m.name: (label_words(setting.task, m), colour, line)
        for m, colour, line in zip(setting.task.mappings, PALETTE, ("-", "--", "-.", ":"), strict=False)
        if m.is_table
    }
    panels = [AccuracyCurves.from_runs(setting, m, parts=looks, title=m) for m in ("loss", "accuracy")]
    return PanelRow(title, panels)
