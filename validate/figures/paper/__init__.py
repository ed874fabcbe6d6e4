"""The figures of the paper, each built from observations; ``anchorflow figures`` draws them."""

from validate.figures.paper.registry import (
    FIGURES,
    PaperFigure,
    draw_figure,
    find_figure,
    kept_of,
    runs_behind,
)

__all__ = ["FIGURES", "PaperFigure", "draw_figure", "find_figure", "kept_of", "runs_behind"]
