"""How runs are trained, apart from what they are: where, with which kernels, in how many processes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from sim.config.run import Kernels
from theory import InputError
from theory.edge.checked import Size, checked, checked_fields
from theory.edge.checks import Between


@checked_fields
@dataclass(frozen=True)
class Execution:
    """How runs are trained; nothing here changes what a run is.

    Attributes
    ----------
    device : str
        "cpu", or a GPU by torch's name, such as "cuda": there the members train together in this process,
        and ``workers`` has no effect.
    kernels : str
        "torch", or "compiled" to compile the model before training, which needs a C++ compiler; "auto"
        compiles for long runs where it can (``sim.training.kernels``), and a resumed run keeps its kernels.
    workers : int
        Processes to spread the members over. More than one needs a script with an
        ``if __name__ == "__main__"`` guard, as always in Python.
    resume, overwrite : bool
        Continue or replace runs that exist; without either they are refused before any work starts.
    shared : bool
        Whether other processes may be training the same runs: a run that another one is writing is not
        refused but waited for, and continued if that process dies. Needs ``resume``.
    engine : str
        What runs the processes, one of ``sim.training.engines.ENGINES``: "local" for this machine alone,
        "dask" for Dask distributed, "slurm" for SLURM through submitit.
    engine_options : mapping
        Settings of the engine itself: the ``scheduler`` of a Dask cluster, submitit's parameters for SLURM.
    """

    device: str = "cpu"
    kernels: Kernels = "auto"
    workers: Size = 1
    resume: bool = False
    overwrite: bool = False
    shared: bool = False
    engine: str = "local"
    engine_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.resume and self.overwrite:
            raise InputError("resume, overwrite", True, "both given", "give one of them")
        if self.shared and not self.resume:
            raise InputError("shared", True, "continues runs that others have begun", "set resume too")

    @property
    def is_remote(self) -> bool:
        """Whether the engine may train on other machines, of which this one knows nothing."""
        return self.engine != "local" and (self.engine != "dask" or "scheduler" in self.engine_options)

    def in_worker(self) -> Execution:
        """Return the execution with which one worker trains a job that an engine has sent it."""
        return replace(self, engine="local", workers=1, engine_options={})


default_report: ContextVar[Callable[[int], AbstractContextManager[Callable[[Any], None]]]] = ContextVar(
    "default_report", default=lambda epochs: nullcontext(lambda progress: None)
)
"""Makes the ``report`` of a training of so many epochs that was given none; ``show_progress`` sets it."""


@checked
def process_count(workers: Annotated[int, Between(0)] = 0) -> int:
    """Return how many processes to use: 0 asks for one for each core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return workers or cores


def check_device(device: str, *, here: bool = True) -> None:
    """Refuse a device that is neither the processor nor a GPU, or that cannot be used ``here``."""
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", device):
        raise InputError("device", device, "cannot be used (no such device)", "use cpu or cuda")
    if here and device != "cpu":
        import torch  # Options are read without it.

        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InputError("device", device, f"cannot be used ({reason})", "use cpu") from None
