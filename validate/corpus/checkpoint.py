"""Matrices from other people's checkpoints, read from their files without the other tensors.

A file tells names, shapes, which names share one tensor, and perhaps a configuration beside it. A name only
chooses among tensors whose shapes fit; what none of these says is unknown.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load

from theory import InputError
from theory.corpus.counts import CountPredictor
from theory.edge.checked import checked
from theory.edge.errors import check_memory, unknown_name
from theory.edge.reading import as_path, is_file, is_folder, load_json, open_regular

EMBEDDINGS = (
    *("wte", "embed_tokens", "embed_in", "word_embeddings", "tok_embeddings", "token_embedding", "tok_emb"),
    *("embed", "embedding", "embeddings", "shared", "W_E", "W_emb"),
)
"""Usual names of embeddings, without what stands before them and ``.weight``."""
READOUTS = ("lm_head", "embed_out", "output", "head", "output_layer", "ff_out", "unembed", "W_U")
"""Usual names of read-outs."""
_POSITIONS = re.compile(r"(?<![a-z])(pos|wpe)")
"""In names of position tables."""
INDEX = ".safetensors.index.json"
_FILES = ("model.safetensors", f"model{INDEX}")
_LARGEST_HEADER = 16 * 2**20
"""Bytes: the library's own limit of 100 MB takes half a minute and gigabytes to read."""
_DAMAGED = (ValueError, AttributeError, TypeError, KeyError, RecursionError, OverflowError, OSError)
_PICKLES = (b"PK", b"\x80\x02", b"\x80\x04")
"""How torch's own files begin."""


class Matrix(NamedTuple):
    """A matrix with a row per token, "embedding" or "read-out", and the predictions that fit it."""

    kind: str
    rows: npt.NDArray[np.float64]
    predictors: Sequence[CountPredictor]


@checked
def read_embedding(
    path: Any, tensor: str | None = None, *, weights_only: bool = False
) -> npt.NDArray[np.float64]:
    """Return the embedding of a checkpoint, or any one matrix; no other tensor of a file is read.

    Parameters
    ----------
    path : path or file
        A safetensors file; the index of one in parts (``model.safetensors.index.json``); a folder with
        either, also of Hugging Face's cache; or a binary file object with ``seek`` and ``read``, such as
        fsspec opens for a remote file.
    tensor : str, optional
        Its name; by default the only tensor with a usual name of an embedding.
    weights_only : bool, optional
        Also read a file of ``torch.save``, by ``torch.load(weights_only=True)``.
    """
    return Checkpoint(path, weights_only=weights_only).matrix(tensor)


class Checkpoint:
    """The tensors of a checkpoint by name, in one file or several; see ``read_embedding`` for its path.

    Opening it reads only the tensors' names and shapes, and a config.json beside them.
    """

    def __init__(self, path: Any, *, weights_only: bool = False) -> None:
        is_file_object = hasattr(path, "seek") and hasattr(path, "read")
        source = path if is_file_object else _in_folder(as_path("path", path))
        self.name = str(getattr(path, "name", "a file") if is_file_object else source)
        self._loaded = dict[str, torch.Tensor]()
        self._aliases, self._tied = dict[str, str](), None
        if self.name.endswith(INDEX) and not is_file_object:
            index = load_json(source)
            parts = index.get("weight_map") if isinstance(index, dict) else None
            if not isinstance(parts, dict) or not all(isinstance(part, str) for part in parts.values()):
                raise InputError("path", self.name, "not a checkpoint's index", "name one with a weight_map")
            # Parts lie beside their index; a folder in their names is ignored.
            self._files = {tensor: source.parent / Path(part).name for tensor, part in parts.items()}
            headers = [self._read(file) for file in dict.fromkeys(self._files.values()) if is_file(file)]
            entries = {name: entry for header in headers for name, entry in header.items()}
        elif weights_only and not is_file_object and _is_pickle(source):
            self._loaded = _load_pickle(source)
            entries = {name: {"shape": [*tensor.shape]} for name, tensor in self._loaded.items()}
            self._files = dict.fromkeys(entries, source)
        else:
            entries = self._read(source)
            self._files = dict.fromkeys(entries, source)
        self._shapes = {name: tuple(entry.get("shape", ())) for name, entry in entries.items()}
        if not is_file_object and is_file(config := source.parent / "config.json"):
            with suppress(InputError, AttributeError):
                said = load_json(config)
                text = said.get("text_config") or {}
                self._tied = text.get("tie_word_embeddings", said.get("tie_word_embeddings"))

    def matrix(self, tensor: str | None = None) -> npt.NDArray[np.float64]:
        """Return a matrix by name; by default the only embedding: the one tensor with a usual name of one."""
        name = self._embedding() if tensor is None else tensor
        if tensor is None and _last(name) in READOUTS and not self._is_tied(name):
            problem = f"the file holds no embedding, only {name}, and does not say that it is tied"
            raise InputError("tensor", None, problem, "name the tensor")
        return self._rows(name)

    def matrices(self, tensor: str | None = None, readout: str | None = None) -> list[Matrix]:
        """Return the embedding, and the read-out if it is another matrix.

        ``readout`` is its name or "tied". Without one it is the second matrix with as many rows, or
        columns, as the embedding has rows. If the file neither holds one nor says that it is tied, both
        predictions are returned.
        """
        name = self._embedding() if tensor is None else tensor
        E = self._rows(name)
        if tensor is None and _last(name) in READOUTS and readout is None and not self._is_tied(name):
            return [Matrix("read-out", E, ("tied", "readout"))]
        other = readout if readout != "tied" else None
        if readout is None:
            other = self._readout(name, *E.shape)
        if other is None:
            known = readout == "tied" or self._is_tied(name)
            return [Matrix("embedding", E, ("tied",) if known else ("tied", "bigram"))]
        U = self._rows(other)
        U = U.T if U.shape[1] != E.shape[1] and len(U) == E.shape[1] else U
        if np.array_equal(E, U):
            return [Matrix("embedding", E, ("tied",))]
        return [Matrix("embedding", E, ("bigram",)), Matrix("read-out", U, ("readout",))]

    def _embedding(self) -> str:
        names: list[str] = sorted(self._files)
        outside = [name for name in names if _last(name) is not None and not _POSITIONS.search(name)]
        known = [name for name in outside if _last(name) in EMBEDDINGS]
        known = known or [name for name in outside if _last(name) in READOUTS]
        # A model may keep its one embedding under several names, as T5 does.
        if not known or (len(known) > 1 and not all(self._same(known[0], name) for name in known[1:])):
            problem = "several may be the embedding" if known else "none has a usual name of an embedding"
            raise InputError("tensor", None, problem, f"name one of {', '.join((known or names)[:12])}")
        return known[0]

    def _readout(self, embedding: str, V: int, d: int) -> str | None:
        """Return the name of the second matrix with V rows or columns; refuse several."""
        fits = []
        for name, shape in self._shapes.items():
            last = _last(name)
            if name == embedding or last is None or last in EMBEDDINGS or _POSITIONS.search(name):
                continue
            if shape in ((V, d), (d, V)) or (last in READOUTS and len(shape) == 2 and d in shape):
                fits.append(name)
        named = [name for name in fits if _last(name) in READOUTS]
        fits = named if len(named) == 1 else fits
        if len(fits) > 1:
            problem = f"{' and '.join(fits[:4])} both fit the embedding's shape"
            raise InputError("readout", None, problem, 'name one of them, or "tied" (--readout)')
        return fits[0] if fits else None

    def _is_tied(self, name: str) -> bool:
        """Return whether the file says that the read-out shares this tensor."""
        shared = {alias for alias, kept in self._aliases.items() if kept == name} | {name}
        roles = [names for names in (EMBEDDINGS, READOUTS) if any(_last(each) in names for each in shared)]
        return len(roles) == 2 or self._tied is True

    def _same(self, one: str, other: str) -> bool:
        return self._shapes[one] == self._shapes[other] and np.array_equal(self._rows(one), self._rows(other))

    def _rows(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self._files:
            raise unknown_name("tensor", name, sorted(self._files))
        held = (self._loaded or self._read(self._files[name], name))[name]
        if not held.is_floating_point() and not held.is_complex():
            problem = f"holds numbers of {held.dtype}, which a scale elsewhere may turn into weights"
            raise InputError("tensor", name, problem, "save it dequantised")
        return as_matrix_of_rows(f"{self.name}: {name}", held)

    def _read(self, source: Any, tensor: str = "") -> dict[str, Any]:
        """Return a file's header, or one tensor by name."""
        with open_regular(source) if isinstance(source, Path) else nullcontext(source) as file:
            try:
                file.seek(0)
                if (begin := file.read(8))[:2] in _PICKLES:
                    problem, remedy = "a file of torch.save", "add weights_only=True (--weights-only)"
                    raise InputError("path", self.name, problem, remedy)
                size = int.from_bytes(begin, "little")
                if size > _LARGEST_HEADER:
                    problem = f"not a safetensors file, or one with a header of {size} bytes"
                    raise InputError("path", self.name, problem, f"give one with at most {_LARGEST_HEADER}")
                header: dict[str, Any] = json.loads(file.read(size))
                said = header.pop("__metadata__", None) or {}
                offsets = {name: tuple(map(int, entry["data_offsets"])) for name, entry in header.items()}
                if not tensor:
                    # ``safetensors.torch.save_model`` keeps one of the names that share a tensor.
                    self._aliases |= {alias: kept for alias, kept in said.items() if kept in header}
                    return header
                # The bytes of a file with this tensor alone, for the library to read and check.
                first, end = offsets[tensor]
                if file.seek(0, os.SEEK_END) < 8 + size + end:
                    raise ValueError("shorter than its header says")
                # Its bytes twice, and each of its numbers, of a byte or more, in float64.
                check_memory("tensor", tensor, 10 * (end - first), "to read it", "give a smaller matrix")
                alone = json.dumps({tensor: header[tensor] | {"data_offsets": [0, end - first]}}).encode()
                file.seek(8 + size + first)
                return load(len(alone).to_bytes(8, "little") + alone + file.read(end - first))
            except InputError:
                raise
            except (*_DAMAGED, MemoryError, SafetensorError):
                problem, remedy = "not a safetensors file of floating-point tensors", "save it as one"
                raise InputError("path", self.name, problem, remedy) from None


def _last(name: str) -> str | None:
    """Return the last part of a tensor's name without ``.weight``; None inside a numbered layer."""
    parts = name.removesuffix(".weight").split(".")
    return None if any(part.isdecimal() for part in parts) else parts[-1]


def _in_folder(path: Path) -> Path:
    """Return a path, or the checkpoint in a folder, which may be a repository of Hugging Face's cache."""
    if not is_folder(path):
        return path
    snapshots = path / "snapshots"
    if is_folder(snapshots):
        folders = sorted(folder for folder in snapshots.iterdir() if folder.is_dir())
        if is_file(main := path / "refs" / "main"):
            folders = [snapshots / main.read_text().strip()]
        if len(folders) != 1:
            names = ", ".join(folder.name for folder in folders[:8])
            raise InputError("path", str(path), f"holds {len(folders)} snapshots", f"name one: {names}")
        path = folders[0]
    files = [path / name for name in _FILES if is_file(path / name)]
    if len(files) != 1:
        problem = f"a folder with {'both' if files else 'neither'} of {' and '.join(_FILES)}"
        raise InputError("path", str(path), problem, "name the file")
    return files[0]


def _is_pickle(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(2) in _PICKLES


def _load_pickle(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a file of ``torch.save``, those in dictionaries under dotted names."""
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # Its unpickler raises whatever the file makes it raise.
        reason = str(error).partition("\n")[0]
        problem = f"torch.load(weights_only=True) refuses it ({reason})"
        raise InputError("path", str(path), problem, "save its state_dict alone") from None
    tensors, left, seen = dict[str, torch.Tensor](), [("", held)], set[int]()
    while left:
        name, value = left.pop()
        if isinstance(value, torch.Tensor):
            tensors[name] = value
        elif isinstance(value, Mapping) and id(value) not in seen:  # One may hold itself.
            seen.add(id(value))
            left += [(f"{name}.{key}".strip("."), inner) for key, inner in value.items()]
    if not tensors:
        raise InputError("path", str(path), "holds no tensors by name", "save its state_dict alone")
    return tensors


def as_matrix_of_rows(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return an embedding in any container as float64; refuse it if it is not a finite matrix."""
    if isinstance(values, (torch.nn.Embedding, torch.nn.Linear)):
        values = values.weight
    try:
        if isinstance(values, torch.Tensor) and not values.is_complex():
            values = values.detach().to("cpu", torch.float64).numpy()
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RuntimeError):
        array = np.zeros(0)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or not array.size:
        raise InputError("embedding", name, "not a matrix of numbers", "give one row per token")
    if not np.isfinite(array).all():
        raise InputError("embedding", name, "holds NaN or infinity", "compare a step before it diverged")
    return np.asarray(array, np.float64)
