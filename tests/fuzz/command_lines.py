"""Bad command lines: options, paths and values of every command, and the docs' examples of TOML, mutated."""

from __future__ import annotations

import copy
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

DOCS = Path(__file__).resolve().parents[2] / "docs"
TINY = {
    "init_rates": [0.8],
    "seeds": [0],
    "task": {
        "keys": "20..22",
        "n_anchors": 1,
        "length": 2,
        "vocab_size": 30,
        "reasoning_anchors": [4, 5],
        "memory_anchors": [1],
    },
    "model": {"kind": "transformer", "n_layers": 1, "d_m": 4, "d_f": 4, "d_k": 2},
    "data": {"source": "enumerate"},
    "training": {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "snapshot_epochs": [0]},
}
STUDY = {"purpose": "None.", "keep": ["gram"], "variants": {"narrow": {"model": {"d_f": 2}}}} | TINY
SWEEP = {"purpose": "None.", "axes": {"learning_rate": [1e-3, 1e-2], "d_f": [4, 8]}} | TINY
FILES = {"study": STUDY, "sweep": SWEEP}
"""What these commands read where an option is the point."""
TEXTS = (
    "",
    "zzz",
    "-1",
    "0",
    "1.5",
    "nan",
    "inf",
    "true",
    "1e999",
    "9" * 20,
    "9" * 5000,
    "[/x]",
    "$x^$",
    "γ\x1b[2J",
)
PATHS = (
    "missing",
    "missing.toml",
    "precious",
    "precious/notes.md",
    "precious/notes.md/below",
    "pipe.toml",
    "binary.toml",
    "empty.toml",
    "link",
    "/dev/zero",
    "/dev/null",
    "/proc/nothing",
    "x" * 300,
    "..",
    "\udcff",
)
OPTIONS: dict[str, tuple[str, ...]] = {
    "claims": ("", "--runs", "--kept", "--root", "--workers"),
    "compare": ("", "--out", "--epochs"),
    "corpus": ("", "--field", "--tokenizer", "--vocabulary", "--tokens", "--top", "--nearest", "--out"),
    "demo": ("", "--workers"),
    "derive": ("", "--out"),
    "figures": ("", "--runs", "--out", "--format"),
    "predict": ("", "--task", "--out"),
    "study": ("", "--root", "--kept", "--workers"),
    "sweep": (
        *("", "--out", "--engine", "--workers", "--scheduler", "--slurm", "--device"),
        *("--maximise", "--budget-steps"),
    ),
    "train": (
        *("", "--preset", "--task", "--device", "--kernels", "--workers", "--init-rates", "--seeds"),
        *("--engine", "--scheduler", "--slurm"),
        *("--model.d-m", "--model.kind", "--training.epochs", "--training.frozen", "--data.source"),
    ),
}
"""Options by command, and "" for what stands without one. No command here trains what the docs train."""
FOLDERS = ("--out", "--root", "--kept", "--runs")
VALUES: tuple[Any, ...] = (
    *(
        True,
        -1,
        0,
        1.5,
        10**20,
        10**7 + 1,
        "",
        "zzz",
        "1..3",
        "9..2",
        "1..100000000000",
        "a\x00b",
        "[/x]",
        "$x^$",
    ),
    *([], [[]], [1, 1], ["zzz"], {}, {"zzz": 1}, float("nan"), float("inf")),
)


@dataclass(frozen=True)
class Case:
    """A command line, and the text of the file ``case.toml`` that it names, if it does.

    Attributes
    ----------
    name : str
    arguments : tuple of str
    content : bytes or None
    """

    name: str
    arguments: tuple[str, ...]
    content: bytes | None = None


def cases() -> list[Case]:
    """Return every case, in an order that spreads the kinds evenly."""
    found = [*_options(), *_paths(), *_tables(), *_texts(), *_sizes()]
    random.Random(0).shuffle(found)
    return found


def _options() -> Iterator[Case]:
    """Return every option with every bad text and path, and options that there are not."""
    for command, options in OPTIONS.items():
        for option in options:
            # Any text is a good name for a folder, which would then be filled, for seconds.
            for value in PATHS if option in FOLDERS else (*TEXTS, *PATHS):
                if command == "demo" and value == "0":
                    continue  # A good command, of two minutes.
                arguments = [option, value] if option else [value]
                found = (command, *_first(command), *arguments, *_small(command, option))
                yield Case(f"{command} {option}", found, _toml(FILES[command]) if command in FILES else None)
        yield Case(f"{command} unknown", (command, "--zzz", "1"))
        yield Case(f"{command} unfinished", (command, options[-1]))
        yield Case(f"{command} help", (command, "--help"))


def _first(command: str) -> tuple[str, ...]:
    """Return what stands before the options: what makes a command train nothing."""
    return {"corpus": ("predict", "notes.txt"), "sweep": ("--dry-run",)}.get(command, ())


def _small(command: str, option: str) -> tuple[str, ...]:
    """Return what keeps a command line short that turns out to be good."""
    if command == "train":
        quick = (
            ("--training.epochs", "1", "--out", "out") if option != "--training.epochs" else ("--out", "out")
        )
        return ("tiny.toml", *quick) if option else quick
    if command == "sweep" and option:
        # --slurm would take it for a value.
        return ("--dry-run", "case.toml") if option == "--slurm" else ("case.toml",)
    return {"predict": ("emb-mlp",), "study": ("case.toml",), "claims": ("1",), "figures": ("2",)}.get(
        command if option else "", ()
    )


def _paths() -> Iterator[Case]:
    """Return every path where a file is read or a folder written."""
    for path in PATHS:
        yield Case("train out", ("train", "tiny.toml", "--out", path))
        yield Case("train overwrite", ("train", "tiny.toml", "--out", path, "--overwrite"))
        yield Case("train resume", ("train", path, "--resume"))
        yield Case("demo out", ("demo", "--out", f"precious/notes.md/{path}"))
        yield Case("study run", ("study", path, "--run", "--root", "out"))
        yield Case("sweep", ("sweep", path, "--out", "out"))
        yield Case("sweep show", ("sweep", "show", path, "--x", "init_rate", "--y", "seed"))
        yield Case("sweep show measure", ("sweep", "show", path, "--measure", "bias"))
        yield Case("study keep", ("study", "emb-mlp", "--keep", "--kept", path, "--root", "missing"))


def _tables() -> Iterator[Case]:
    """Return the docs' examples and a tiny configuration, each with one value changed, removed or added."""
    for number, (kind, table) in enumerate(_examples()):
        for place in _places(table):
            for index, value in enumerate((*VALUES, None)):
                changed = _with(table, place, value)
                if kind != "predict" and changed.get("task", "tiny") != TINY["task"]:
                    continue
                if place == ("training", "epochs") and value == 10**7 + 1:
                    continue  # Months of training are no mistake.
                yield _table_case(kind, f"{number} {place} {index}", _toml(changed))


def _examples() -> list[tuple[str, dict[str, Any]]]:
    """Return the examples that are tasks, and a configuration and a study that train for a moment."""
    sweep = SWEEP | {"combine": "zip"}
    found: list[tuple[str, dict[str, Any]]] = [("train", TINY), ("study", STUDY), ("sweep", sweep)]
    for text in re.findall(
        r"```toml\n(.*?)```", (DOCS / "howto" / "rule.md").read_text(encoding="utf-8"), re.DOTALL
    ):
        table = tomllib.loads(text)
        if "vocab_size" in table:
            found.append(("predict", table))
    return found


def _table_case(command: str, name: str, content: bytes) -> Case:
    arguments = {
        "predict": ("predict", "case.toml"),
        "train": ("train", "case.toml", "--out", "out", "--workers", "1"),
        "study": ("study", "case.toml", "--root", "out", "--kept", "kept"),
        "sweep": ("sweep", "case.toml", "--out", "out", "--dry-run"),
    }[command]
    return Case(f"{command} table {name}", arguments, content)


def _toml(table: dict[str, Any]) -> bytes:
    return tomli_w.dumps(table).encode()


def _places(table: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        yield (*before, key)
        yield from _places(value, (*before, key))


def _with(table: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy with one value changed, or removed for None."""
    changed = copy.deepcopy(table)
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return changed


def _texts() -> Iterator[Case]:
    """Return the examples as text with bytes lost, doubled or replaced, and nested without end."""
    generator = random.Random(1)
    for kind, table in _examples():
        content = _toml(table)
        for number in range(60):
            at, length = generator.randrange(len(content)), generator.randrange(1, 20)
            changed = (
                content[:at],
                content[:at] + content[at + length :],
                content[:at] + content[at : at + length] + content[at:],
                content[:at] + generator.randbytes(length) + content[at:],
            )[number % 4]
            if kind == "predict":
                yield _table_case(kind, f"text {number}", changed)
            else:
                yield Case(f"{kind} text {number}", ("predict", "case.toml"), changed)
        for text in (
            b"a = " + b"[" * 5000,
            b"a = " + b"9" * 5000,
            b"[" + b"a." * 5000 + b"a]",
            b"\xff\xfe",
            b"a" * 10**6,
        ):
            yield _table_case(kind, "without end", text)


def _sizes() -> Iterator[Case]:
    """Return settings that would need more memory than there is, or never end."""
    large: dict[tuple[str, ...], tuple[int, ...]] = {
        ("task", "vocab_size"): (10**7, 10**8, 10**12, 10**19),
        ("task", "length"): (10**6, 10**9, 10**18, 10**20),
        ("model", "n_layers"): (10**6,),
        ("model", "d_m"): (10**7, 10**9),
        ("model", "d_f"): (10**7, 10**9),
        ("training", "batch_size"): (10**9, 10**12),
        ("training", "epochs"): (10**20,),
        ("training", "evaluation_size"): (10**20,),
        ("data", "n_sequences"): (10**9, 10**15, 10**18),
    }
    for place, values in large.items():
        for value in values:
            table = _with(TINY, place, value)
            if place[0] == "data":
                table["data"]["source"] = "draw"
            yield _table_case("train", f"{place} {value}", _toml(table))
            if place[0] == "task":
                yield _table_case("predict", f"{place} {value}", _toml(table["task"]))
