"""The kept runs that the explorer shows beside its predictions, written when the documentation is built."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from validate.figures.paper.registry import Source
from validate.figures.runs import apart
from validate.judge.claim import Setup
from validate.judge.settings import BY_LABEL, FULL_SIZE
from validate.observe import NoRunsError, kept
from validate.observe.groups import Setting, early_text, group_runs
from validate.observe.times import early_epoch

SETUPS = (*FULL_SIZE, BY_LABEL["MLP"])
"""The ledger's settings with the paper's task, the likeliest one of the paper first."""


def described(setting: Setting) -> dict[str, Any]:
    """Return a setting's task as the explorer describes tasks: reasoning first."""
    task = setting.task
    spans = [(task.reasoning_anchors, "key + total", task.held_out), (task.memory_anchors, "lookup", ())]
    return {
        "keys": [task.keys[0], task.keys[-1]],
        "nAnchors": task.n_anchors,
        "vocabSize": task.vocab_size,
        "mappings": [
            {"anchors": [anchors[0], anchors[-1]], "rule": rule, "heldOut": sorted(map(list, held_out))}
            for anchors, rule, held_out in spans
        ],
    }


def entry(setup: Setup, setting: Setting) -> dict[str, Any]:
    """Return what the explorer shows of the runs with one γ at a setting of the ledger."""
    tokens = [*setting.task.reasoning_anchors, *setting.task.memory_anchors]
    cosines = np.mean([run.cosines(tokens, early_epoch(run)) for run in setting.runs], axis=0)
    return {
        "setting": setup.name or setup.label,
        "meaning": setup.meaning,
        "rate": setting.init_rate,
        "task": described(setting),
        "tokens": tokens,
        "seeds": setting.seeds_text,
        "when": early_text(setting),
        "cosines": cosines.round(4).tolist(),
    }


def entries(setups: Sequence[Setup] = SETUPS) -> list[dict[str, Any]]:
    """Return what is kept at every setting."""
    found = []
    for setup in setups:
        # Figures show the same seeds: those of two studies, cut to one length.
        study = {"printed": "printed+printed-seeds"}.get(setup.study, setup.study)
        try:
            runs = Source((study,)).find(kept)
        except NoRunsError:
            continue
        found += [entry(setup, setting) for setting in group_runs(apart(runs))]
    return found


def write(folder: Path) -> None:
    """Write kept.js."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"(globalThis.anchorflowExplorer ??= {{}}).kept = {json.dumps(entries(), ensure_ascii=False)};\n"
    (folder / "kept.js").write_text(text, encoding="utf-8")
