"""Kept observations: one file per run, with checksums, in the repository or in any other folder."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sim.config.run import MemberConfig, make_member_config
from sim.config.task_files import own_task
from sim.config.training import Epoch
from sim.errors import DamagedError
from sim.runs.files import read_regular, read_tensors, write_json, write_tensors, writing
from sim.runs.manifest import Manifest, digest
from sim.runs.records import Provenance, Record, plain, read_evaluations, read_json, read_record
from sim.runs.run import Run
from theory import InputError
from theory.edge.arrays import FloatArray
from theory.edge.reading import PathLike, as_path, normalized
from validate.observe.codec import SYMMETRIC, Stored, pack_arrays, pack_metrics, unpack_arrays, unpack_metrics
from validate.observe.observations import KEPT_SUFFIX, LazyArrays, Observations, check_shapes

KEPT = Path(__file__).resolve().parent.parent / "kept"
"""The observations that are kept in the repository."""
FORMATS = (1, 2)
"""The versions that are read; the second keeps half of a symmetric matrix."""
CHECKSUMS = "checksums.json"
"""The list of the kept files, in the folder of all studies."""
WORDS = "language_words.json"
"""Words by task and seed, in the folder of all kept studies; ``keep`` renews it."""
Words = dict[str, list[str]]
"""Words by corpus, the most frequent first."""


class Checksums(Manifest):
    """The checksums of all kept files, which are in one folder."""

    name: ClassVar[str] = CHECKSUMS


class Header(Record):
    """What a kept file says of its arrays."""

    format_version: int
    config: dict[str, Any]
    provenance: Provenance
    epochs: Annotated[list[Epoch], Field(min_length=1, max_length=1_000_000)]


def kept_file(study: str, variant: str | None, config: MemberConfig, folder: Path = KEPT) -> Path:
    """Return where the observations of a study's run are kept."""
    prefix = "" if variant is None else f"{variant}__"
    return folder / study / f"{prefix}{config.name}{KEPT_SUFFIX}"


def write_kept(observations: Observations, file: Path) -> None:
    """Write observations to a file, and its checksum to the list in the folder above.

    A file with the same content keeps its bytes: its header's entries may be in another order.

    Raises
    ------
    InputError
        If there is a file of that name that was not kept, or was changed since.
    """
    arrays = pack_arrays(observations.arrays) | pack_metrics(observations.metrics)
    header = {
        "format_version": FORMATS[any(name.endswith(SYMMETRIC) for name in arrays)],
        "config": observations.config.model_dump(mode="json"),
        "provenance": observations.provenance,
        "epochs": observations.epochs,
    }
    content = write_tensors(arrays, {k: json.dumps(v, allow_nan=False) for k, v in header.items()})
    with writing(file):
        before = read_regular(file) if file.is_file() else b""
        content = before if _said(before) == _said(content) else content
        checksums, name = _listed(file)
        checksums.write(name, content)


def _said(content: bytes) -> tuple[Any, bytes]:
    """Return the header and the data of a safetensors file; of any other file, its content."""
    size = int.from_bytes(content[:8], "little")
    try:
        return json.loads(content[8 : 8 + size]), content[8 + size :]
    except (ValueError, RecursionError):
        return None, content


def drop_kept(file: Path) -> None:
    """Delete a kept file and its checksum; refuse one that is not as it was kept."""
    with writing(file):
        checksums, name = _listed(file)
        checksums.remove(name)


def kept_files(study: str, folder: Path = KEPT) -> list[Path]:
    """Return the files of a study that were kept in a folder, and no others that lie there."""
    listed = Checksums(folder).listed()
    return [folder / name for name in listed if PurePosixPath(name).parent == PurePosixPath(study)]


def read_kept(file: PathLike) -> Observations:
    """Read kept observations.

    Raises
    ------
    InputError
        If the file is missing, unreadable, of another version, or not the one whose checksum is listed.
    """
    file = as_path("file", file)
    checksums, name = _listed(file)
    try:
        stored, metadata = read_tensors(checksums.verified(name))
        said = {key: read_json(text.encode()) for key, text in metadata.items()}
        if (version := said.get("format_version")) not in FORMATS:
            raise DamagedError(f"has format version {version}, but this program reads up to {FORMATS[-1]}")
        header, metrics = read_record(Header, said), read_evaluations(unpack_metrics(stored))
        config = make_member_config(own_task(header.config))
    except (OSError, ValueError) as error:
        problem = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
        again = f"anchorflow study NAME --keep --kept {quote(str(checksums.path))}"
        restore = f"restore it with the {CHECKSUMS} of its folder"
        remedy = f"{restore}, or delete it and keep its run again: {again}"
        raise InputError("kept observations", str(file), problem, remedy) from None
    arrays = LazyArrays(partial(_unpacked, file, stored, config, len(header.epochs)))
    return Observations(config, plain(header.provenance), metrics, tuple(header.epochs), arrays, file)


def _unpacked(file: Path, stored: Stored, config: MemberConfig, n_epochs: int) -> dict[str, FloatArray]:
    """Return the arrays of a kept file when they are needed: a study's progress needs none."""
    try:
        arrays = unpack_arrays(stored)
        check_shapes(arrays, config, n_epochs)
    except (ValueError, LookupError) as error:
        raise InputError("kept observations", str(file), f"cannot be read ({error})", "restore it") from None
    return arrays


def _listed(file: Path) -> tuple[Checksums, str]:
    """Return the list that has a file's checksum, and the file's name there, from any path to it."""
    whole = normalized(file)
    return Checksums(whole.parent.parent), f"{whole.parent.name}/{whole.name}"


# --- words of language models' runs, in a file beside the arrays of numbers ----------------------------


def words_of(run: Run) -> Words:
    """Return the words of the matrices that are observed of a run, for each corpus."""
    from validate.observe.language import most_frequent

    return {name: [c.words[t] for t in most_frequent(c)] for name, c in run.corpora().items()}


def keep_words(run: Run, folder: Path) -> None:
    """Write a run's words into the file of a folder with kept studies."""
    words = _kept_words(folder) | {_text_key(run.config): words_of(run)}
    write_json(folder / WORDS, dict(sorted(words.items())))


def shown_words(run: Observations) -> Words:
    """Return a run's words, from its folder, the file beside kept runs or that of the package."""
    if run.run_folder is not None:
        words = words_of(Run.open(run.run_folder))
    else:
        beside = {} if run.path is None else _kept_words(_listed(run.path)[0].path)
        words = (_kept_words(KEPT) | beside).get(_text_key(run.config), {})
    # GPT-2's tokenizer writes a space as Ġ and a new line as Ċ.
    return {n: [word.replace("Ġ", "␣").replace("Ċ", r"\n") for word in own] for n, own in words.items()}


def _kept_words(folder: Path) -> dict[str, Words]:
    file = folder / WORDS
    try:
        return read_record(dict[str, Words], read_regular(file))
    except FileNotFoundError:
        return {}
    except DamagedError as error:
        raise InputError("words", str(file), str(error), "restore it") from None


def _text_key(config: MemberConfig) -> str:
    """Return a key for a task and seed, which determine the text for any model."""
    return digest(config.model_dump_json(include={"task", "seed"}).encode())
