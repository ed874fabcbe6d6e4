"""Kept observations: one file a run, with checksums, in the repository or wherever they are wanted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from safetensors import SafetensorError

from sim.config.run import MemberConfig, make_member_config
from sim.runs.files import write_atomically, write_json, writing
from sim.runs.folder import read_arrays
from sim.runs.run import Run
from theory import InputError
from validate.observe.codec import pack_arrays, pack_metrics, unpack_arrays, unpack_metrics
from validate.observe.collect import observe
from validate.observe.observations import Observations

KEPT = Path(__file__).resolve().parent.parent / "kept"
"""The observations that are kept in the repository."""
RUNS = Path("runs/studies")
"""Where the run folders of studies lie unless said otherwise."""
FORMAT_VERSION = 1
_CHECKSUMS = "checksums.json"


def kept(
    study: str, variant: str | None = None, *, root: Path | None = None, folder: Path = KEPT
) -> list[Observations]:
    """Return the kept observations of a study, by variant, γ and seed.

    Parameters
    ----------
    study : str
        A study's name.
    variant : str, optional
        One of its variants; all of them if not given.
    root : Path, optional
        Observe the complete run folders under ``root/study`` instead of reading what is kept.
    folder : Path, optional
        The folder with the kept files.

    Raises
    ------
    InputError
        If there is none, with the command that makes them, or if a file is not what was kept.
    """
    if root is not None:
        found = [observe(run) for run in _complete_runs(root / study, variant)]
    else:
        pattern = "*.safetensors" if variant is None else f"{variant}__*.safetensors"
        found = [read_kept(file) for file in _ordered((folder / study).glob(pattern))]
    if not found:
        name = study if variant is None else f"{study}, variant {variant}"
        where = folder if root is None else root
        raise InputError(
            "study", name, f"no runs of it in {where}", f"make them: anchorflow study {study} --run --keep"
        )
    return found


def observe_path(path: Path | str) -> Observations:
    """Return the observations of a run folder, or those that a kept file holds."""
    return read_kept(Path(path)) if Path(path).suffix == ".safetensors" else observe(Run.open(path))


def kept_file(study: str, variant: str | None, config: MemberConfig, folder: Path = KEPT) -> Path:
    """Return where the observations of a study's run are kept."""
    prefix = "" if variant is None else f"{variant}__"
    return folder / study / f"{prefix}{config.name}.safetensors"


def write_kept(observations: Observations, file: Path) -> None:
    """Write observations to a file, and its checksum to the list in the folder above.

    A file that says the same already keeps its bytes: the order of a header's entries is not fixed.
    """
    header = {
        "format_version": FORMAT_VERSION,
        "config": observations.config.model_dump(mode="json"),
        "provenance": observations.provenance,
        "epochs": observations.epochs,
    }
    arrays = pack_arrays(observations.arrays) | pack_metrics(observations.metrics)
    content = safetensors.numpy.save(
        {name: np.ascontiguousarray(a) for name, a in arrays.items()},
        metadata={key: json.dumps(value, allow_nan=False) for key, value in header.items()},
    )
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_bytes() if file.is_file() else b""
        content = before if _said(before) == _said(content) else content
        write_atomically(file, content)
        _note(file, hashlib.sha256(content).hexdigest())


def _said(content: bytes) -> tuple[Any, bytes]:
    """Return the header and the data of a safetensors file; of one that is none, what it holds."""
    size = int.from_bytes(content[:8], "little")
    try:
        return json.loads(content[8 : 8 + size]), content[8 + size :]
    except ValueError:
        return None, content


def drop_kept(file: Path) -> None:
    """Delete a kept file and its checksum."""
    with writing(file):
        file.unlink()
        _note(file, None)


def read_kept(file: Path) -> Observations:
    """Read kept observations.

    Raises
    ------
    InputError
        If the file is missing, unreadable, of another version, or not the one whose checksum is listed.
    """
    _verify(file)
    try:
        stored, meta = read_arrays(file)
    except (SafetensorError, OSError) as error:
        raise _refused(file, f"cannot be read ({error})") from None
    header = _header(file, meta)
    return Observations(
        make_member_config(header["config"]),
        header["provenance"],
        unpack_metrics(stored),
        tuple(header["epochs"]),
        unpack_arrays(stored),
    )


def read_header(file: Path) -> dict[str, Any]:
    """Return a kept file's config, provenance and epochs as plain data, without reading its arrays."""
    try:
        with safetensors.safe_open(file, framework="numpy") as opened:
            return _header(file, dict(opened.metadata() or {}))
    except (SafetensorError, OSError) as error:
        raise _refused(file, f"cannot be read ({error})") from None


def _header(file: Path, meta: dict[str, str]) -> dict[str, Any]:
    header = {key: json.loads(value) for key, value in meta.items()}
    version = header.get("format_version")
    if version != FORMAT_VERSION:
        raise _refused(file, f"has format version {version}, this program reads {FORMAT_VERSION}")
    return header


def _note(file: Path, digest: str | None) -> None:
    """Set or remove a file's checksum in the list."""
    listed = _checksums(file)
    listed.pop(_key(file), None)
    if digest is not None:
        listed[_key(file)] = digest
    write_json(file.parent.parent / _CHECKSUMS, dict(sorted(listed.items())))


def _verify(file: Path) -> None:
    """Refuse a file that differs from its checksum, or has none in a folder that has a list."""
    if not file.is_file():
        raise _refused(file, "no such file")
    listed = _checksums(file)
    if listed and listed.get(_key(file)) != hashlib.sha256(file.read_bytes()).hexdigest():
        raise _refused(file, f"is not the file whose checksum {_CHECKSUMS} lists")


def _checksums(file: Path) -> dict[str, str]:
    found = file.parent.parent / _CHECKSUMS
    return dict(json.loads(found.read_text())) if found.exists() else {}


def _key(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _refused(file: Path, problem: str) -> InputError:
    remedy = "restore it, or keep its run again: anchorflow study NAME --keep"
    return InputError("kept observations", str(file), problem, remedy)


def _ordered(files: Iterable[Path]) -> list[Path]:
    """Sort kept files by variant, γ and seed."""

    def order(file: Path) -> tuple[str, float, int]:
        config = read_header(file)["config"]
        return file.name.rpartition("__")[0], config["init_rate"], config["seed"]

    return sorted(files, key=order)


def _complete_runs(folder: Path, variant: str | None) -> list[Run]:
    """Return the complete runs of a study's folder, by variant, γ and seed."""
    depths = ("*/config.json", "*/*/config.json") if variant is None else (f"{variant}/*/config.json",)
    runs = []
    for config in (found for depth in depths for found in folder.glob(depth)):
        if json.loads((config.parent / "provenance.json").read_text()).get("status") == "complete":
            runs.append(Run.open(config.parent))
    return sorted(runs, key=lambda run: (str(run.path.parent), run.config.init_rate, run.config.seed))
