"""What real models do: initialise, train and record them. PyTorch.

Imports ``theory`` for the task only, and never ``validate``. Names are loaded at first use, so that
reading a configuration does not wait for torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import lazy_names

if TYPE_CHECKING:
    from sim.config import DataConfig, MemberConfig, ModelConfig, RunConfig, TrainingConfig, make_run_config
    from sim.data import Dataset, build_dataset
    from sim.engine import Trainer
    from sim.launch import Cost, default_workers, estimate, train
    from sim.matmul import RouteReport, choose_route, matmul_route
    from sim.models import build, emb_mlp, initial_std
    from sim.run import Run, RunFolder, find_runs
    from sim.session import Progress, train_together

__getattr__ = lazy_names(
    __name__,
    {
        "sim.config": (
            "DataConfig",
            "MemberConfig",
            "ModelConfig",
            "RunConfig",
            "TrainingConfig",
            "make_run_config",
        ),
        "sim.data": ("Dataset", "build_dataset"),
        "sim.launch": ("Cost", "default_workers", "estimate", "train"),
        "sim.matmul": ("RouteReport", "choose_route", "matmul_route"),
        "sim.models": ("build", "emb_mlp", "initial_std"),
        "sim.run": ("Run", "RunFolder", "find_runs"),
        "sim.session": ("Progress", "train_together"),
        "sim.engine": ("Trainer",),
    },
)

__all__ = [
    "Cost",
    "DataConfig",
    "Dataset",
    "MemberConfig",
    "ModelConfig",
    "Progress",
    "RouteReport",
    "Run",
    "RunConfig",
    "RunFolder",
    "Trainer",
    "TrainingConfig",
    "build",
    "build_dataset",
    "choose_route",
    "default_workers",
    "emb_mlp",
    "estimate",
    "find_runs",
    "initial_std",
    "make_run_config",
    "matmul_route",
    "train",
    "train_together",
]
