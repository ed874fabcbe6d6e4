"""The options of commands that train many runs: how many at a time, and on what."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from theory import InputError
from validate.commands.options import CommandOptions


class EngineOptions(CommandOptions):
    """The options of every command that trains runs."""

    workers: int = 0
    """Runs at a time; 0 means one per core of this machine."""
    engine: Literal["local", "dask", "slurm"] = "local"
    """What runs the training: this program, Dask distributed, or SLURM through submitit."""
    scheduler: str | None = None
    """The address of a running Dask cluster, as tcp://host:8786; implies --engine dask."""
    slurm: dict[str, str] = Field(
        {}, description="Submitit's parameters for SLURM, as: timeout_min 600 slurm_partition cpu."
    )

    def execution(self) -> dict[str, Any]:
        """Return the fields of an ``Execution`` that the options give."""
        from validate.training import process_count

        given = self.model_fields_set
        engine = "dask" if self.scheduler and "engine" not in given else self.engine
        for name, wanted in (("scheduler", "dask"), ("slurm", "slurm")):
            if name in given and engine != wanted:
                problem = f"is for the engine {wanted}"
                raise InputError(name, getattr(self, name), problem, f"add --engine {wanted}")
        slurm = {name: int(text) if text.isdecimal() else text for name, text in self.slurm.items()}
        engine_options = {"scheduler": self.scheduler} if self.scheduler else slurm
        return {"workers": process_count(self.workers), "engine": engine, "engine_options": engine_options}


class TrainingOptions(EngineOptions):
    """The options of every command that trains into run folders of the user's."""

    resume: bool = False
    """Continue runs that exist, skip those that are complete."""
    overwrite: bool = False
    """Replace runs that exist."""

    def execution(self) -> dict[str, Any]:
        """Return the fields of an ``Execution`` that the options give."""
        return super().execution() | {"resume": self.resume, "overwrite": self.overwrite}


class StudyOptions(EngineOptions):
    """The options of every command that shows studies and trains what they lack."""

    run: bool = False
    """Train the missing runs, after saying how long it will take."""
    root: Path = Path("runs/studies")
    """The folder of the run folders."""
    kept: Path | None = None
    """The folder of the kept observations; by default the one in the package."""
