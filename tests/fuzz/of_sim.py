"""The arguments of ``sim``'s public callables, by name."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import torch

import sim
from sim.architectures.emb_mlp import EmbMLP
from sim.fast.layers import emb_mlp
from tests.fuzz import command_lines

TINY: dict[str, Any] = {
    "task": command_lines.TINY["task"],
    "model": {"d_m": 4, "d_f": 4},
    "training": {"epochs": 1, "batch_size": 4, "snapshot_epochs": []},
}
CONFIG = sim.make_run_config(TINY)
MEMBER = CONFIG.members()[0]
MODEL = sim.TransformerConfig(d_m=4, d_f=4, d_k=2, n_layers=1)
DEEP = sim.make_run_config(TINY | {"model": MODEL.model_dump()}).members()[0]
CONFIGURATIONS = (
    *(sim.DataConfig(), sim.AdamW(), sim.SGD(), CONFIG, MEMBER),
    *(sim.EmbMLPConfig(), sim.OneLayerConfig(), sim.TransformerConfig(), sim.GPT2Config()),
)

RESULTS = frozenset(
    [
        *("Advice", "AssociationModel", "Corpus", "ProntoQuestion", "Cost", "Dataset", "InitReport"),
        *("Model", "ModelConfig", "ModelSection", "TensorInit", "TensorSpec", "Progress"),
        "Run",
    ]
)
"""What functions return, the name of a union, and what a new kind of model is derived from."""


@functools.cache
def files() -> tuple[Path, Path]:
    """Return a finished run's folder and a text."""
    folder = Path(tempfile.mkdtemp(prefix="anchorflow-fuzz-"))
    (folder / "notes.txt").write_text("one\n\ntwo\n")
    return sim.train(CONFIG, folder / "runs")[0].path, folder / "notes.txt"


def arguments() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    run, text = files()
    corpora = (sim.CorpusSource(name="notes", files=(str(text),), documents="line"),)
    values: dict[str, Any] = {
        **{"members": [MEMBER], "member": MEMBER, "config": CONFIG, "vocab_size": 30, "data": TINY},
        **{"model": MODEL, "parameters": sim.build([DEEP]), "tokens": torch.tensor([[[20, 4], [21, 5]]])},
        **{"section": MODEL, "names": ["blocks.0.hook_resid_pre"], "activation": "tanh"},
        **{"module": torch.nn.Linear(3, 2), "rate": 0.5, "convention": "vocab", "bias_scale": 1.0},
        **{"norms": "keep", "fan_in": {"weight": 3}, "keep": ["bias"], "seed": 1},
        **{"path": Path("run"), "paths": [Path("run")], "out": "runs", "device": "cpu", "kernels": "torch"},
        **{"workers": 1, "resume": False, "overwrite": True, "report": lambda _: None, "steps": 2},
        **{"stop": lambda: False, "corpora": corpora, "name": "notes", "files": (str(text),)},
        **{"fields": ("text",), "documents": "line", "sha256": (), "length": 2, "n_sequences": 2},
        **{"vocabulary": 4, "tokenizer": "", "layout": "pack", "n": 2, "hops": [1, 2], "unit": "line"},
        **{"sequences": [[0, 1, 2]], "n_layers": 1},
    }
    folder = {name: values[name] for name in ("resume", "overwrite", "device", "kernels")}
    otherwise: dict[str, dict[str, Any]] = {
        **{
            type(whole).__name__: {name: getattr(whole, name) for name in type(whole).model_fields}
            for whole in CONFIGURATIONS
        },
        "LanguageTask": {"vocab_size": 4},
        "register_model": {"section": sim.EmbMLPConfig, "model": EmbMLP, "gradients": emb_mlp},
        "register_optimizer": {"optimizer": sim.SGD},
        "advise": {"model": torch.nn.Linear(3, 2)},
        "load_preset": {"name": "cpu"},
        "read_documents": {"path": text},
        "Run.open": {"path": run},
        "find_runs": {"paths": [run]},
        "build_corpus": {"documents": ["a b", "b c"], "vocabulary": 2, "context": 2, "tokenizer": None},
        "train_associations": {"vocab_size": 3, "rate": 0.1},
        **dict.fromkeys(("train", "train_members"), folder | {"workers": 1}),
        "train_together": folder,
    }
    return values, otherwise
