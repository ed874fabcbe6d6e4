"""The embedding that someone else's checkpoint holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open

from theory import InputError
from theory.checked import checked
from theory.errors import unknown_name
from theory.paths import as_path, is_file

USUAL = (
    *("wte.weight", "transformer.wte.weight", "model.embed_tokens.weight", "gpt_neox.embed_in.weight"),
    *("embeddings.word_embeddings.weight", "W_E", "W_emb"),
)
"""What embeddings are usually called."""


@checked
def read_embedding(path: Any, tensor: str | None = None) -> npt.NDArray[np.float64]:
    """Return one matrix of a safetensors file; of the file, no other tensor is read.

    Parameters
    ----------
    path : path
    tensor : str, optional
        Its name; by default the only one that embeddings are usually called.

    Raises
    ------
    InputError
        If the file cannot be read, has no such tensor, or the tensor is not a matrix of finite numbers.
    """
    file = as_path("path", path)
    if not is_file(file):
        raise InputError("path", str(file), "no such file", "name a .safetensors file")
    try:
        with safe_open(file, framework="pt") as opened:
            found = opened.get_tensor(_name(list(opened.keys()), tensor))
    except (SafetensorError, OSError) as error:
        raise InputError("path", str(file), f"not a safetensors file ({error})", "save it again") from None
    return as_matrix_of_rows(f"{file.name}: {tensor or 'its embedding'}", found)


def _name(names: list[str], wanted: str | None) -> str:
    if wanted is not None:
        if wanted not in names:
            raise unknown_name("tensor", wanted, names)
        return wanted
    usual = [name for name in USUAL if name in names]
    if len(usual) != 1:
        problem = "none is called as embeddings usually are" if not usual else "several may be the embedding"
        raise InputError("tensor", None, problem, f"name one of {', '.join(sorted(usual or names)[:12])}")
    return usual[0]


def as_matrix_of_rows(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return an embedding as float64, whatever holds it.

    Raises
    ------
    InputError
        If it is not a matrix of finite real numbers.
    """
    if isinstance(values, (torch.nn.Embedding, torch.nn.Linear)):
        values = values.weight
    if isinstance(values, torch.Tensor) and not values.is_meta and not values.is_complex():
        values = values.detach().to("cpu", torch.float64).numpy()
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RuntimeError):
        array = np.zeros(0)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or not array.size:
        raise InputError("embedding", name, "not a matrix of numbers", "give one row per token")
    if not np.isfinite(array).all():
        raise InputError("embedding", name, "holds NaN or infinity", "compare a step before it diverged")
    return np.asarray(array, np.float64)
