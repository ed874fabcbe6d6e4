"""The notebooks run from an empty folder, and their pages show what they printed and drew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs_script import DOCS, load_script

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_becomes_a_page(notebook: Path, tmp_path: Path) -> None:
    pages = load_script("notebook_pages")
    copy = tmp_path / notebook.name
    copy.write_text(notebook.read_text(encoding="utf-8"), encoding="utf-8")
    page = pages.page_of(pages.executed(copy), copy)
    pictures = list((tmp_path / f"{notebook.stem}_files").glob("*.png"))
    assert page.startswith("# ")
    assert pictures
    assert all(f"{picture.parent.name}/{picture.name}" in page for picture in pictures)
    assert "```text" in page
