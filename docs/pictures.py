"""Pictures of the pages: drawn again by the scripts that drew them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def redraw(figure: Figure, file: Path) -> None:
    """Write a picture in place of the one that is there.

    ``save`` would refuse one without its mark, as it leaves files of others alone. What lies at a page's own
    place is the page's, and older pictures there have no mark.
    """
    from validate.figures import save  # here: most scripts that could draw print alone

    file.unlink(missing_ok=True)
    save(figure, file, overwrite=True)
