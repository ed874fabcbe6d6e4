"""The figures of the paper, each built from observations; ``anchorflow figures`` draws them.

Each module of this package registers the figures that it builds; a new module is found by itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from validate.figures.paper.registry import (
    FIGURES,
    PaperFigure,
    Source,
    draw_figure,
    find_figure,
    kept_of,
    likeliest,
    paper_figure,
    runs_behind,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "FIGURES",
    "PaperFigure",
    "Source",
    "draw_figure",
    "find_figure",
    "kept_of",
    "likeliest",
    "paper_figure",
    "runs_behind",
]
