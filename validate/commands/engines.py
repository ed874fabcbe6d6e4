"""The options of commands that train many runs: how many at a time, and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from theory import InputError
from validate.commands.options import CommandOptions

if TYPE_CHECKING:
    from sim import Execution


class EngineOptions(CommandOptions):
    """The options of every command that trains runs."""

    workers: int = 0
    """Runs at a time; 0 means one per core of this machine."""
    engine: Literal["local", "dask", "slurm"] = "local"
    """What runs the training: this program, Dask distributed, or SLURM through submitit."""
    scheduler: str | None = None
    """The address of a running Dask cluster, as tcp://host:8786; implies --engine dask."""
    slurm: dict[str, str] = Field(
        default={}, description="Submitit's parameters for SLURM, as: timeout_min 600 slurm_partition cpu."
    )

    def execution(self, **fields: Any) -> Execution:
        """Return how the runs are trained: as the options of this command say, and by other fields."""
        from sim.training.execution import Execution
        from validate.training import process_count

        engine = "dask" if self.scheduler and "engine" not in self.model_fields_set else self.engine
        for name, wanted in (("scheduler", "dask"), ("slurm", "slurm")):
            if name in self.model_fields_set and engine != wanted:
                problem = f"is for the engine {wanted}"
                raise InputError(name, getattr(self, name), problem, f"add --engine {wanted}")
        slurm = {name: int(text) if text.isdecimal() else text for name, text in self.slurm.items()}
        names = ("device", "kernels", "resume", "overwrite")
        own = {name: getattr(self, name) for name in names if name in type(self).model_fields}
        if own.get("resume") and own.get("overwrite"):
            raise InputError("resume, overwrite", True, "both asked for", "ask for one")
        return Execution(
            workers=process_count(self.workers),
            engine=engine,
            engine_options={"scheduler": self.scheduler} if self.scheduler else slurm,
            **own,
            **fields,
        )


class TrainingOptions(EngineOptions):
    """The options of every command that trains into run folders of the user's."""

    resume: bool = False
    """Continue runs that exist, skip those that are complete."""
    overwrite: bool = False
    """Replace runs that exist."""
