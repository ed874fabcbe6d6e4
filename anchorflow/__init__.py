"""Theory and simulation of why small initial weights make a model learn the rule first, under one name.

``anchorflow.theory``, ``anchorflow.sim`` and ``anchorflow.validate`` are the packages ``theory``, ``sim`` and
``validate``, loaded at first use. Those short names can belong to a folder of your own as well; then the
message of the ``ImportError`` says which folder is in the way.
"""

from __future__ import annotations

# In place of typing's: the command imports this first, and cannot answer Ctrl-C before it is done.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    import sim as sim
    import theory as theory
    import validate as validate

__all__ = ["sim", "theory", "validate"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'anchorflow' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"anchorflow.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
