"""Runs that two studies share: one configuration and seed, trained again or further."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from sim.config.run import MemberConfig
from validate.studies.likeness import LOOKS
from validate.studies.study import Study, load_study, members_of, study_names


def identity(config: MemberConfig) -> str:
    """Return what decides a run: all but how it was looked at and, at a constant rate, its length."""
    data = config.model_dump(mode="json")
    looks = {name.removeprefix("training.") for name in LOOKS} | {"patience"}
    if config.training.schedule == "constant":
        looks.add("epochs")
    data["training"] = {key: value for key, value in data["training"].items() if key not in looks}
    return json.dumps(data, sort_keys=True)


def shared_runs(studies: Iterable[Study] | None = None) -> list[tuple[tuple[str, ...], int]]:
    """Return which studies (or variants, "study/variant") share runs, and how many.

    They start from the same numbers and see the same batches: they are one run, to the rounding of the
    engine, and no independent evidence.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for study in studies if studies is not None else map(load_study, study_names()):
        for member in members_of(study):
            name = f"{study.name}/{member.variant}" if member.variant else study.name
            named[identity(member.config)].add(name)
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for names in named.values():
        counts[tuple(sorted(names))] += len(names) > 1
    return sorted((names, n) for names, n in counts.items() if n)
