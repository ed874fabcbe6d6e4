"""A corpus from files of token numbers, which another program wrote."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.data.corpus import LARGEST_VOCABULARY, Corpus, vocabulary_of
from sim.data.text import SEPARATOR
from theory import InputError
from theory.edge.checked import checked
from theory.edge.reading import as_path, open_regular


@checked
def read_token_arrays(
    paths: Sequence[str | Path],
    *,
    dtype: str | None = None,
    tokenizer: str | Path | None = None,
    separator: str = SEPARATOR,
) -> Corpus:
    """Return a corpus from files that hold token numbers.

    Parameters
    ----------
    paths : sequence of path
        ``.npy`` arrays of integers, shape (n,) or one document per row; or ``.bin``, bare numbers one after
        another, such as nanoGPT writes.
    dtype : str, optional
        The kind of number in a ``.bin`` file, such as "uint16", which nothing in it tells.
    tokenizer : path, optional
        The tokenizer.json that wrote them, for the tokens' names; without it token i is shown as <i>.
    separator : str, optional
        The token, by name or number, after which a document ends; a name needs the tokenizer.
    """
    known = None if tokenizer is None else vocabulary_of(str(tokenizer))[1]
    named = known.index(separator) if known is not None and separator in known else -1
    end = int(separator) if separator.isdecimal() else named
    if end < 0 and separator not in ("", SEPARATOR):
        raise InputError("separator", separator, "no token of that name", "give a number, or the tokenizer")
    tokens, ends, start = [], [], 0
    for path in paths:
        numbers = _token_array(as_path("file", path), dtype)
        rows = np.arange(0, numbers.size, numbers.shape[-1]) + numbers.shape[-1]
        flat = numbers.ravel().astype(np.int32)
        tokens.append(flat)
        ends.append(start + np.union1d(np.flatnonzero(flat == end) + 1, rows))
        start += len(flat)
    if not tokens:
        raise InputError("paths", [], "none", "name at least one file")
    size = max(int(numbers.max()) for numbers in tokens) + 1
    if known is not None and size > len(known):
        problem = f"has no token {size - 1}, which the files hold"
        raise InputError("tokenizer", str(tokenizer), problem, "give the tokenizer that wrote them")
    words = known or tuple(f"<{i}>" for i in range(size))
    return Corpus(np.concatenate(tokens), np.concatenate(ends), words)


def _token_array(path: Path, dtype: str | None) -> npt.NDArray[Any]:
    if path.suffix.lower() == ".bin" and dtype is None:
        problem = "bare numbers, and nothing in the file tells of which kind"
        raise InputError("dtype", None, problem, "give it (--dtype uint16, or uint32)")
    try:
        with open_regular(path) as file:
            content = file.read()
        if path.suffix.lower() == ".npy":
            numbers = np.lib.format.read_array(io.BytesIO(content))
        else:
            numbers = np.frombuffer(content, np.dtype(dtype))
    except (ValueError, TypeError, EOFError) as error:
        problem = f"not an array of numbers ({error})"
        raise InputError("file", str(path), problem, "give .npy, or .bin with its dtype") from None
    if numbers.dtype.kind not in "iu" or numbers.ndim not in (1, 2) or not numbers.size:
        problem = f"of {numbers.dtype}, shape {numbers.shape}"
        raise InputError("file", str(path), problem, "give integers, shape (n,) or (n, L)")
    if numbers.min() < 0 or numbers.max() >= LARGEST_VOCABULARY:
        problem = f"its numbers reach from {numbers.min()} to {numbers.max()}"
        remedy = f"give tokens of 0 to {LARGEST_VOCABULARY - 1}, with the dtype that they were written in"
        raise InputError("file", str(path), problem, remedy)
    return np.asarray(numbers)
