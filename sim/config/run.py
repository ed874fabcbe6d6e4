"""What a run is: a configuration that is checked before any work starts and saved with the run.

Every default carries its source: ``paper`` (printed there), ``sibling`` (papers of the same group and their
public code) or ``chosen`` (by us, and therefore to be doubted).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer, field_validator, model_validator

from sim.config.language import LanguageTask
from sim.config.model import EmbMLPConfig, ModelConfig
from sim.config.section import Count, Section, Several, tagged
from sim.config.task_files import any_task_table, as_any_task, as_task
from sim.config.training import HALF, HELD_OUT, Training
from sim.config.training import TrainingConfig as TrainingConfig
from theory import InputError, Task
from theory.edge.errors import unknown_key

MOST_RUNS = 20_000
"""The most runs that one configuration stands for."""
LARGEST_SEED = 2**63 - 1
Rate = Annotated[float, Field(ge=0, le=5)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Source = Literal["paper", "sibling", "chosen", "user"]
SECTIONS = ("model", "data", "training")
"""The tables of a configuration."""
TaskTable = dict[str, Any]
if TYPE_CHECKING:
    TaskSource = str | Path | TaskTable | Task | LanguageTask
else:
    TaskSource = Annotated[str | TaskTable, PlainSerializer(lambda task: any_task_table(as_any_task(task)))]
"""The task as a configuration accepts it (for type checkers), and as it then holds and saves it."""
Kernels = Literal["auto", "torch", "compiled"]
"""Which kernels training uses (``sim.training.kernels``); here, so that options do not load torch."""


class DataConfig(Section):
    """Which sequences the model sees."""

    gone: ClassVar[Mapping[str, Any]] = {"fresh_noise": False, "table_seed": -1}

    source: Literal["enumerate", "draw"] = tagged("paper", "enumerate")
    """Every sequence of the task once, or a drawn sample."""
    n_sequences: Count = tagged("paper", 200_000)
    """Size of a drawn sample, held-out combinations included; ignored when enumerating."""
    shuffle_labels: bool = tagged("chosen", False)
    """Permute the labels within each anchor combination: anchors keep their P^s, and no rule is left."""


class Settings(Section):
    """All of a configuration but its task and members.

    Two are equal if they train the same, wherever their values come from.
    """

    model: ModelConfig = EmbMLPConfig()
    data: DataConfig = DataConfig()
    training: Training = TrainingConfig()
    sources: dict[str, Source] = Field(default={}, exclude=True)
    """Where values that a preset or a study sets come from, by names such as "model.norm"."""

    @model_validator(mode="after")
    def _known_sources(self) -> Settings:
        known = [f"{name}.{key}" for name in SECTIONS for key in type(getattr(self, name)).model_fields]
        for name in self.sources:
            if name not in known:
                raise unknown_key("sources", name, known)
        return self

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in vars(self) if name != "sources")


class RunConfig(Settings):
    """Several runs that differ in γ and seed, as ``anchorflow train`` reads them."""

    init_rates: Several[Rate] = tagged("paper", (0.8,), min_length=1, max_length=10_000)
    """γ: every matrix starts with standard deviation fan_in^-γ."""
    seeds: Several[Seed] = tagged("chosen", (0,), min_length=1, max_length=10_000)
    """One run for each seed and γ."""
    task: TaskSource = tagged("paper", "emb-mlp")
    """A preset ("emb-mlp", "paper"), a task's TOML file, or a table as such a file holds it; a table with
    corpora is a language model's. Saved as a table, since the file may change or be missing elsewhere."""

    @field_validator("task", mode="before")
    @classmethod
    def _as_table(cls, value: object) -> object:
        return any_task_table(value) if isinstance(value, Task | LanguageTask) else value

    def build_task(self) -> Task:
        """Return the task, or raise InputError."""
        return as_task(cast("str | TaskTable", self.task))

    def members(self) -> list[MemberConfig]:
        """Return one configuration for every γ and seed, γ varying slowest."""
        for name, values in (("init_rates", self.init_rates), ("seeds", self.seeds)):
            if len(set(values)) < len(values):
                raise InputError(name, list(values), "a value is listed twice", "list each once")
        if (n := len(self.init_rates) * len(self.seeds)) > MOST_RUNS:
            raise InputError("init_rates, seeds", f"{n} runs", "too many", f"give at most {MOST_RUNS}")
        task = as_any_task(cast("str | TaskTable", self.task))
        shared = {name: getattr(self, name) for name in Settings.model_fields}
        return [
            MemberConfig(**shared, task=task, init_rate=rate, seed=seed)
            for rate in self.init_rates
            for seed in self.seeds
        ]


class MemberConfig(Settings):
    """One run: one γ, one seed. Saved as the run folder's config.json."""

    task: Annotated[
        InstanceOf[Task] | InstanceOf[LanguageTask],
        BeforeValidator(as_any_task),
        PlainSerializer(any_task_table),
    ]
    """Saved as a table; a preset's name, a file or a table is read once."""
    init_rate: Rate
    seed: Seed

    @model_validator(mode="after")
    def _reads_its_task(self) -> MemberConfig:
        if not isinstance(self.task, LanguageTask):
            return self
        if not self.model.reads_text:
            problem = "does not train on text"
            raise InputError("model.kind", self.model.kind, problem, 'set model.kind = "gpt2"')
        if self.data != DataConfig():
            raise InputError("data", "changed", "a language model has no such settings", "leave it out")
        if (start := self.model.initial_embedding) != "random":
            problem = "needs a task with label distributions"
            raise InputError("model.initial_embedding", start, problem, 'set it to "random"')
        return self

    def build_task(self) -> Task:
        """Return the task, or refuse that of a language model, which has no anchors and keys."""
        if isinstance(self.task, LanguageTask):
            names = ", ".join(self.task.names)
            remedy = "name a run on a task, or use: anchorflow corpus compare"
            raise InputError("task", names, "a language model's, without anchors and keys", remedy)
        return self.task

    def has_ended(self, metrics: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the run, with these evaluations, takes no further step.

        With ``patience`` it ends at the first evaluation after a whole epoch at which Σ learning rate is
        2^patience times, up to rounding, its value when the latest training set was fitted. Before the first
        set is fitted, and for sets that the initial weights fit, patience does not count.
        """
        if not metrics or metrics[-1]["epoch"] % 1:
            return False
        if metrics[-1]["epoch"] == self.training.epochs:
            return True
        fitted = [
            next((line["sum_learning_rate"] for line in metrics if line["accuracy"][part] >= HALF), 0.0)
            for part in metrics[0]["accuracy"]
            if self.trains_on(part)
        ]
        last, patience = max(fitted, default=0.0), self.training.patience
        needed = (1 - 1e-9) * 2**patience * last
        return patience > 0 and last > 0 and metrics[-1]["sum_learning_rate"] >= needed

    def trains_on(self, part: str) -> bool:
        """Return whether an evaluated data set is trained on, which no held-out one is."""
        if isinstance(self.task, LanguageTask):
            return True
        return part not in {HELD_OUT, *(each.name for mapping in self.task.mappings for each in mapping.sets)}

    @property
    def name(self) -> str:
        """The name of the run's folder: γ to six digits, or in full if it has more."""
        short = f"{self.init_rate:zg}"
        rate = short if float(short) == self.init_rate else repr(self.init_rate)
        return f"gamma{rate}_seed{self.seed}"


def make_run_config(data: dict[str, Any]) -> RunConfig:
    """Build a run configuration from plain data, as in a TOML file.

    Parameters
    ----------
    data : dict
        The keys of ``RunConfig``: ``init_rates``, ``seeds``, ``task``, and the sections ``model``, ``data``
        and ``training`` as dictionaries; the rest have their defaults. Unknown keys are refused by name.
    """
    return RunConfig(**_with_text_keys(data))


def make_member_config(data: dict[str, Any]) -> MemberConfig:
    """Build one run's configuration from plain data, as its folder holds it."""
    return MemberConfig(**_with_text_keys(data))


def _with_text_keys(data: object, name: str = "") -> dict[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        problem, remedy = "not a table of settings", "give a dictionary with names"
        raise InputError(name or "configuration", data, problem, remedy)
    for key, value in data.items():
        if isinstance(value, dict):
            _with_text_keys(value, f"{name}.{key}".removeprefix("."))
    return data


def sources(config: Settings, recorded: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return where each setting comes from: paper, sibling, chosen, or ``user`` if it was changed.

    A preset names the sources of its settings (``Settings.sources``); a run's folder has them ``recorded``.
    """
    tags: dict[str, str] = {}
    for name in SECTIONS:
        section = getattr(config, name)
        for key, field in type(section).model_fields.items():
            extra = field.json_schema_extra
            tag = str(extra["source"]) if isinstance(extra, dict) else "chosen"
            tags[f"{name}.{key}"] = tag if getattr(section, key) == field.default else "user"
    return tags | config.sources | dict(recorded or {})


def steps_in_epoch(n_train: int, batch_size: int | str) -> int:
    """Return the number of steps in an epoch; the last may be a smaller batch."""
    return 1 if batch_size == "full" else math.ceil(n_train / int(batch_size))
