"""Sphinx configuration; warnings are errors in `make docs`."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

project = "anchorflow"
author = "The anchorflow developers"
copyright = f"2026, {author}"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "anchorflow"
exclude_patterns = ["_build"]
