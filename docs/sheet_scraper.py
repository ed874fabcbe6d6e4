"""How the gallery shows our figures: sheets that a script draws, with their captions as text."""

from __future__ import annotations

import re
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from validate.figures.paper import runs_behind


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the sheet that a block draws, and return the page's markup: picture, caption, runs and numbers."""
    number = re.search(r"draw_figure\((\d+)\)", block[1])
    if number is None:
        return ""
    sheet = block_vars["example_globals"]["sheet"]
    path = next(block_vars["image_path_iterator"])
    sheet.figure_.savefig(path, dpi=110)
    picture = str(figure_rst([path], gallery_conf["src_dir"], sheet.caption))
    runs = f"Drawn by anchorflow figures {number[1]}; {runs_behind(int(number[1]))}."
    numbers = [f"- {_plain(line)}" for line in sheet.summary()]
    return "\n\n".join([picture, *map(_plain, (sheet.caption, sheet.note, runs)), "\n".join(numbers)]) + "\n"


def _plain(text: str) -> str:
    """Return a text that reStructuredText shows as it is; commands as code, where two hyphens stay two."""
    escaped = re.sub(r"([\\`*_|])", r"\\\1", text)
    return re.sub(r"anchorflow (study [^.]*|figures \d+)", r"``\g<0>``", escaped)
