"""What real models do: initialise, train and record them. PyTorch.

Imports ``theory`` for the task only, and never ``validate``. Names are loaded at first use, so that
reading a configuration does not wait for torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import lazy_names

if TYPE_CHECKING:
    from sim.config.model import (
        EmbMLPConfig,
        ModelConfig,
        ModelSection,
        OneLayerConfig,
        TransformerConfig,
        register_model,
    )
    from sim.config.presets import load_preset, preset_names
    from sim.config.run import DataConfig, MemberConfig, RunConfig, TrainingConfig, make_run_config
    from sim.data.corpus import Corpus, build_corpus
    from sim.data.dataset import Dataset, build_dataset
    from sim.data.prontoqa import ProntoQuestion, prontoqa_questions, read_prontoqa
    from sim.data.text import read_documents
    from sim.fast.matmul import RouteReport, choose_route, matmul_route
    from sim.models.associations import AssociationModel, train_associations
    from sim.models.base import Model, TensorSpec, model_of
    from sim.models.emb_mlp import emb_mlp
    from sim.models.initial import build, initial_std
    from sim.models.logits import label_logits
    from sim.models.transformer import attention_pattern, forward_cache
    from sim.runs.folder import RunFolder
    from sim.runs.run import Run, find_runs
    from sim.training.cost import Cost, estimate, seconds_per_epoch
    from sim.training.execution import Execution
    from sim.training.launch import default_workers, train, train_members
    from sim.training.session import Progress, train_together
    from sim.training.trainer import Trainer

__getattr__ = lazy_names(
    __name__,
    {
        "sim.config.run": (
            "DataConfig",
            "MemberConfig",
            "RunConfig",
            "TrainingConfig",
            "make_run_config",
        ),
        "sim.data.corpus": ("Corpus", "build_corpus"),
        "sim.data.dataset": ("Dataset", "build_dataset"),
        "sim.data.prontoqa": ("ProntoQuestion", "prontoqa_questions", "read_prontoqa"),
        "sim.data.text": ("read_documents",),
        "sim.training.cost": ("Cost", "estimate", "seconds_per_epoch"),
        "sim.training.execution": ("Execution",),
        "sim.training.launch": ("default_workers", "train", "train_members"),
        "sim.fast.matmul": ("RouteReport", "choose_route", "matmul_route"),
        "sim.models.initial": ("build", "initial_std"),
        "sim.config.model": (
            "EmbMLPConfig",
            "ModelConfig",
            "ModelSection",
            "OneLayerConfig",
            "TransformerConfig",
            "register_model",
        ),
        "sim.config.presets": ("load_preset", "preset_names"),
        "sim.models.associations": ("AssociationModel", "train_associations"),
        "sim.models.base": ("Model", "TensorSpec", "model_of"),
        "sim.models.emb_mlp": ("emb_mlp",),
        "sim.models.logits": ("label_logits",),
        "sim.runs.run": ("Run", "find_runs"),
        "sim.runs.folder": ("RunFolder",),
        "sim.training.session": ("Progress", "train_together"),
        "sim.training.trainer": ("Trainer",),
        "sim.models.transformer": ("attention_pattern", "forward_cache"),
    },
)

__all__ = [
    "AssociationModel",
    "Corpus",
    "Cost",
    "DataConfig",
    "Dataset",
    "EmbMLPConfig",
    "Execution",
    "MemberConfig",
    "Model",
    "ModelConfig",
    "ModelSection",
    "OneLayerConfig",
    "Progress",
    "ProntoQuestion",
    "RouteReport",
    "Run",
    "RunConfig",
    "RunFolder",
    "TensorSpec",
    "Trainer",
    "TrainingConfig",
    "TransformerConfig",
    "attention_pattern",
    "build",
    "build_corpus",
    "build_dataset",
    "choose_route",
    "default_workers",
    "emb_mlp",
    "estimate",
    "find_runs",
    "forward_cache",
    "initial_std",
    "label_logits",
    "load_preset",
    "make_run_config",
    "matmul_route",
    "model_of",
    "preset_names",
    "prontoqa_questions",
    "read_documents",
    "read_prontoqa",
    "register_model",
    "seconds_per_epoch",
    "train",
    "train_associations",
    "train_members",
    "train_together",
]
