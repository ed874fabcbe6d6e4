"""Matrices from other people's checkpoints, read from a safetensors file without its other tensors."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load

from theory import InputError
from theory.edge.checked import checked
from theory.edge.errors import unknown_name
from theory.edge.reading import as_path, load_json, open_regular

EMBEDDINGS = (
    *("wte.weight", "transformer.wte.weight", "model.embed_tokens.weight", "gpt_neox.embed_in.weight"),
    *("embeddings.word_embeddings.weight", "W_E", "W_emb"),
)
"""Usual names of embeddings."""
READOUTS = ("lm_head.weight", "embed_out.weight", "output.weight", "head.weight")
"""Usual names of read-outs with one row per token; without one a model is tied."""
INDEX = ".safetensors.index.json"
_LARGEST_HEADER = 100_000_000
_DAMAGED = (ValueError, AttributeError, TypeError, KeyError, RecursionError, OverflowError, OSError)


@checked
def read_embedding(path: Any, tensor: str | None = None) -> npt.NDArray[np.float64]:
    """Return one matrix of a checkpoint; no other tensor of the file is read.

    Parameters
    ----------
    path : path or file
        A safetensors file; the index of one in parts (``model.safetensors.index.json``); or a binary file
        object with ``seek`` and ``read``, such as fsspec opens for a remote file.
    tensor : str, optional
        Its name; by default the only tensor with a usual name of an embedding.
    """
    return Checkpoint(path).matrix(tensor)


class Checkpoint:
    """The tensors of a checkpoint by name, in one file or several; see ``read_embedding`` for its path.

    Opening it reads only the tensors' names.
    """

    def __init__(self, path: Any) -> None:
        is_file = hasattr(path, "seek") and hasattr(path, "read")
        source = path if is_file else as_path("path", path)
        self.name = str(getattr(path, "name", "a file") if is_file else source)
        if self.name.endswith(INDEX) and not is_file:
            index = load_json(source)
            parts = index.get("weight_map") if isinstance(index, dict) else None
            if not isinstance(parts, dict) or not all(isinstance(part, str) for part in parts.values()):
                raise InputError("path", self.name, "not a checkpoint's index", "name one with a weight_map")
            # Parts lie beside their index; a folder in their names is ignored.
            self._files = {tensor: source.parent / Path(part).name for tensor, part in parts.items()}
        else:
            self._files = dict.fromkeys(self._read(source), source)

    @property
    def readout(self) -> str | None:
        """The name of the read-out, None for a tied model."""
        return next((name for name in READOUTS if name in self._files), None)

    def matrix(self, tensor: str | None = None) -> npt.NDArray[np.float64]:
        """Return a matrix by name; by default the only tensor with a usual name of an embedding."""
        names = sorted(self._files)
        known = [name for name in EMBEDDINGS if name in self._files]
        if tensor is None and len(known) != 1:
            problem = "several may be the embedding" if known else "none has a usual name of an embedding"
            raise InputError("tensor", None, problem, f"name one of {', '.join((known or names)[:12])}")
        chosen = known[0] if tensor is None else tensor
        if chosen not in self._files:
            raise unknown_name("tensor", chosen, names)
        matrix = self._read(self._files[chosen], chosen)[chosen]
        return as_matrix_of_rows(f"{self.name}: {chosen}", matrix)

    def _read(self, source: Any, tensor: str = "") -> dict[str, Any]:
        """Return a file's header, or one tensor by name."""
        with open_regular(source) if isinstance(source, Path) else nullcontext(source) as file:
            try:
                file.seek(0)
                size = int.from_bytes(file.read(8), "little")
                header: dict[str, Any] = json.loads(file.read(min(size, _LARGEST_HEADER)))
                header.pop("__metadata__", None)
                offsets = {name: tuple(map(int, entry["data_offsets"])) for name, entry in header.items()}
                if not tensor:
                    return header
                # The bytes of a file with this tensor alone, for the library to read and check.
                first, end = offsets[tensor]
                alone = json.dumps({tensor: header[tensor] | {"data_offsets": [0, end - first]}}).encode()
                file.seek(8 + size + first)
                return load(len(alone).to_bytes(8, "little") + alone + file.read(end - first))
            except (*_DAMAGED, MemoryError, SafetensorError):
                problem, remedy = "not a safetensors file of floating-point tensors", "save it as one"
                raise InputError("path", self.name, problem, remedy) from None


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
