"""Theory and simulation of why small initial weights make a model learn the rule first, under one name.

``anchorflow.theory``, ``anchorflow.sim`` and ``anchorflow.validate`` are the packages ``theory``, ``sim`` and
``validate``, loaded at first use. Those short names can belong to a folder of your own as well; then the
message of the ``ImportError`` says which folder stands in the way.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sim as sim
    import theory as theory
    import validate as validate

__all__ = ["sim", "theory", "validate"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'anchorflow' has no attribute {name!r}")
    return importlib.import_module(f"anchorflow.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
