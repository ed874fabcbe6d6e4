"""The whole site, built: nothing comes from elsewhere, every link resolves, a phone can show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.site import broken_links, foreign_sources_of_site

pytestmark = pytest.mark.long
PHONE = {"width": 390, "height": 844}


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    assert foreign_sources_of_site(site) == {}


def test_every_link_resolves(site: Path) -> None:
    assert broken_links(site) == []


def test_every_page_shows_itself_on_a_phone_in_the_dark(site: Path, browser: Any) -> None:
    """No error in the console, no formula that fails, nothing wider than the screen, no other host."""
    problems: list[str] = []
    context = browser.new_context(viewport=PHONE, color_scheme="dark")
    page = context.new_page()
    page.on("console", lambda message: message.type == "error" and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or problems.append(r.url))
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri())
        page.wait_for_function(
            "!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)"
        )
        width, failed = page.evaluate(
            "[document.documentElement.scrollWidth, document.querySelectorAll('mjx-merror').length]"
        )
        problems += [f"{width} px wide"] * (width > PHONE["width"]) + ["a formula fails"] * failed
        problems[:] = [p if p.startswith("at ") else f"at {file.relative_to(site)}: {p}" for p in problems]
    context.close()
    assert problems == []
