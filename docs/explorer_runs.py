"""The kept runs that the explorer shows beside its predictions, written when the documentation is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from validate.groups import Setting, group_runs
from validate.observe import NoRunsError, kept
from validate.times import common_early, early_text

STUDIES = {
    "emb-mlp": "Emb-MLP",
    "post-norm": "Transformer, post-norm",
    "transformer": "Transformer, pre-norm",
    "no-norm": "Transformer, no norm",
}
"""Studies of the paper's task, and what the explorer calls their model."""


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


def entry(name: str, setting: Setting) -> dict[str, Any]:
    """Return a setting's mean cosines at its early epoch."""
    tokens = [*setting.task.reasoning_anchors, *setting.task.memory_anchors]
    cosines = setting.cosines(tokens, common_early(setting.runs)).mean(axis=0)
    return {
        "model": name,
        "rate": setting.init_rate,
        "task": described(setting),
        "tokens": tokens,
        "seeds": len(setting.runs),
        "when": early_text(setting),
        "cosines": cosines.round(4).tolist(),
    }


def entries() -> list[dict[str, Any]]:
    """Return what is kept of every study."""
    found = []
    for study, name in STUDIES.items():
        try:
            found += [entry(name, setting) for setting in group_runs(kept(study))]
        except NoRunsError:
            continue
    return found


def write(folder: Path) -> None:
    """Write kept.js."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"(globalThis.anchorflowExplorer ??= {{}}).kept = {json.dumps(entries(), ensure_ascii=False)};\n"
    (folder / "kept.js").write_text(text, encoding="utf-8")
