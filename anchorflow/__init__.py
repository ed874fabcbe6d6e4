"""Theory and simulation of why small initial weights make a model learn the rule first, under one name.

``anchorflow.theory``, ``anchorflow.sim`` and ``anchorflow.validate`` are the packages ``theory``, ``sim`` and
``validate``, loaded at first use. A folder of your own may have one of these short names; the message of
the ``ImportError`` then says which folder hides the package.
"""

from __future__ import annotations

# Instead of typing's, which is slow to load: until this is imported, the command cannot answer Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    import sim as sim
    import theory as theory
    import validate as validate

    __version__: str

__all__ = ["sim", "theory", "validate"]


def __getattr__(name: str) -> ModuleType | str:
    if name == "__version__":
        from importlib.metadata import version

        return version("anchorflow")
    if name not in __all__:
        raise AttributeError(f"module 'anchorflow' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"anchorflow.{name}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]
