"""Sphinx configuration; warnings are errors in `make docs`."""

import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from theory import derivations_page
from validate.figures.paper import FIGURES, kept_of
from validate.observe import NoRunsError

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))  # For the gallery's scraper and the role below.
import claim_pages  # noqa: E402
import explorer_runs  # noqa: E402
import make_equations  # noqa: E402
import notebook_pages  # noqa: E402
from claim_role import ClaimRole, ClaimsOfFigure  # noqa: E402

MATHJAX = ROOT / "docs" / "node_modules" / "mathjax" / "es5" / "tex-svg-full.js"
"""One file that holds the program and its glyphs; `make docs` installs it as package-lock.json pins it."""
if not MATHJAX.exists():
    raise ExtensionError(f"{MATHJAX.relative_to(ROOT)} is missing: build with `make docs`, which installs it")


def figures_without_runs() -> list[int]:
    """Return the figures none of whose runs are kept: the gallery leaves them out."""
    missing = []
    for number, figure in FIGURES.items():
        try:
            kept_of(figure)
        except NoRunsError:
            missing.append(number)
    return missing


project = "anchorflow"
author = "The anchorflow developers"
copyright = f"2026, {author}"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # An attribute that has a docstring of its own would be listed twice.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "anchorflow"
html_static_path = [str(MATHJAX), "_static"]
html_css_files = ["site.css"]
mathjax_path = MATHJAX.name
# The menu would load a speech engine from another host.
mathjax3_config = {"options": {"enableMenu": False}}
exclude_patterns = ["_build", "gallery", "node_modules"]
_absent = "|".join(f"{number:02d}" for number in figures_without_runs())
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "figures",
    "ignore_pattern": rf"plot_fig({_absent})_" if _absent else r"__init__\.py",
    "image_scrapers": ("sheet_scraper.scrape",),
    "reset_modules": (),
    "show_memory": False,
    # Its page of times loads a table program from another host.
    "write_computation_times": False,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
}


WORDS = {"labels", "path", "sequences", "shape", "tokens", "vocab_size"}
"""Words of types, as in "ndarray, shape (n, vocab_size)", that are names of attributes too."""


def unlink_words(app: Sphinx, doctree: nodes.document) -> None:
    """Keep words of types from linking to attributes of the same name."""
    for reference in list(doctree.findall(addnodes.pending_xref)):
        if reference["reftarget"] in WORDS:
            reference.replace_self(reference.children)


def for_napoleon(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Keep Napoleon from taking what is not a type for one.

    It takes what stands before a colon in a property's first line, and of attributes with one description
    ("small, control : Setting") all names but the last.
    """
    if what in ("attribute", "property") and lines:
        lines[0] = f": {lines[0]}"
    if what == "class" and "Attributes" in lines:
        before, found = lines[: lines.index("Attributes")], list[str]()
        for block in re.split(r"\n(?=\S)", "\n".join(lines[len(before) :])):
            names, colon, rest = block.partition(" : ")
            is_list = colon and re.fullmatch(r"\w+(, \w+)+", names)
            found += [f"{each} : {rest}" for each in names.split(", ")] if is_list else [block]
        lines[:] = [*before, *"\n".join(found).split("\n")]


def write_derivations(app: Sphinx) -> None:
    """Derive every statement and write the page of derivations, which is not kept with the sources."""
    page = ROOT / "docs" / "theory" / "derivations.md"
    changed = max(path.stat().st_mtime for path in (ROOT / "theory" / "derive").glob("*.py"))
    if not page.exists() or page.stat().st_mtime < changed:
        page.write_text(derivations_page(), encoding="utf-8")


def write_equations(app: Sphinx) -> None:
    """Write the table of equations, functions and tests."""
    (ROOT / "docs" / "equations.md").write_text(make_equations.page(), encoding="utf-8")


def write_claims_and_notebooks(app: Sphinx) -> None:
    """Judge the claims, execute the notebooks, and write their pages."""
    claim_pages.write()
    notebook_pages.write()


def add_kept_runs(app: Sphinx, error: Exception | None) -> None:
    """Write what the explorer shows of kept runs into the built site."""
    if error is None:
        explorer_runs.write(Path(app.outdir) / "_static" / "explorer")


def setup(app: Sphinx) -> None:
    """Connect what is above with Sphinx."""
    app.add_role("claim", ClaimRole())
    app.add_directive("claims-of-figure", ClaimsOfFigure)
    app.connect("builder-inited", write_derivations)
    app.connect("builder-inited", write_equations)
    app.connect("builder-inited", write_claims_and_notebooks)
    app.connect("autodoc-process-docstring", for_napoleon, priority=400)  # Napoleon has 500.
    app.connect("doctree-read", unlink_words)
    app.connect("build-finished", add_kept_runs)
