"""The task: sequences of each mapping with their labels.

A sequence is noise, a key, q anchors of one mapping in a row, and noise again. The label depends on key and
anchors alone: a reasoning mapping adds them up, a memory mapping looks up a label that was drawn once and is
fixed. The sequences are drawn from the paper's task (Section 2.1, 3.1); no runs are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from theory import Task
from validate.figures.panels.sequences import ExampleSequences
from validate.figures.paper.registry import paper_figure
from validate.figures.sheet import PanelRow, Sheet
from validate.observe import Observations

SEED = 0


@paper_figure(2, "Sequences of the task")
def examples(observations: Sequence[Observations]) -> Sheet:
    """Draw sequences of each mapping, of the paper's task or that of the first run given."""
    task = observations[0].task if observations else Task.paper()
    panels = ExampleSequences.from_task(task, SEED)
    rows = [PanelRow(f"{chr(65 + i)}  {panel.title}", [panel], height=2.1) for i, panel in enumerate(panels)]
    for panel in panels:
        panel.title = ""
    whose = "of the runs" if observations else "of the paper"
    caption = "Sequences of each mapping with their labels; tokens coloured by kind."
    about = f"Drawn from the task {whose} with seed {SEED}; no model, γ or epoch: nothing is trained"
    return Sheet("fig02_sequences", caption, about, rows, width=0.42 * (task.length + 3))
