"""Claims read from TOML: the paper's ledger in ``claims``, and lists of conditions on runs that are given.

A claim is data: a statement, the measures of its endpoints, thresholds with reasons, and the runs they need.
docs/claims.md describes the files.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, get_args

from theory import InputError
from theory.edge.checked import checked
from theory.edge.errors import unknown_key, unknown_name
from validate.judge.condition import (
    BY_LABEL,
    GROUPS,
    LARGE,
    SETTINGS,
    SETTINGS_DATA,
    SMALL,
    Claim,
    Condition,
    Needs,
    Relation,
    Role,
    Side,
    by_seed,
)
from validate.judge.measures import measure_of
from validate.judge.stats import ANY, COSINE, SHARE, SIZE, SKILL
from validate.observe.times import early_epoch, first_epoch, has_learned, last_epoch
from validate.predict.predictors import PREDICTORS, from_counts

FOLDER = Path(__file__).with_name("claims")
CORPORA = Path(__file__).with_name("corpora.toml")
"""Claims about a language model on two corpora, with names in braces."""
_RANGES = {"any": ANY, "share": SHARE, "cosine": COSINE, "size": SIZE, "skill": SKILL}
_NAMED: dict[str, Any] = {
    "start": first_epoch,
    "early": early_epoch,
    "end": last_epoch,
    "counts": from_counts,
    **{predictor.name: predictor.cosines for predictor in PREDICTORS},
}
"""Snapshots and predictors by the names that claims give them."""
_OF_A_SIDE = ("what", "measure", "args", "at", "variants", "study", "learned", "draws")
_OF_ALL = ("study", "studies", "variants", "reason", "learned")
"""The keys that a claim may give for all its conditions."""
_OF_A_CLAIM = tuple(field.name for field in fields(Claim) if field.name != "conditions")
_OF_A_CONDITION = ("minus", "holds", "margin", "range", "step", "counted_from", "over", "settings")


@checked
def ledger(numbers: Sequence[int] = ()) -> tuple[Claim, ...]:
    """Return the paper's claims: all, or those with the given numbers.

    Parameters
    ----------
    numbers : sequence of int, optional
        The claims to return; all by default.

    Raises
    ------
    InputError
        If no claim has one of the numbers, or two claims have the same number.
    """
    claims = [claim for path in sorted(FOLDER.glob("*.toml")) for claim in read_claims(path)]
    names = {"first": "prontoqa", "second": "tinystories", "setting": "language"}
    claims += read_claims(CORPORA, **names, small=SMALL, large=LARGE)
    found: dict[int, Claim] = {}
    for claim in claims:
        if claim.number in found:
            problem = f"already names {found[claim.number].name!r}"
            raise InputError("claim", claim.number, problem, "take another number")
        found[claim.number] = claim
    for number in numbers:
        if number not in found:
            known = ", ".join(map(str, sorted(found)))
            raise InputError("claim", number, "no such claim", f"choose from {known}")
    return tuple(found[number] for number in dict.fromkeys(numbers or sorted(found)))


def read_claims(path: Path, study: str = "", **names: object) -> tuple[Claim, ...]:
    """Read claims from a file; ``names`` replace {name} in it, ``study`` is for claims without a setting."""
    text = path.read_text(encoding="utf-8")
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", str(value))
    return tuple(_claim(entry, study) for entry in tomllib.loads(text)["claim"])


def _claim(entry: Mapping[str, Any], study: str) -> Claim:
    """Read a claim: at each of its settings the endpoints, then what is shown."""
    claim = f"claim {entry.get('number', entry.get('name', ''))}"
    of_claim = (*_OF_A_CLAIM, *_OF_ALL, "settings", "endpoint", "shown")
    _check_keys(claim, entry, of_claim, ("name", "statement"))
    of_all = {"study": study} | {key: entry[key] for key in _OF_ALL if key in entry}
    roles: tuple[Role, Role] = ("endpoint", "shown")
    for role in roles:
        for data in entry.get(role, []):
            of_condition = _OF_A_CONDITION + _OF_A_SIDE + _OF_ALL
            _check_keys(f"{claim}, {role}", data, of_condition, ("what", "measure"))
    conditions = [
        _condition(of_all | own, label, role)
        for label in _labels_of(entry.get("settings", [])) or [""]
        for role in roles
        for data in entry.get(role, [])
        if "settings" not in data or label in _labels_of(data["settings"])
        for own in _repeated(data)
    ]
    about = {key: entry[key] for key in _OF_A_CLAIM if key in entry}
    return Claim(conditions=tuple(conditions), **about)


def _check_keys(where: str, data: Mapping[str, Any], known: Sequence[str], needed: Sequence[str]) -> None:
    for key in data:
        if key not in known:
            raise unknown_key(where, key, set(known))
    for key in needed:
        if key not in data:
            raise InputError(where, key, "a key that is missing", f"add {key} = ...")


def _repeated(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a condition's data once for each value of "over", which replaces {}."""

    def filled(part: Any, value: Any) -> Any:
        if part == "{}":
            return value
        if isinstance(part, str):
            return part.replace("{}", f"{value:g}" if isinstance(value, float) else str(value))
        if isinstance(part, Mapping):
            return {key: filled(inner, value) for key, inner in part.items()}
        return [filled(inner, value) for inner in part] if isinstance(part, list) else part

    if "over" not in data:
        yield dict(data)
    for value in data.get("over", ()):
        yield filled(data, value)


def _condition(data: Mapping[str, Any], label: str, role: Role) -> Condition:
    own = BY_LABEL[label].study if label else ""
    study = data.get("studies", {}).get(label) or data["study"] or own
    first = {key: data[key] for key in _OF_A_SIDE if key in data} | {"study": study}
    if isinstance(of_setting := first.get("variants"), dict):
        first["variants"] = of_setting[label]
    sides = [_side(first)]
    given = data.get("range", "any")
    least, most = _known("range", given, _RANGES) if isinstance(given, str) else given
    if "minus" in data:
        other = data["minus"]
        sides.append(_side(first | (other if isinstance(other, dict) else {"at": other})))
        least, most = least - most, most - least
    step = data.get("step", 0.0)
    if isinstance(step, str):  # How far apart neighbouring values of a measure are at a study's size.
        counts, sizes = _known("step", step, SETTINGS_DATA["steps"]), SETTINGS_DATA["studies"]
        kinds = (kind for kind, studies in sizes.items() if study in studies and kind in counts)
        step = 1 / float(counts[next(kinds, "all")])
    about = {key: data[key] for key in ("margin", "reason", "counted_from") if key in data}
    about |= _threshold(data.get("holds", "> nan")) | {"within": (least, most), "step": step}
    return Condition(data["what"], tuple(sides), role=role, setting=label, **about)


def _known(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise unknown_name(what, name, known)
    return known[name]


def _threshold(text: str) -> dict[str, Any]:
    """Return the relation, threshold and margin that ">= 0.5" or "within 0.1 of 0" stands for."""
    relation, _, numbers = text.partition(" ")
    try:
        *margin, threshold = map(float, numbers.split(" of "))
    except ValueError:
        relation, margin, threshold = "", [], math.nan
    if relation not in get_args(Relation) or len(margin) != (relation == "within"):
        raise InputError("holds", text, "not a threshold", 'write it as ">= 0.5" or "within 0.1 of 0"')
    found = {"relation": relation, "threshold": threshold}
    return found | {"margin": margin[0]} if margin else found


def _side(data: Mapping[str, Any]) -> Side:
    of, function = measure_of(data["measure"])
    named = {k: _NAMED.get(v, v) if isinstance(v, str) else v for k, v in data.get("args", {}).items()}
    measured = partial(function, **named)
    if of in ("", "draw"):
        return Side(data["what"], by_seed(measured, of, data.get("draws", 3)))
    if not data["study"]:
        problem = "needs runs, but neither a study nor a setting is given"
        raise InputError("measure", data["measure"], problem, 'add settings = ["MLP"] or study = "emb-mlp"')
    at, variants = data.get("at", []), data.get("variants", [""])
    rates = tuple(at) if isinstance(at, list) else (at,)
    every = variants == "all"
    least = 3 if of == "seed" and not rates and not every else 1
    needs = Needs(data["study"], rates, () if every else tuple(variants), least)
    if of == "run" and data.get("learned", False):
        # Undefined where the run fitted no training set.
        taken = by_seed(lambda run: measured(run) if has_learned(run) else math.nan, of)
        return Side(data["what"], taken, needs)
    return Side(data["what"], by_seed(measured, of), needs)


def _labels_of(names: Sequence[str]) -> list[str]:
    """Return the labels of some settings or groups of settings, the likeliest first."""
    for name in filter(None, names):  # Claims about a user's corpora have no setting.
        if name not in GROUPS and name not in BY_LABEL:
            raise unknown_name("setting", name, (*GROUPS, *BY_LABEL))
    wanted = {label for name in names for label in GROUPS.get(name, (name,))}
    return [setup.label for setup in SETTINGS if setup.label in wanted]
