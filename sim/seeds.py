"""Independent random streams from one seed: initialisation, data and evaluation never share one."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def stream_seed(seed: int, stream: str) -> int:
    """Return a 63-bit seed for a named stream, e.g. "init/W1": stable across machines and versions."""
    digest = hashlib.blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def torch_stream(seed: int, stream: str) -> torch.Generator:
    """Return a torch generator for a named stream."""
    import torch  # Kept runs are read, and NumPy's streams drawn, without it.

    return torch.Generator().manual_seed(stream_seed(seed, stream))


def numpy_stream(seed: int, stream: str) -> np.random.Generator:
    """Return a NumPy generator for a named stream."""
    return np.random.default_rng(stream_seed(seed, stream))
