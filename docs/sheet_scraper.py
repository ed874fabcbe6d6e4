"""How the gallery finds our figures: they are not pyplot figures, but sheets that a script draws."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the sheet that a block draws, and return the page's markup for it."""
    if "draw_figure(" not in block[1]:
        return ""
    sheet = block_vars["example_globals"]["sheet"]
    path = next(block_vars["image_path_iterator"])
    sheet.figure_.savefig(path, dpi=110)
    return str(figure_rst([path], gallery_conf["src_dir"], sheet.caption))
