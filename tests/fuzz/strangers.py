"""Run folders from somebody else: valid ones, changed in one place, with checksums that fit."""

import contextlib
import itertools
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sim
from sim.config.task_files import read_description
from sim.runs.files import read_tensors, write_tensors
from sim.runs.manifest import Manifest, digest
from tests.fuzz.command_lines import changed, places
from tests.fuzz.disturbed import CONFIGURATION
from tests.fuzz.driver import Case, Ending, ran
from validate.observe.store import Checksums

COMMANDS = (
    *(("table", "out", "--json"), ("compare", "out", "--out", "report"), ("figures", "4", "--runs", "out")),
    ("train", "--resume", "out", "--workers", "1"),
)
COMPLETE, STOPPED = Path("out/gamma0.8_seed0"), Path("out/gamma0.8_seed1")
KEPT = Path("kept/NAME/gamma0.8_seed0.safetensors")
TRANSFORMER = 'kind = "transformer"\nd_k = 2\nn_layers = 1\n'
OUTSIDE = "outside.toml"
"""A file that no folder may make a command open."""
REMOVED = object()
VALUES: tuple[Any, ...] = (
    *(REMOVED, None, True, -1, 0, 1.5, 10**13, 10**30, "", "zzz", f"../../{OUTSIDE}", "1..10000000"),
    *("\x1b[2J", [], [[]], [1] * 1000, {}, {"zzz": {"zzz": 1}}, "x" * 10**6),
)
CONTENTS: dict[str, bytes] = {
    **{"empty": b"", "null": b"null", "a list": b"[]", "a number": b"3", "a text": b'"x"', "true": b"true"},
    **{"deep": b"[" * 10**5, "deep tables": b'{"a":' * 10**5, "UTF-16": '{"a": 1}'.encode("utf-16")},
    **{"after a byte order mark": b'\xef\xbb\xbf{"a": 1}', "NaN": b'{"a": NaN}', "digits": b"9" * 10**5},
    **{"tables": b"[" + b"{}," * 10**6 + b"{}]", "numbers": b"[" + b"0," * 10**6 + b"0]"},
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    **{"transposed": lambda a: np.ascontiguousarray(a.T[..., None]), "no rows": lambda a: a[:0]},
    **{"one entry": lambda a: a.reshape(-1)[:1], "a row more": lambda a: np.concatenate([a, a[-1:]])},
    **{
        "integers": lambda a: np.full(a.shape, 2**30, np.int64),
        "bytes": lambda a: np.zeros(a.shape, np.uint8),
    },
    **{"huge": lambda a: np.full(a.shape, 1e30, a.dtype if a.dtype.kind == "f" else np.float32)},
    **{"negative": lambda a: -np.abs(a.astype(np.int64)) - 1, "NaN": lambda a: np.full(a.shape, np.nan)},
}
Edit = Callable[[bytes], bytes]
Changed = tuple[str, Path, Edit]
"""What is changed, the file, and how."""
_opened = list[str]()


def strangers_folders(folder: Path) -> Iterator[Case]:
    """Read, compare, draw and continue runs of which one record or array was changed in one place."""
    home, commands = _home(folder), itertools.cycle(COMMANDS)
    every = [*_records(home), *_arrays(home)]
    random.Random(0).shuffle(every)
    for change in every:
        line = ("compare", str(KEPT.parent)) if change[1] == KEPT else next(commands)
        yield partial(_ran, home, change, line)


def _home(folder: Path) -> Path:
    """Return a folder with a complete run, one that was stopped, the plan of both, and a kept run."""
    home = folder / "home"
    home.mkdir()
    sys.addaudithook(lambda event, given: _opened.append(str(given[0])) if event == "open" else None)
    with contextlib.chdir(home):
        Path(OUTSIDE).write_text("a secret of the user")
        own = CONFIGURATION.replace("[model]\n", f"[model]\n{TRANSFORMER}")
        Path("tiny.toml").write_text(own.replace("[training]\n", '[training]\nsnapshot_tensors = "all"\n'))
        Path("NAME.toml").write_text(f'purpose = "None."\n{own}')
        for line in (
            ("train", "tiny.toml", "--out", "out", "--workers", "1"),
            ("study", "NAME.toml", "--run", "--keep", "--kept", "kept", "--workers", "1"),
        ):
            assert ran(line).how == "accepted", line
        shutil.rmtree(STOPPED)
        steps, member = itertools.count(), sim.make_run_config(read_description("tiny.toml")).members()[1]
        sim.train_together([member], [STOPPED], stop=lambda: next(steps) > 20)
    return home


def _records(home: Path) -> Iterator[Changed]:
    """Yield every key of every record with every value, and every record with every content."""
    for file in (
        *(run / f"{name}" for run in (COMPLETE, STOPPED) for name in ("config.json", "provenance.json")),
        *(run / "metrics.jsonl" for run in (COMPLETE, STOPPED)),
        *(COMPLETE / "manifest.json", Path("out/planned.json")),
    ):
        for place in places(_record(home / file)):
            for value in VALUES:
                yield f"{file} {place} = {_shown(value)}", file, partial(_with, place, value)
        for what, content in CONTENTS.items():
            yield f"{file} is {what}", file, partial(lambda new, _: new, content)


def _arrays(home: Path) -> Iterator[Changed]:
    """Yield every array of every file in every other form, and its metadata with every value."""
    files = [COMPLETE / "statistics.safetensors", KEPT]
    files += [
        f.relative_to(home) for name in ("snapshots", "checkpoints") for f in home.glob(f"out/*/{name}/*")
    ]
    for file in files:
        arrays, meta = read_tensors((home / file).read_bytes())
        for name in arrays:
            for what, change in ARRAYS.items():
                yield f"{file} {name}: {what}", file, partial(_with_array, name, change)
            yield f"{file} without {name}", file, partial(_with_array, name, None)
        for name, text in meta.items():
            for what, content in CONTENTS.items():
                yield (
                    f"{file} {name} is {what}",
                    file,
                    partial(_with_text, name, content[: 10**5].decode(errors="replace")),
                )
            record = json.loads(text)
            for place in places(record):
                for value in VALUES:
                    said = _json(_put(record, place, value))
                    yield f"{file} {name} {place} = {_shown(value)}", file, partial(_with_text, name, said)


def _record(file: Path) -> Any:
    text = file.read_text()
    return list(map(json.loads, text.splitlines())) if file.suffix == ".jsonl" else json.loads(text)


def _shown(value: Any) -> str:
    return "removed" if value is REMOVED else repr(value)[:30]


def _put(record: Any, place: tuple[Any, ...], value: Any) -> Any:
    return changed(record, place, None if value is REMOVED else _NULL if value is None else value)


_NULL = "\x00null"


def _json(record: Any) -> str:
    return json.dumps(record).replace(json.dumps(_NULL), "null")


def _with(place: tuple[Any, ...], value: Any, content: bytes) -> bytes:
    is_one = len(content.splitlines()) == 1 or content.startswith((b"{\n", b"[\n"))
    record = json.loads(content) if is_one else list(map(json.loads, content.splitlines()))
    other = _put(record, place, value)
    return "".join(f"{_json(line)}\n" for line in ([other] if is_one else other)).encode()


def _with_array(name: str, change: Callable[[Any], Any] | None, content: bytes) -> bytes:
    arrays, meta = read_tensors(content)
    array = arrays.pop(name)
    return write_tensors(arrays | ({name: change(array)} if change else {}), meta)


def _with_text(name: str, text: str, content: bytes) -> bytes:
    arrays, meta = read_tensors(content)
    return write_tensors(arrays, meta | {name: text})


def _ran(home: Path, change: Changed, line: tuple[str, ...]) -> Ending:
    """Run a command on a copy in which a file was changed, with its checksum."""
    what, file, edit = change
    here = home.parent / "copies" / "copy"
    shutil.copytree(home, here, symlinks=True)
    try:
        with contextlib.chdir(here):
            manifest = Checksums(Path("kept")) if file == KEPT else Manifest(Path(*file.parts[:2]))
            content = edit(file.read_bytes())
            if file.name not in ("manifest.json", "planned.json"):
                name = file.relative_to(manifest.path).as_posix()
                manifest._save(manifest.listed() | {name: (digest(content),)})
            file.write_bytes(content)
            _opened.clear()
            ending = ran(line)
            broken = "opened" if any(path.endswith(OUTSIDE) for path in _opened) else ""
            broken = broken or ("control" if "\x1b" in ending.said else "")
    finally:
        shutil.rmtree(here.parent)
    return ending.of(f"{line[0]}: {what}", broken)
