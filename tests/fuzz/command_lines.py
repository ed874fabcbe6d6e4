"""Bad command lines: options, paths and values of every command, and the docs' examples of TOML, mutated."""

import contextlib
import copy
import os
import random
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from tests.fuzz.driver import Case, Ending, ran

RULES = Path(__file__).resolve().parents[2] / "docs" / "howto" / "rule.md"
TASK = {"keys": "20..22", "n_anchors": 1, "length": 2, "vocab_size": 30}
TINY: dict[str, Any] = {
    "init_rates": [0.8],
    "seeds": [0],
    "task": TASK | {"reasoning_anchors": [4, 5], "memory_anchors": [1]},
    "model": {"kind": "transformer", "n_layers": 1, "d_m": 4, "d_f": 4, "d_k": 2},
    "data": {"source": "enumerate"},
    "training": {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "snapshot_epochs": [0]},
}
STUDY = {"purpose": "None.", "keep": ["gram"], "variants": {"narrow": {"model": {"d_f": 2}}}} | TINY
SWEEP = {"purpose": "None.", "axes": {"learning_rate": [1e-3, 1e-2], "d_f": [4, 8]}} | TINY
FILES = {"study": STUDY, "sweep": SWEEP}
"""What these commands read where an option is the point."""
TEXTS = (
    *("", "zzz", "-1", "0", "1.5", "nan", "inf", "true", "1e999", "9" * 20, "9" * 5000),
    *("[/x]", "$x^$", "γ\x1b[2J"),
)
PATHS = (
    *("missing", "missing.toml", "precious", "precious/notes.md", "precious/notes.md/below", "pipe.toml"),
    *("binary.toml", "empty.toml", "link", "/dev/zero", "/dev/null", "/proc/nothing", "x" * 300, ".."),
    "\udcff",
)
VALUES: tuple[Any, ...] = (
    *(True, -1, 0, 1.5, 10**20, 10**7 + 1, "", "zzz", "1..3", "9..2", "1..100000000000", "a\x00b", "[/x]"),
    *([], [[]], [1, 1], ["zzz"], {}, {"zzz": 1}, float("nan"), float("inf")),
)
OPTIONS = {
    "advise": ("", "--module", "--rate"),
    "claims": ("", "--runs", "--kept", "--root", "--workers"),
    "compare": ("", "--out", "--epochs"),
    "corpus": ("", "--field", "--tokenizer", "--vocabulary", "--tokens", "--top", "--nearest", "--out"),
    "demo": ("", "--workers"),
    "derive": ("", "--out"),
    "figures": ("", "--runs", "--out", "--format"),
    "predict": ("", "--task", "--out"),
    "study": ("", "--root", "--kept", "--workers"),
    "sweep": ("", "--out", "--engine", "--workers", "--scheduler", "--slurm", "--device"),
    "table": ("", "--csv", "--parquet"),
    "train": (
        *("", "--preset", "--task", "--device", "--kernels", "--workers", "--init-rates", "--seeds"),
        *("--engine", "--scheduler", "--slurm"),
        *("--model.d-m", "--model.kind", "--training.epochs", "--training.frozen", "--data.source"),
    ),
}
"""Options by command, and "" for what stands without one. No command here trains what the docs train."""
BEFORE = {"corpus": ("predict", "notes.txt"), "sweep": ("--dry-run",)}
"""What makes a command train nothing, in front of the options."""
BEHIND = {
    **{"predict": ("emb-mlp",), "study": ("case.toml",), "claims": ("1",), "figures": ("2",)},
    **{"train": ("tiny.toml", "--out", "out"), "sweep": ("case.toml",)},
}
"""What keeps a command line short that turns out to be good, behind an option."""
READ = {
    "predict": ("predict", "case.toml"),
    "train": ("train", "case.toml", "--out", "out", "--workers", "1"),
    "study": ("study", "case.toml", "--root", "out", "--kept", "kept"),
    "sweep": ("sweep", "case.toml", "--out", "out", "--dry-run"),
}
"""The command line that reads a file of each kind."""
LARGE: dict[tuple[str, str], tuple[int, ...]] = {
    ("task", "vocab_size"): (10**7, 10**8, 10**12, 10**19),
    ("task", "length"): (10**6, 10**9, 10**18, 10**20),
    **{("model", name): (10**7, 10**9) for name in ("n_layers", "d_m", "d_f")},
    ("training", "batch_size"): (10**9, 10**12),
    **{("training", name): (10**20,) for name in ("epochs", "evaluation_size")},
    ("data", "n_sequences"): (10**9, 10**15, 10**18),
}
"""Settings that would need more memory than there is, or never end."""
PRECIOUS = ("notes.md", "config.json", "thesis/chapter.tex", "emb-mlp.safetensors")
MINE = '{"format_version": 1, "name": "mine"}'
"""A user's files, and what each holds."""
Line = tuple[tuple[str, ...], bytes]
"""A command line, and the content of the file ``case.toml`` that it may name."""


def command_lines(folder: Path) -> Iterator[Case]:
    """Run bad command lines beside a user's files, in an order that spreads the sorts evenly."""
    home = folder / "home"
    (home / "precious" / "thesis").mkdir(parents=True)
    for name in PRECIOUS:
        (home / "precious" / name).write_text(MINE)
    (home / "link").symlink_to("precious")
    (home / "binary.toml").write_bytes(bytes(range(256)))
    (home / "empty.toml").touch()
    (home / "notes.txt").write_text("a dog saw a cat\n\na cat saw a dog\n\n" * 30)
    (home / "tiny.toml").write_bytes(_toml(TINY))
    lines = [*_options(), *_paths(), *_tables(), *_texts(), *_sizes()]
    random.Random(0).shuffle(lines)
    return (partial(_ran, home, line) for line in lines)


def _ran(home: Path, line: Line) -> Ending:
    """Run a command line in a copy of the folder with the user's files."""
    arguments, content = line
    here = home.parent / "copies" / "copy"
    shutil.copytree(home, here, symlinks=True)
    os.mkfifo(here / "pipe.toml")
    (here / "case.toml").write_bytes(content)
    with contextlib.chdir(here):
        ending = ran(arguments)
    files = [here / "precious" / name for name in PRECIOUS]
    is_whole = all(file.is_file() and file.read_text() == MINE for file in files)
    shutil.rmtree(here.parent)
    return ending.of(ending.case, "" if is_whole else "deletion")


def _options() -> Iterator[Line]:
    """Yield every option with every bad text and path, and options that there are not."""
    for command, options in OPTIONS.items():
        content = _toml(FILES.get(command, {}))
        for option in options:
            quick = ("--training.epochs", "1") * (command == "train" and option != "--training.epochs")
            behind = BEHIND.get(command, ()) if option else ("--out", "out") * (command == "train")
            # Any text is a good name for a folder, which would then be filled, for seconds.
            is_folder = option in ("--out", "--root", "--kept", "--runs")
            for value in PATHS if is_folder else (*TEXTS, *PATHS):
                if (command, value) != ("demo", "0"):  # A good command, of two minutes.
                    given = (option, value) if option else (value,)
                    yield (command, *BEFORE.get(command, ()), *given, *behind, *quick), content
        yield (command, "--zzz", "1"), content
        yield (command, options[-1]), content
        yield (command, "--help"), content


def _paths() -> Iterator[Line]:
    """Yield every path where a file is read or a folder written."""
    for path in PATHS:
        for line in (
            ("train", "tiny.toml", "--out", path),
            ("train", "tiny.toml", "--out", path, "--overwrite"),
            ("train", path, "--resume"),
            ("demo", "--out", f"precious/notes.md/{path}"),
            ("study", path, "--run", "--root", "out"),
            ("sweep", path, "--out", "out"),
            ("sweep", "show", path, "--x", "init_rate", "--y", "seed"),
            ("sweep", "show", path, "--measure", "bias"),
            ("study", "emb-mlp", "--keep", "--kept", path, "--root", "missing"),
        ):
            yield line, b""


def _tables() -> Iterator[Line]:
    """Yield the examples, each with one value changed, removed or added."""
    for kind, table in _examples():
        for place in places(table):
            for value in (*VALUES, None):
                new = changed(table, place, value)
                is_long = place == ("training", "epochs") and value == 10**7 + 1  # no mistake, but months
                if kind == "predict" or (new.get("task", "tiny") == TINY["task"] and not is_long):
                    yield READ[kind], _toml(new)


def _examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a configuration, a study and a sweep that train for a moment, and the docs' tasks."""
    yield from (("train", TINY), ("study", STUDY), ("sweep", SWEEP | {"combine": "zip"}))
    for text in re.findall(r"```toml\n(.*?)```", RULES.read_text(encoding="utf-8"), re.DOTALL):
        table = tomllib.loads(text)
        if "vocab_size" in table:
            yield "predict", table


def places(table: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a table."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        yield (*before, key)
        yield from places(value, (*before, key))


def changed(table: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy with one value changed, or removed for None."""
    copied = copy.deepcopy(table)
    inner: Any = copied
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        inner.pop(place[-1], *([] if isinstance(inner, list) else [None]))
    else:
        inner[place[-1]] = value
    return copied


def _toml(table: dict[str, Any]) -> bytes:
    return tomli_w.dumps(table).encode()


def _texts() -> Iterator[Line]:
    """Yield the examples as text with bytes lost, doubled or replaced, and nested without end."""
    generator = random.Random(1)
    for kind, table in _examples():
        content = _toml(table)
        for number in range(60):
            at, length = generator.randrange(len(content)), generator.randrange(1, 20)
            part, rest = content[at : at + length], content[at + length :]
            put = (b"", b"", part + part, generator.randbytes(length) + part)[number % 4]
            yield READ["predict"], content[:at] + put + rest * (number % 4 > 0)
        for text in (b"a = " + b"[" * 5000, b"a = " + b"9" * 5000, b"\xff\xfe", b"a" * 10**6):
            yield READ[kind], text


def _sizes() -> Iterator[Line]:
    for place, values in LARGE.items():
        for value in values:
            table = changed(TINY | {"data": {"source": "draw"}} if place[0] == "data" else TINY, place, value)
            yield READ["train"], _toml(table)
            if place[0] == "task":
                yield READ["predict"], _toml(table["task"])
