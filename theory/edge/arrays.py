"""Names of arrays in annotations, with their axes: ``Float64[FloatArray, "n d"]``.

jaxtyping is imported here alone. It is a dependency, not an optional import, because ``checked`` reads these
annotations at run time; it is small, pure Python, and needs nothing but NumPy's ``shape`` and ``dtype``.
Type checkers see the array's type; ``checked`` sees the entries and axes of arguments. The axes of returned
arrays are for readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import AbstractArray as AbstractArray
from jaxtyping import Bool as Bool
from jaxtyping import Float64 as Float64
from jaxtyping import Int64 as Int64
from jaxtyping import Integer as Integer
from jaxtyping import Real as Real

# ``numpy.typing.NDArray`` written out: from NumPy 2.5 on it is an alias that jaxtyping cannot read.
FloatArray = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
IntArray = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
AnyIntArray = np.ndarray[tuple[Any, ...], np.dtype[np.integer[Any]]]
BoolArray = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
else:
    # Anything that NumPy can make an array of; jaxtyping names the axes of that array.
    ArrayLike = np.ndarray
