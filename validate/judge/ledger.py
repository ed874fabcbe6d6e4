"""The ledger of the paper's claims, read from the files in ``claims``; docs/claims.md describes them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from theory import InputError
from theory.checked import checked
from validate.judge.condition import (
    LARGE,
    SMALL,
    Claim,
    Condition,
    Measure,
    Needs,
    Side,
    each,
    each_draw,
    each_seed,
    once,
    together,
)
from validate.judge.measures import measure_of
from validate.judge.settings import BY_LABEL, labels_of
from validate.judge.stats import ANY, COSINE, SHARE, SIZE, SKILL
from validate.judge.steps import STEPS
from validate.judge.times import early_epoch, first_epoch, has_learned, last_epoch
from validate.predict.predictors import (
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)

FOLDER = Path(__file__).with_name("claims")
CORPORA = Path(__file__).with_name("corpora.toml")
"""Claims about a language model on two corpora, with names in braces."""
DRAWS = 3
_RANGES = {"any": ANY, "share": SHARE, "cosine": COSINE, "size": SIZE, "skill": SKILL}
_NAMED: dict[str, Any] = {
    "start": first_epoch,
    "early": early_epoch,
    "end": last_epoch,
    "P^s - u": from_uniform,
    "P^s - mean P": from_marginal,
    "counts": from_counts,
    "frozen flow, late": from_frozen_direction,
    "eq. 14": from_eq14,
}
"""Snapshots and predictors by the names that claims give them."""
_KEYS = ("what", "measure", "args", "at", "variants", "study", "learned", "draws")


@checked
def ledger(numbers: Sequence[int] = ()) -> tuple[Claim, ...]:
    """Return the paper's claims by number, or those that are asked for.

    Parameters
    ----------
    numbers : sequence of int, optional
        The claims to return; all by default.

    Raises
    ------
    InputError
        If there is no claim of a number, or two claims have the same.
    """
    found: dict[int, Claim] = {}
    corpora: dict[str, Any] = {
        "first": "prontoqa",
        "second": "tinystories",
        "small": SMALL,
        "large": LARGE,
        "setting": "GPT-2",
    }
    for path in (*sorted(FOLDER.glob("*.toml")), CORPORA):
        for claim in read_claims(path, **(corpora if path == CORPORA else {})):
            if claim.number in found:
                problem = f"is {found[claim.number].name!r} already"
                raise InputError("claim", claim.number, problem, "take another number")
            found[claim.number] = claim
    for number in numbers:
        if number not in found:
            raise InputError(
                "claim", number, "no such claim", f"choose from {', '.join(map(str, sorted(found)))}"
            )
    return tuple(found[number] for number in dict.fromkeys(numbers or sorted(found)))


def read_claims(path: Path, study: str = "", **names: object) -> tuple[Claim, ...]:
    """Read claims from a file.

    Parameters
    ----------
    path : Path
    study : str, optional
        Whose runs, where a claim names no settings.
    names : optional
        What stands for {name} in the file.
    """
    text = path.read_text(encoding="utf-8")
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", str(value))
    return tuple(_claim(entry, study) for entry in tomllib.loads(text)["claim"])


def _claim(entry: Mapping[str, Any], study: str) -> Claim:
    about = {key: entry[key] for key in ("number", "section", "opposing", "appendix") if key in entry}
    conditions = [
        condition
        for label in labels_of(entry.get("settings", [])) or [""]
        for role in ("endpoint", "shown")
        for data in entry.get(role, [])
        for condition in _conditions({**_defaults(entry), **data}, label, study, role)
    ]
    return Claim(entry["name"], entry["statement"], tuple(conditions), **about)


def _defaults(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a claim says of all of its conditions."""
    return {key: entry[key] for key in ("study", "studies", "variants", "reason", "learned") if key in entry}


def _conditions(
    data: Mapping[str, Any], label: str, study: str, role: Literal["endpoint", "shown"]
) -> Iterator[Condition]:
    """Yield a condition at a setting that it is about, once for each value that it is repeated over."""
    if "settings" in data and label not in labels_of(data["settings"]):
        return
    for value in data.get("over", [None]):
        own = _filled(data, value) if value is not None else dict(data)
        yield _condition(own, label, study, role)


def _filled(value: Any, name: object) -> Any:
    """Return data with a name in place of {}."""
    if isinstance(value, str):
        return (
            name
            if value == "{}"
            else value.replace("{}", f"{name:g}" if isinstance(name, float) else str(name))
        )
    if isinstance(value, Mapping):
        return {key: _filled(inner, name) for key, inner in value.items()}
    return [_filled(inner, name) for inner in value] if isinstance(value, list) else value


def _condition(
    data: Mapping[str, Any], label: str, study: str, role: Literal["endpoint", "shown"]
) -> Condition:
    setup = BY_LABEL.get(label)
    runs = data.get("studies", {}).get(label) or data.get("study") or (setup.study if setup else study)
    first = {key: data[key] for key in _KEYS if key in data} | {"study": runs}
    sides = [_side(first)]
    least, most = _range(data.get("range", "any"))
    if "minus" in data:
        other = data["minus"]
        changed = other if isinstance(other, Mapping) else {"at": other}
        sides.append(_side({**first, **changed}))
        least, most = least - most, most - least
    relation, _, asked = data.get("holds", "").partition(" ")
    margin, threshold = data.get("margin"), math.nan
    if relation == "within":
        margin, _, centre = asked.partition(" of ")
        threshold, margin = float(centre), float(margin)
    elif asked:
        threshold = float(asked)
    step = data.get("step", 0.0)
    return Condition(
        data["what"],
        tuple(sides),
        relation or ">",
        threshold,
        margin,
        (least, most),
        data.get("reason", ""),
        role,
        label,
        STEPS[step](runs) if isinstance(step, str) else step,
        data.get("counted_from"),
    )


def _range(name: str | list[float]) -> tuple[float, float]:
    return _RANGES[name] if isinstance(name, str) else (name[0], name[1])


def _side(data: Mapping[str, Any]) -> Side:
    kind, function = measure_of(data["measure"])
    arguments = {
        key: _NAMED.get(value, value) if isinstance(value, str) else value
        for key, value in data.get("args", {}).items()
    }
    measured = partial(function, **arguments) if arguments else function
    if kind in ("", "draw"):
        found = once(measured) if not kind else each_draw(measured, data.get("draws", DRAWS))
        return Side(data["what"], found)
    at = data.get("at", [])
    rates = tuple(at) if isinstance(at, list) else (at,)
    variants = data.get("variants", [""])
    least = 3 if kind == "seed" and not rates else 1
    needs = Needs(
        data["study"], rates, () if variants == "all" else tuple(variants), least if variants != "all" else 1
    )
    by_kind: dict[str, Any] = {"run": each, "seed": each_seed, "runs": together}
    if kind == "run" and data.get("learned", False):
        measured = _if_learned(measured)
    measure: Measure = by_kind[kind](measured)
    return Side(data["what"], measure, needs)


def _if_learned(function: Any) -> Any:
    """Return a measure of a run that is undefined where the run fitted no training set."""
    return lambda run: function(run) if has_learned(run) else math.nan
