"""What real models do: initialise, train and record them. PyTorch.

Imports ``theory`` for the task only, and never ``validate``. Names are loaded at first use, so that
reading a configuration does not wait for torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import lazy_names

if TYPE_CHECKING:
    from sim.config import DataConfig, MemberConfig, RunConfig, TrainingConfig, make_run_config
    from sim.cost import Cost, estimate, seconds_per_epoch
    from sim.data import Dataset, build_dataset
    from sim.engine import Trainer
    from sim.initial import build, initial_std
    from sim.launch import default_workers, train, train_members
    from sim.matmul import RouteReport, choose_route, matmul_route
    from sim.model_config import EmbMLPConfig, ModelConfig, OneLayerConfig, TransformerConfig
    from sim.models import emb_mlp, label_logits
    from sim.presets import load_preset, preset_names
    from sim.run import Run, find_runs
    from sim.run_folder import RunFolder
    from sim.session import Progress, train_together
    from sim.transformer import attention_pattern, forward_cache

__getattr__ = lazy_names(
    __name__,
    {
        "sim.config": (
            "DataConfig",
            "MemberConfig",
            "RunConfig",
            "TrainingConfig",
            "make_run_config",
        ),
        "sim.data": ("Dataset", "build_dataset"),
        "sim.cost": ("Cost", "estimate", "seconds_per_epoch"),
        "sim.launch": ("default_workers", "train", "train_members"),
        "sim.matmul": ("RouteReport", "choose_route", "matmul_route"),
        "sim.initial": ("build", "initial_std"),
        "sim.model_config": ("EmbMLPConfig", "ModelConfig", "OneLayerConfig", "TransformerConfig"),
        "sim.presets": ("load_preset", "preset_names"),
        "sim.models": ("emb_mlp", "label_logits"),
        "sim.run": ("Run", "find_runs"),
        "sim.run_folder": ("RunFolder",),
        "sim.session": ("Progress", "train_together"),
        "sim.engine": ("Trainer",),
        "sim.transformer": ("attention_pattern", "forward_cache"),
    },
)

__all__ = [
    "Cost",
    "DataConfig",
    "Dataset",
    "EmbMLPConfig",
    "MemberConfig",
    "ModelConfig",
    "OneLayerConfig",
    "Progress",
    "RouteReport",
    "Run",
    "RunConfig",
    "RunFolder",
    "Trainer",
    "TrainingConfig",
    "TransformerConfig",
    "attention_pattern",
    "build",
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
    "preset_names",
    "seconds_per_epoch",
    "train",
    "train_members",
    "train_together",
]
