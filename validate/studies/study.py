"""Named sets of runs, and which runs count as those of a study."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from sim.config.presets import load_preset, over_preset, with_source
from sim.config.run import MemberConfig, RunConfig, make_run_config
from theory import InputError
from theory.edge.checked import checked
from theory.edge.display import Shown
from theory.edge.errors import in_file, unknown_name
from theory.edge.reading import as_path, load_toml
from theory.task.toml import TASK_KEYS
from validate.observe import RUNS
from validate.studies.axes import variants_of

FOLDER = Path(__file__).resolve().parent
_OWN_KEYS = ("purpose", "preset", "keep", "variants", "axes", "combine")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*(_[A-Za-z0-9.+-]+)*")
"""Without "__", which ends the variant in the name of a kept file."""
LOOKS = frozenset({
    "training.evaluate_every", "training.evaluations_per_epoch", "training.evaluation_size",
    "training.snapshot_epochs", "training.snapshot_tensors", "training.checkpoint_every",
})  # fmt: skip
"""Settings of how often, and how closely, a run is observed: they change no weight."""
AMOUNTS = frozenset({
    "data.n_sequences", "model.d_f", "model.d_k", "model.d_m", "model.n_heads", "training.batch_size",
    "training.dtype", "training.epochs", "training.learning_rate", "training.patience",
    "training.weight_decay",
})  # fmt: skip
"""Settings of how much is trained and how fast: runs may differ in them from the study they stand for."""


class UnknownStudyError(InputError):
    """There is no study of that name."""


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """A named set of runs.

    Attributes
    ----------
    name : str
    purpose : str
        One sentence for the list of studies.
    configs : mapping of str or None to RunConfig
        A configuration for each variant; the key None where there are no variants.
    keep : tuple of str, or mapping of float to tuple of str
        Patterns of the observables that are kept, ``"singular/*"`` for instance, or such patterns by γ.
    """

    name: str
    purpose: str
    configs: Mapping[str | None, RunConfig]
    keep: tuple[str, ...] | Mapping[float, tuple[str, ...]] = ("*",)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the variants; none if the study is a single configuration."""
        return tuple(name for name in self.configs if name is not None)

    def kept_at(self, init_rate: float) -> tuple[str, ...]:
        """Return the patterns of the observables that are kept of runs at one γ; all where γ is not named."""
        return self.keep.get(init_rate, ("*",)) if isinstance(self.keep, Mapping) else self.keep

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [
            [
                variant or "–",
                config.model.kind,
                ", ".join(f"{rate:g}" for rate in config.init_rates),
                ", ".join(map(str, config.seeds)),
                str(config.training.epochs),
            ]
            for variant, config in self.configs.items()
        ]
        n = sum(len(config.members()) for config in self.configs.values())
        title = f"{self.name}: {self.purpose} ({n} run{'s' * (n != 1)})"
        return title, ["variant", "model", "γ", "seeds", "epochs"], rows


class StudyMember(NamedTuple):
    """One run of a study: its variant, its configuration, and its folder."""

    variant: str | None
    config: MemberConfig
    path: Path


@checked
def load_study(source: str | Path) -> Study:
    """Return a study, by its name or from a TOML file.

    Parameters
    ----------
    source : str or Path
        The name of one of ``study_names()``, or a path that ends in ".toml".

    Raises
    ------
    UnknownStudyError
        If there is no such study.
    InputError
        If its file is invalid, or has the name of a built-in study, for which it would be mistaken.
    """
    file = as_path("source", source)
    if file.suffix != ".toml":
        if str(source) not in study_names():
            raise unknown_name("study", str(source), study_names(), kind=UnknownStudyError)
        file = FOLDER / f"{source}.toml"
    elif file.stem in study_names() and file.resolve() != FOLDER / file.name:
        raise InputError("study", str(source), "has the name of a built-in study", "rename the file")
    origin, data = "chosen" if file.stem in study_names() else None, load_toml(file)
    if data and {*data} <= {*TASK_KEYS}:
        remedy = f"train it: anchorflow train {quote(str(file))}"
        raise InputError("file", str(file), "a task, not a study", remedy)
    with in_file(file):
        return _study(_checked_name("study", file.stem), data, origin)


def study_names() -> list[str]:
    """Return the names of all studies, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def members_of(study: Study, root: Path = RUNS) -> list[StudyMember]:
    """Return every run of a study: by variant, then γ, then seed."""
    return [
        StudyMember(variant, member, root / study.name / (variant or "") / member.name)
        for variant, config in study.configs.items()
        for member in config.members()
    ]


def _study(name: str, data: dict[str, Any], origin: str | None) -> Study:
    """Return the study in a file; with ``origin``, its settings are marked as coming from there."""
    known = (*_OWN_KEYS, *RunConfig.model_fields)
    for key in data:
        if key not in known:
            raise unknown_name("key", key, known)
    purpose = data.get("purpose")
    if not isinstance(purpose, str):
        raise InputError("purpose", purpose, "not a text", 'write purpose = "..." into its file')
    own = {key: value for key, value in data.items() if key not in _OWN_KEYS}
    own = with_source(own, origin) if origin else own
    base = over_preset(load_preset(data["preset"]) if "preset" in data else {}, own)
    configs: dict[str | None, RunConfig] = {}
    for variant, over in variants_of(data, base).items():
        over = with_source(over, origin) if origin else over
        try:
            configs[_checked_name("variant", variant)] = make_run_config(over_preset(base, over))
        except InputError as error:
            argument = f"study {name}, variant {variant}: {error.argument}"
            raise InputError(argument, error.value, error.problem, error.remedy) from None
    configs = configs or {None: make_run_config(base)}
    rates = {rate for config in configs.values() for rate in config.init_rates}
    return Study(name, purpose, configs, _keep(data.get("keep", ["*"]), rates))


def _keep(given: Any, rates: Collection[float]) -> tuple[str, ...] | dict[float, tuple[str, ...]]:
    by_text = {f"{rate:g}": rate for rate in rates}
    for text, patterns in (given if isinstance(given, dict) else {"": given}).items():
        if isinstance(given, dict) and text not in by_text:
            raise unknown_name("γ", text, sorted(by_text), "keep")
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise InputError("keep", patterns, "not a list of observables", 'write e.g. ["singular/*"]')
    if isinstance(given, dict):
        return {by_text[text]: tuple(patterns) for text, patterns in given.items()}
    return tuple(given)


def _checked_name(what: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(what, name, "not a plain name", "use letters, digits, '.', '+', '-' and single '_'")
    return name


def differing_keys(own: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return the keys in which two configurations differ."""
    return sorted(k for k in own.keys() | wanted.keys() if own.get(k) != wanted.get(k))


def keys_of(config: MemberConfig) -> dict[str, str]:
    """Return the settings that distinguish runs, except γ, seed and ``LOOKS``: setting → value as JSON."""
    data = config.model_dump(mode="json", exclude={"seed", "init_rate"})
    flat = {"task": json.dumps(data.pop("task"), sort_keys=True)}
    for section, values in data.items():
        flat |= {f"{section}.{key}": json.dumps(value, sort_keys=True) for key, value in values.items()}
    if data["data"]["source"] == "enumerate":
        del flat["data.n_sequences"]
    return {key: value for key, value in flat.items() if key not in LOOKS}
