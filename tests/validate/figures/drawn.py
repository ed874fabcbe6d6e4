"""The figures of made-up runs, each drawn once for all tests that look at it."""

from __future__ import annotations

from functools import cache

from tests.validate.figures.synthetic import MEMORIES, RANGES, make_observations, several
from tests.validate.figures.synthetic_language import several_language
from validate.figures import Sheet
from validate.figures.paper import draw_figure
from validate.figures.style import fix_layout
from validate.observe import Observations


def runs_for(number: int) -> list[Observations]:
    """Return runs that a figure can be drawn from."""
    if number in (1, 7, 14):
        return several_language()
    if number == 8:
        return [make_observations(m, task=t) for t in (RANGES, MEMORIES) for m in ("emb-mlp", "transformer")]
    if number == 16:
        return several("no-norm")
    if number == 17:
        return [o for rate in (1e-4, 1e-3) for o in several(learning_rate=rate)]
    if number == 3:
        return several("transformer") + several("emb-mlp")
    return several("emb-mlp" if number in (4, 10) else "transformer", (0.3, 0.5, 0.8))


@cache
def drawn(number: int) -> Sheet:
    """Return a drawn figure of such runs, its texts where a file has them."""
    return laid_out(draw_figure(number, runs_for(number)))


def laid_out(sheet: Sheet) -> Sheet:
    """Return a drawn sheet whose texts are where a file has them."""
    assert sheet.figure_ is not None
    fix_layout(sheet.figure_)
    sheet.figure_.draw_without_rendering()
    return sheet
