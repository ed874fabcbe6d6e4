"""Named configurations: the TOML files beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.config.model import kind_of
from sim.config.run import SECTIONS
from theory.checked import checked
from theory.errors import unknown_name
from theory.task.toml import load_toml

FOLDER = Path(__file__).resolve().parent


@checked
def load_preset(name: str) -> dict[str, Any]:
    """Return the keys of a configuration that a preset's file holds, to be overridden with ``merge``.

    A file may name another preset, ``preset = "group-2024"``, and say only what differs.
    """
    if name not in preset_names():
        raise unknown_name("preset", name, preset_names())
    data = load_toml(FOLDER / f"{name}.toml")
    base = data.pop("preset", None)
    return data if base is None else merge(load_preset(base), data)


def preset_names() -> list[str]:
    """Return the names of all presets, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the keys of ``over`` in place of its own, tables merged key by key.

    A table that names another ``kind`` (of model) replaces the one in ``base``: their keys differ. Values
    that are replaced lose the sources that ``base`` gave for them.
    """

    def is_kept(name: str) -> bool:
        section, _, key = name.partition(".")
        table = over.get(section)
        return not isinstance(table, Mapping) or (
            key not in table and not _other_kind(base.get(section, {}), table)
        )

    tags = {name: tag for name, tag in base.get("sources", {}).items() if is_kept(name)}
    tags |= over.get("sources", {})
    return _merged(base, over) | ({"sources": tags} if tags else {})


def over_preset(preset: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset with the keys of a file over it: as ``merge``, but the file's task replaces its own.

    A task is one thing: keys that it leaves out have their defaults, not those of another task.
    """
    return merge({key: value for key, value in preset.items() if key != "task" or "task" not in own}, own)


def with_source(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the keys of a configuration with a source for each setting that has none yet."""
    tables = {name: data[name] for name in SECTIONS if isinstance(data.get(name), Mapping)}
    tags = {f"{name}.{key}": source for name, table in tables.items() for key in table}
    return dict(data) | {"sources": tags | dict(data.get("sources", {}))}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping) and not _other_kind(below, value):
            value = _merged(below, value)
        merged[key] = value
    return merged


def _other_kind(below: Any, above: Mapping[str, Any]) -> bool:
    kind = kind_of(below)
    return bool(above.get("kind", kind) != kind)
