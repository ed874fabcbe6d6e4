"""The page of full-length results is made from its kept numbers, and its figures are there."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("full_results", ROOT / "docs" / "update_full_results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_from_the_kept_numbers() -> None:
    module = _module()
    assert module.page(json.loads(module.DATA.read_text())) == module.PAGE.read_text()


def test_its_figures_are_there() -> None:
    module = _module()
    found = re.findall(r"\]\((\S+\.png)\)", module.PAGE.read_text())
    assert len(found) == 9
    assert all((module.RESULTS / name).is_file() for name in found)
