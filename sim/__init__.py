"""What real models do: initialise, train and record them. PyTorch.

Imports ``theory`` for the task only, and never ``validate``.
"""

from sim.config import DataConfig, MemberConfig, ModelConfig, RunConfig, TrainingConfig, make_run_config
from sim.data import Dataset, build_dataset
from sim.launch import Estimate, default_workers, estimate, train
from sim.matmul import RouteReport, choose_route, matmul_route
from sim.models import build, emb_mlp, initial_std
from sim.run import Run, RunFolder, find_runs
from sim.session import Progress, train_together
from sim.train import Trainer

__all__ = [
    "DataConfig",
    "Dataset",
    "Estimate",
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
