"""Tasks by name, some from other people's papers as far as key and anchors express them; and files of tasks.

A file describes a task alone, or is a configuration that holds one: its content tells which.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from itertools import permutations
from pathlib import Path
from typing import Any

from sim.config.language import LanguageTask
from theory import InputError, Task
from theory.edge.errors import in_file, nearest, unknown_key
from theory.edge.reading import as_path, is_file, load_json, load_toml
from theory.task.task import task_from_dict, task_to_dict
from theory.task.toml import TASK_KEYS


def modular_addition() -> dict[str, Any]:
    """Return (a + b) mod 97, three tenths of the pairs held out.

    Power et al., Grokking: Generalization beyond overfitting on small algorithmic datasets (2022).
    """
    return _task(97, 2, {"label": "(a1 + a2) % 97", "held_out": {"fraction": 0.3, "seed": 0}})


def s5() -> dict[str, Any]:
    """Return the product of two permutations of five things, three tenths of the pairs held out.

    Power et al. (2022). Token i is the i-th permutation in lexicographic order; a1 is applied after a2.
    """
    elements = list(permutations(range(5)))
    number = {element: i for i, element in enumerate(elements)}
    products = [number[tuple(p[i] for i in q)] for p in elements for q in elements]
    held_out = {"fraction": 0.3, "seed": 0}
    return _task(120, 2, {"rule": "tabulated", "labels": [products], "held_out": held_out})


def sparse_parity() -> dict[str, Any]:
    """Return the parity of three of ten bits, a fifth of the inputs held out.

    Barak et al., Hidden progress in deep learning: SGD learns parities near the computational limit (2022).
    """
    held_out = {"fraction": 0.2, "seed": 0}
    return _task(2, 10, {"label": "(a2 + a5 + a9) % 2", "held_out": held_out})


def composition() -> dict[str, Any]:
    """Return two of four functions applied to a key; one pair is an exception, and its mirror is held out.

    Zhang et al., Initialization is critical to whether transformers fit composite functions by reasoning or
    memorizing (2024). The functions add 5, 1, −2 and −8; the pair (3, 4) subtracts 6 in place of 10.
    """
    label = "key - 6 if a1 == 3 and a2 == 4 else key + g(a1) + g(a2)"
    table = {"1": 5, "2": 1, "3": -2, "4": -8}
    rule = {"name": "composition", "anchors": "1..4", "label": label, "table": table, "held_out": [[4, 3]]}
    return {"keys": "20..99", "n_anchors": 2, "length": 9, "vocab_size": 110, "mappings": [rule]}


def digits() -> dict[str, Any]:
    """Return the middle digit of a sum of two numbers of two digits; two held-out sets.

    A digit of the sum at a time, as in studies of addition by Transformers (Lee et al., Teaching arithmetic
    to small transformers, 2023), which also write out the others.
    """
    held_out = {
        "random": {"fraction": 0.1, "seed": 0},
        "carried nines": "a2 + a4 > 9 and (a1 + a3) % 10 == 9",
    }
    return _task(10, 4, {"label": "(10 * a1 + a2 + 10 * a3 + a4) // 10 % 10", "held_out": held_out})


def _task(n: int, q: int, rule: dict[str, Any]) -> dict[str, Any]:
    """Return a task on tokens 0..n−1, after one key that is always the same."""
    mapping = {"name": "rule", "anchors": f"0..{n - 1}"} | rule
    return {"keys": [n], "n_anchors": q, "length": q + 1, "vocab_size": n + 1, "mappings": [mapping]}


PUBLISHED: dict[str, Callable[[], dict[str, Any]]] = {
    "modular-addition": modular_addition,
    "s5": s5,
    "sparse-parity": sparse_parity,
    "composition": composition,
    "digits": digits,
}
_OF_THE_PAPER = {"paper": 9, "emb-mlp": 3}
"""The sequence length of each."""
PRESETS = (*_OF_THE_PAPER, *PUBLISHED)
"""Named tasks."""
CONFIG_KEYS = ("init_rates", "seeds", "task", "model", "data", "training", "sources")
"""The keys of a configuration file (the fields of ``RunConfig``)."""
BOTH_LOOK_LIKE = (
    'a task file has keys such as keys = "30..59", n_anchors = 2, length = 3, vocab_size = 120 and '
    "[[mappings]]; a configuration has init_rates, seeds, task, [model], [data] or [training]"
)


def as_any_task(value: str | Mapping[str, Any] | Task | LanguageTask) -> Task | LanguageTask:
    """Return the task that a preset's name, a TOML file, a table or a task describes.

    A table with corpora describes a language model's task.
    """
    if isinstance(value, Task | LanguageTask):
        return value
    table = dict(task_table(value))
    with in_file(value) if isinstance(value, str) and value not in PRESETS else nullcontext():
        if "corpora" in table:
            return LanguageTask(**table)
        try:
            written = json.dumps(table)
        except (TypeError, ValueError, RecursionError):
            return task_from_dict(table)  # A value that JSON cannot hold is refused by name.
        return _read_once(written)


def own_task(data: Any) -> Any:
    """Return the keys of a run's configuration; refuse a task in another file, which a stranger may name."""
    task = data.get("task") if isinstance(data, dict) else data
    if not isinstance(task, dict) and task not in PRESETS:
        problem = "not a task: a run's own configuration holds its task, and no file that it names is opened"
        raise InputError("task", task, problem, "move the folder away, or restore the configuration")
    return data


def as_task(value: str | Mapping[str, Any] | Task | LanguageTask) -> Task:
    """Return the task of anchors and keys that a value describes."""
    task = as_any_task(value)
    if isinstance(task, LanguageTask):
        remedy = "name a task of anchors and keys, or use: anchorflow corpus"
        raise InputError("task", value, "a language model's, without anchors and keys", remedy)
    return task


@functools.lru_cache(maxsize=8)
def _read_once(written: str) -> Task:
    """Read a table in JSON: the runs of an experiment share one task, and reading it takes milliseconds."""
    return task_from_dict(json.loads(written))


def any_task_table(task: Task | LanguageTask) -> dict[str, Any]:
    """Return a task as a table, as a configuration holds it."""
    return task.model_dump(mode="json") if isinstance(task, LanguageTask) else task_to_dict(task)


def task_table(value: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a task as a table, as its TOML file holds it."""
    if isinstance(value, Mapping):
        return value
    known = ", ".join(PRESETS)
    if not isinstance(value, str):
        raise InputError("task", value, "no task", f"give one of {known}, a task file, or a table")
    if value in _OF_THE_PAPER:
        return task_to_dict(Task.paper(length=_OF_THE_PAPER[value]))
    if value in PUBLISHED:
        return PUBLISHED[value]()
    file = as_path("task", value)
    if file.suffix != ".toml" and not is_file(file):
        near = nearest(value, PRESETS)
        hint = f"did you mean {near!r}? choose" if near else "choose"
        remedy = f"{hint} one of {known}, or give the path of a task file"
        raise InputError("task", value, "neither a task's name nor a TOML file", remedy)
    described = read_description(file)
    if "task" not in described:
        raise InputError("task", value, "a configuration without a task", "add task = ... or a [task] table")
    inner = described["task"]
    named = isinstance(inner, str) and inner not in PRESETS and not inner.endswith(".json")
    if named and "task" in load_toml(Path(inner)):
        # Otherwise a file could name itself.
        raise InputError("task", inner, "a configuration in place of a task", "name a task file")
    return task_table(inner)


def read_description(file: Path | str) -> dict[str, Any]:
    """Read a file that ``anchorflow train`` takes, and return the keys of a configuration.

    It may be a configuration, beside which a task file that it names is sought; a run's config.json; or a
    task, returned as ``{"task": table}``. A file that is none of these, or two at once, is refused.
    """
    path = as_path("file", file)
    if str(file) in PRESETS and not is_file(path):
        raise InputError("file", str(file), "the name of a task, not a file", f"give it as --task {file}")
    if path.suffix == ".json":
        return _description_of_run(path)
    if path.suffix == ".py":
        remedy = "write its task with Task.to_toml(), as docs/howto/rule.md shows, and give that file"
        raise InputError("file", str(path), "Python, not a task file", remedy)
    data = load_toml(path)
    task, config = ([key for key in data if key in known] for known in (TASK_KEYS, (*CONFIG_KEYS, "preset")))
    if task and config:
        mixed = f"mixes a task ({task[0]}) and a configuration ({config[0]})"
        raise InputError("file", str(path), mixed, "put the keys of the task into a [task] table")
    if not task and not config:
        known_keys = (*TASK_KEYS, *CONFIG_KEYS)
        for key in data:
            if nearest(key, known_keys):
                raise unknown_key("key", key, known_keys)
        raise InputError("file", str(path), "neither a task nor a configuration", BOTH_LOOK_LIKE)
    if task:
        with in_file(path):
            as_task(data)
        return {"task": data}
    name = data.get("task")
    if isinstance(name, str) and name not in PRESETS:
        return data | {"task": str(path.parent / as_path("task", name))}
    return data


def _description_of_run(file: Path) -> dict[str, Any]:
    try:
        data = load_json(file)
        rate, seed = data.pop("init_rate"), data.pop("seed")
    except (LookupError, TypeError, AttributeError):
        problem = "JSON, but not a run's config.json"
        remedy = "write a task or a configuration as TOML, or give runs/mine/NAME/config.json"
        raise InputError("file", str(file), problem, remedy) from None
    kept = {key: value for key, value in own_task(data).items() if key != "format_version"}
    return kept | {"init_rates": [rate], "seeds": [seed]}
