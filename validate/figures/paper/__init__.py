"""The figures of the paper, each built from observations; ``anchorflow figures`` draws them.

Each module of this package registers the figures that it builds; a new module is discovered automatically.
"""

from importlib import import_module
from pkgutil import iter_modules

from validate.figures.paper.registry import FIGURES as FIGURES
from validate.figures.paper.registry import PaperFigure as PaperFigure
from validate.figures.paper.registry import draw_figure as draw_figure
from validate.figures.paper.registry import find_figure as find_figure
from validate.figures.paper.registry import kept_of as kept_of
from validate.figures.paper.registry import paper_figure as paper_figure
from validate.figures.paper.registry import runs_behind as runs_behind

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
