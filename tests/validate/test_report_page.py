"""The report's page: what it escapes, what its contents list, dark and narrow screens."""

from __future__ import annotations

import dataclasses
import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from tests.validate.figures.synthetic import make_observations
from tests.validate.page import Page
from validate.commands.compare import print_comparison
from validate.judge.groups import Setting, group_runs
from validate.judge.lists import judge_demo
from validate.report import Report
from validate.report.figure import NotDrawn, draw_paper_figures
from validate.report.figures import draw_cosines, heat_maps
from validate.report.page import SECTIONS, page, render

MARKUP = '<script>alert("x")</script> & <b>'


def _bare(settings: list[Setting], title: str = "bare", **parts: object) -> Report:
    """Return a report without rows or figures, which costs nothing to draw."""
    return dataclasses.replace(Report(title, settings, []), **parts)  # type: ignore[arg-type]


def test_names_with_markup_are_escaped(settings: list[Setting]) -> None:
    outcome = judge_demo(settings)[0]
    marked = dataclasses.replace(outcome, claim=dataclasses.replace(outcome.claim, statement=MARKUP))
    named = [dataclasses.replace(setting, label=MARKUP) for setting in settings]
    report = _bare(named, MARKUP, outcomes=[marked], not_drawn=[NotDrawn(3, MARKUP, MARKUP)])
    text = render(report=report)
    assert "<script" not in text
    assert "<b>" not in text
    # The title twice, the verdict's claim, two cells of the figure, and each setting where it stands.
    assert text.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; &lt;b&gt;") >= 7
    assert Page(text).open == []


@pytest.mark.parametrize("with_verdicts", [True, False])
def test_the_contents_name_every_section_and_no_other(settings: list[Setting], with_verdicts: bool) -> None:
    report = _bare(settings, outcomes=judge_demo(settings) if with_verdicts else [])
    text = render(report=report)
    (contents,) = re.findall(r"<nav.*?</nav>", text, flags=re.DOTALL)
    linked = re.findall(r'<a href="#(\w+)">([^<]+)</a>', contents)
    headings = re.findall(r'<h2 id="(\w+)">([^<]+)</h2>', text)
    assert linked == headings
    assert ("Verdicts" in dict(linked).values()) == with_verdicts
    assert {title for _, title in linked} <= {title.replace("'", "&#39;") for title in SECTIONS.values()}
    assert len(headings) == len(re.findall("<h2", text))


def test_dark_screens_get_dark_pages(settings: list[Setting]) -> None:
    """Every colour is a variable with a value for each scheme; readable contrast in both."""
    style = re.findall(r"<style>(.*?)</style>", render(report=_bare(settings)), flags=re.DOTALL)[0]
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", block)) for block in blocks)
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for name in ("text", "small", "link", "yes", "no", "part"):
            assert _contrast(colours[name], colours["page"]) >= 4.5, name
    assert _luminance(dark["page"]) < 0.05 < 0.9 < _luminance(light["page"])
    rules = re.sub(r":root \{.*?\}", "", style, flags=re.DOTALL)
    # White under a picture is meant: figures are black on white.
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", rules)) == {"#fff"}
    assert re.search(r"\.picture img \{[^}]*background: #fff", rules)


@pytest.mark.parametrize("epochs", [None, [2, 6]])
def test_no_observed_matrix_stands_in_a_report_twice(
    settings: list[Setting], epochs: list[int] | None
) -> None:
    """Predictions stand beside whatever they predict."""
    observations = [run for setting in settings for run in setting.runs]
    figures = draw_paper_figures(observations)[0]
    figures += draw_cosines(settings, epochs, figures) if epochs else []
    maps = [
        [
            np.asarray(ax.images[0].get_array())
            for ax in f.figure.axes
            if ax.images and "epoch" in ax.get_title()
        ]
        for f in figures
    ]
    assert sum(map(len, maps)) >= (12 if epochs else 4)
    for one, other in combinations(maps, 2):
        for a, b in product(one, other):
            assert a.shape != b.shape or not np.allclose(a, b, atol=1e-4)
    # Without figures beside them, those epochs have everything.
    if epochs:
        assert len(heat_maps(draw_cosines(settings, epochs))) == 4 * 6


def test_the_page_has_each_footnote_as_text_and_not_in_its_picture(report: Report, written: Path) -> None:
    text = (written / "report.html").read_text()
    noted = [figure for figure in report.figures if figure.note]
    assert len(noted) >= 5
    for figure in noted:
        assert text.count(f'<p class="note">{escape(figure.note)}</p>') >= 1
        assert not figure.figure.texts
        assert escape(figure.caption) in text


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * d for d in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_comparison_names_every_run_s_own_early_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    """Its rows have each run at its own; the largest of them is not that of all."""
    runs = [make_observations("emb-mlp", seed=seed) for seed in (0, 1)]
    for line in runs[1].metrics:
        line["accuracy"]["rsn_train"] = line["epoch"] / 14
    report = _bare(group_runs(runs))
    assert "<h3>γ = 0.8, epochs 2 to 9</h3>" in page("comparison.html.j2", report=report)
    print_comparison(report)
    assert "γ = 0.8, epochs 2 to 9, 2 seeds" in capsys.readouterr().out
