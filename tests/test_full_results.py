"""The page of full-length results is made from its kept numbers, and its figures are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.docs_script import load_script

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_made_from_the_kept_numbers() -> None:
    module = load_script("update_full_results")
    assert module.page(json.loads(module.DATA.read_text())) == module.PAGE.read_text()


def test_its_figures_are_there() -> None:
    module = load_script("update_full_results")
    found = re.findall(r"\]\((\S+\.png)\)", module.PAGE.read_text())
    assert len(found) == 9
    assert all((module.RESULTS / name).is_file() for name in found)
