"""The whole site, built: a phone can show every page, nothing comes from elsewhere, the explorer answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.pages import ROOT
from tests.docs_script import load_script
from theory import Task, cosine_matrix, expected_token_label_matrix, label_distribution, marginal_distribution

pytestmark = pytest.mark.long
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site() -> Path:
    """Build what has changed since the last build; the first one takes minutes."""
    built = ROOT / "docs" / "_build" / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(built)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium of the system, driven by Playwright, which brings none of its own here."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium on the PATH (Debian's package is called chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


def test_every_page_shows_itself_on_a_phone_in_the_dark(site: Path, browser: Any) -> None:
    """No error in the console, no formula that fails, nothing wider than the screen, no other host."""
    problems: list[str] = []
    context = browser.new_context(viewport=PHONE, color_scheme="dark")
    # The derivations' formulas take a busy machine more than the usual 30 s.
    context.set_default_timeout(300_000)
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


def test_the_explorer_has_the_runs_that_are_kept_now(site: Path, tmp_path: Path) -> None:
    load_script("explorer_runs").write(tmp_path)
    built = site / "_static" / "explorer" / "kept.js"
    assert built.read_text(encoding="utf-8") == (tmp_path / "kept.js").read_text(encoding="utf-8")


def test_the_explorer_answers_in_a_browser(site: Path, browser: Any) -> None:
    """What it shows after a reader has changed the task is what theory says of the file that it offers."""
    page = browser.new_page()
    page.goto((site / "explorer.html").as_uri())
    cosines = page.locator("#explorer-cosines rect")
    assert cosines.count() == 20**2
    assert page.locator("#explorer-observed rect").count() == 20**2
    assert page.inner_text("#explorer-observed p").startswith("γ = 0.8,")
    page.fill("input[name=rate]", "0")
    assert page.inner_text("#explorer-observed p").startswith("γ = 0.3,")
    page.click("text=the tutorial's task")
    assert cosines.count() == 11**2
    assert "alone" in page.inner_text("#explorer-observed")
    page.fill("input[name=high0]", "5")
    page.fill("input[name=rule0]", "key + a1 * a2 % 7")
    page.select_option("select[name=drive]", "fromMarginal")
    before = page.inner_html("#explorer-steps")
    page.fill("input[name=rate]", "7")
    assert page.inner_html("#explorer-steps") != before
    assert page.locator("#explorer-steps rect").count() == 5
    shown = page.evaluate("anchorflowExplorer.current")
    task = Task.from_toml(page.inner_text("#explorer-toml"))
    P = label_distribution(task, shown["found"]["anchors"], held_out=True)
    drives = np.linalg.svd(expected_token_label_matrix(task, held_out=True), compute_uv=False)
    wanted = cosine_matrix(P - marginal_distribution(task, held_out=True))
    np.testing.assert_allclose(shown["cosines"], wanted, rtol=0, atol=1e-10)
    doses = page.evaluate("anchorflowExplorer.doses.doses['50'][7]")
    np.testing.assert_allclose([s["low"] for s in shown["times"]], min(doses) / drives[:5], rtol=1e-10)
    page.fill("input[name=rule0]", "key +")
    assert "Not a valid task" in page.inner_text("#explorer-message")
    assert float(page.eval_on_selector("#explorer-toml", "pre => getComputedStyle(pre).opacity")) < 0.5
    page.close()
