"""One small valid call of every public callable of ``sim``."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import sim
from sim.config.run import make_member_config
from sim.data.prontoqa import as_json_line
from tests.fuzz.calls import Call

TASK = {
    "keys": "20..22",
    "n_anchors": 1,
    "length": 2,
    "vocab_size": 30,
    "reasoning_anchors": [4, 5],
    "memory_anchors": [1],
}
TINY: dict[str, Any] = {
    "task": TASK,
    "model": {"d_m": 4, "d_f": 4},
    "training": {"epochs": 1, "batch_size": 4, "snapshot_epochs": []},
}
CONFIG = sim.make_run_config(TINY)
MEMBER = CONFIG.members()[0]
MODEL = sim.TransformerConfig(d_m=4, d_f=4, d_k=2, n_layers=1)
DEEP = sim.make_run_config(TINY | {"model": MODEL.model_dump()}).members()[0]
TOKENS = torch.tensor([[[20, 4], [21, 5]]])

RESULTS = frozenset(
    [
        *("Advice", "AssociationModel", "Corpus", "ProntoQuestion", "Cost", "Dataset", "InitReport"),
        *("Model", "ModelConfig", "ModelSection", "TensorInit", "TensorSpec", "Progress", "RouteReport"),
        "Run",
    ]
)
"""What functions return, the name of a union, and what a new kind of model is derived from."""


def calls() -> dict[str, Call]:
    """Return the callables of ``sim``, each with the arguments of a valid call."""
    return _configurations() | _models() | _running() | _texts()


def _texts() -> dict[str, Call]:
    file = Path(tempfile.mkdtemp(prefix="anchorflow-fuzz-")) / "notes.txt"
    file.write_text("one\n\ntwo\n")
    questions = file.with_name("questions.jsonl")
    questions.write_text(as_json_line(sim.prontoqa_questions(1)[0]))
    found: dict[str, Call] = {
        "read_documents": (sim.read_documents, {"path": file, "fields": ("text",), "unit": "line"}),
        "prontoqa_questions": (sim.prontoqa_questions, {"n": 2, "seed": 1, "hops": [1, 2]}),
        "read_prontoqa": (sim.read_prontoqa, {"path": questions}),
        "train_associations": (
            sim.train_associations,
            {"sequences": [[0, 1, 2]], "vocab_size": 3, "n_layers": 1, "steps": 1, "rate": 0.1},
        ),
        "build_corpus": (sim.build_corpus, {"documents": ["a b", "b c"], "vocabulary": 2, "context": 2}),
    }
    return found | _language(file)


def _language(file: Path) -> dict[str, Call]:
    source: dict[str, Any] = {
        "name": "notes",
        "files": (str(file),),
        "fields": ("text",),
        "documents": "line",
    }
    corpora = (sim.CorpusSource(**source),)
    sizes: dict[str, Any] = {"length": 2, "n_sequences": 2, "tokenizer": "", "layout": "pack"}
    return {
        "CorpusSource": (sim.CorpusSource, source | {"sha256": ()}),
        "LanguageTask": (sim.LanguageTask, {"corpora": corpora, "vocab_size": 4} | sizes),
        "make_language_task": (sim.make_language_task, {"corpora": corpora, "vocabulary": 4} | sizes),
        "toy_facts": (sim.toy_facts, {"n": 2, "seed": 1}),
    }


def _configurations() -> dict[str, Call]:
    models = (sim.EmbMLPConfig, sim.OneLayerConfig, sim.TransformerConfig, sim.GPT2Config)
    found: dict[str, Call] = {
        section.__name__: (section, {name: getattr(section(), name) for name in section.model_fields})
        for section in (sim.DataConfig, sim.TrainingConfig, *models)
    }
    for whole in (CONFIG, MEMBER):
        fields = {name: getattr(whole, name) for name in type(whole).model_fields}
        found[type(whole).__name__] = (type(whole), fields)
    return found | {
        "make_run_config": (lambda data: sim.make_run_config(data).members(), {"data": TINY}),
        "make_member_config": (make_member_config, {"data": MEMBER.model_dump(mode="json")}),
        "load_preset": (sim.load_preset, {"name": "cpu"}),
        "preset_names": (sim.preset_names, {}),
        "default_workers": (sim.default_workers, {}),
    }


def _models() -> dict[str, Call]:
    flat, deep = sim.build([MEMBER], 30), sim.build([DEEP], 30)
    transformer: dict[str, Any] = {"parameters": deep, "tokens": TOKENS, "model": MODEL}
    return {
        "model_of": (sim.model_of, {"section": MODEL}),
        "register_model": (sim.register_model, {"section": sim.EmbMLPConfig}),
        "build": (sim.build, {"members": [MEMBER], "vocab_size": 30}),
        "build_dataset": (sim.build_dataset, {"member": MEMBER}),
        "initialise_": (
            sim.initialise_,
            {
                "module": torch.nn.Linear(3, 2),
                "rate": 0.5,
                "convention": "vocab",
                "bias_scale": 1.0,
                "norms": "keep",
                "fan_in": {"weight": 3},
                "keep": ["bias"],
                "seed": 1,
            },
        ),
        "advise": (sim.advise, {"model": torch.nn.Linear(3, 2), "rate": 0.5, "fan_in": {"weight": 3}}),
        "initial_std": (sim.initial_std, {"member": MEMBER, "name": "W1", "vocab_size": 30}),
        "emb_mlp": (sim.emb_mlp, {"parameters": flat, "tokens": TOKENS, "activation": "tanh"}),
        "label_logits": (sim.label_logits, {"parameters": flat, "tokens": TOKENS, "model": MEMBER.model}),
        "attention_pattern": (sim.attention_pattern, transformer),
        "forward_cache": (sim.forward_cache, transformer | {"names": ["0.input"]}),
        "choose_route": (sim.choose_route, {"batch": 4, "widths": (4, 4, 30)}),
        "matmul_route": (_entered(sim.matmul_route), {"route": "default"}),
    }


def _running() -> dict[str, Call]:
    folder: dict[str, Any] = {"resume": False, "overwrite": True, "device": "cpu", "kernels": "torch"}
    cost: dict[str, Any] = {"kernels": "torch"}
    members: dict[str, Any] = {"members": [MEMBER], "paths": [Path("run")]}
    quiet: dict[str, Any] = {"report": lambda progress: None, "workers": 1}
    return {
        "Trainer": (sim.Trainer, {"members": [MEMBER], "device": "cpu"}),
        "RunFolder": (sim.RunFolder, {"path": Path("run")}),
        "Execution": (sim.Execution, {"workers": 1} | folder),
        "Run.open": (sim.Run.open, {"path": finished_run()}),
        "find_runs": (sim.find_runs, {"paths": [finished_run()]}),
        "estimate": (sim.estimate, cost | {"config": CONFIG, "workers": 1, "device": "cpu"}),
        "seconds_per_epoch": (sim.seconds_per_epoch, cost | {"member": MEMBER, "steps": 2}),
        "train": (_in_new_folder(sim.train), {"config": CONFIG, "out": "runs"} | folder | quiet),
        "train_members": (_in_new_folder(sim.train_members), members | folder | quiet),
        "train_together": (
            _in_new_folder(sim.train_together),
            members | folder | {"report": quiet["report"], "stop": lambda: False},
        ),
    }


@functools.cache
def finished_run() -> Path:
    """Return the folder of a tiny run, trained once."""
    return sim.train(CONFIG, tempfile.mkdtemp(prefix="anchorflow-fuzz-"))[0].path


def _entered(manager: Callable[..., Any]) -> Callable[..., Any]:
    def enter(**arguments: Any) -> None:
        with manager(**arguments):
            pass

    return enter


def _in_new_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its relative paths below a folder that is new at each call."""

    def call(**arguments: Any) -> Any:
        with tempfile.TemporaryDirectory(prefix="anchorflow-fuzz-") as folder:
            below = {name: _below(Path(folder), value) for name, value in arguments.items()}
            return function(**below)

    return call


def _below(folder: Path, value: Any) -> Any:
    if isinstance(value, Path) and not value.is_absolute():
        return folder / value
    if isinstance(value, list) and value and all(isinstance(item, Path) for item in value):
        return [_below(folder, item) for item in value]
    return folder / value if isinstance(value, str) and value == "runs" else value
