"""Tensors in safetensors files, and what a checkpoint holds besides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError

Arrays = dict[str, npt.NDArray[Any]]
_METADATA = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class CheckpointState:
    """The state in a checkpoint besides tensors."""

    epoch: int
    position: int
    """Steps taken in the current epoch."""
    step: int
    sum_learning_rate: float
    failure: str | None
    """Why the member diverged, if it did."""
    seconds: float
    """Wall time so far."""

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self), allow_nan=False)


class DamagedError(ValueError):
    """A file's content is not what this program writes; the message says where."""


def write_tensors(arrays: Mapping[str, npt.NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """Return the bytes of a safetensors file; equal arguments give equal bytes."""
    content = safetensors.numpy.save({name: np.ascontiguousarray(each) for name, each in arrays.items()})
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    if metadata:  # Its order, where the library writes it, differs between processes.
        header["__metadata__"] = dict(sorted(metadata.items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def read_tensors(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """Return a safetensors file's arrays and its metadata; raise DamagedError if it is no such file."""
    try:
        arrays = safetensors.numpy.load(content)
    except KeyError as error:
        raise DamagedError(f"has a tensor of dtype {error.args[0]}") from None
    except (SafetensorError, ValueError, TypeError) as error:
        raise DamagedError(f"cannot be read ({error})") from None
    return arrays, read_metadata(content)


def read_metadata(content: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file, for which its beginning is enough."""
    size = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + size])
        return _METADATA.validate_python(header.get("__metadata__", {}))
    except (ValueError, RecursionError, AttributeError) as error:
        reason = "its metadata is not text" if isinstance(error, ValidationError) else "it has no header"
        raise DamagedError(f"cannot be read ({reason})") from None
