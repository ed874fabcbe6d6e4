"""Reports are self-contained and complete; figures draw what they hold."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theory import Task, label_distribution
from validate.compare import compare_runs, observed_cosines
from validate.demo_claims import judge
from validate.figures import AccuracyCurves, CosineMatrices, LabelDistributions, PredictionError, new_axes
from validate.report import Report
from validate.settings import Setting


class Page(HTMLParser):
    """Collects what a page refers to, and checks that tags close."""

    void = frozenset({"meta", "link", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.images_without_text = 0
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.references += [v for k, v in attrs if k in ("src", "href") and v]
        self.images_without_text += tag == "img" and not found.get("alt")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report(settings: list[Setting]) -> Report:
    return Report.build("A <report> & more", settings, outcomes=judge(settings))


def test_the_page_is_self_contained(report: Report, tmp_path: Path) -> None:
    page, _ = report.write(tmp_path)
    text = page.read_text()
    parser = Page()
    parser.feed(text)
    assert parser.open == []
    assert parser.images_without_text == 0
    assert all(r.startswith("data:") for r in parser.references)
    assert "http" not in text.replace("charset", "")
    assert "A &lt;report&gt; &amp; more" in text
    for words in (
        "Verdicts",
        "Fig. 3B",
        "Fig. 4A, C",
        "Fig. 4B",
        "Configuration",
        "Provenance",
        "Equations used",
    ):
        assert words in text


def test_the_data_holds_everything(report: Report, tmp_path: Path) -> None:
    _, data = report.write(tmp_path)
    found = json.loads(data.read_text())
    assert found["schema"] == "anchorflow/report/1"
    assert len(found["runs"]) == 4
    assert len(found["verdicts"]) == 8
    assert {"pearson", "spearman", "rmse", "largest_error"} == {r["measure"] for r in found["comparison"]}
    assert {f["name"] for f in found["figures"]} == {f.stem for f in (tmp_path / "figures").glob("*.svg")}
    assert found["runs"][0]["provenance"]["status"] == "complete"


def test_figures_draw_what_they_hold(settings: list[Setting]) -> None:
    small = settings[-1]
    curves = AccuracyCurves.from_runs(small).plot()
    x, y = curves.lines_["mem"].get_data()
    assert list(x) == [0, 2, 4, 6]
    assert y[-1] == pytest.approx(np.mean([run.metrics[-1]["accuracy"]["mem"] for run in small.runs]))
    assert curves.ax_ is not None
    assert curves.ax_.get_xlabel() == "epoch"

    tokens = small.task.reasoning_anchors
    matrices = CosineMatrices.from_runs(small, tokens, [2, 6], ["P^s - u"]).plot()
    assert len(matrices.images_) == 3
    expected = np.mean([observed_cosines(run, 6, tokens) for run in small.runs], axis=0)
    np.testing.assert_allclose(matrices.images_[-1].get_array(), expected)

    error = PredictionError.from_rows(compare_runs([small]), small.label, "reasoning").plot()
    assert set(error.lines_) == set(error.curves)
    assert len(error.lines_["P^s - u"].get_xdata()) == 4


def test_label_distributions_are_those_of_the_theory() -> None:
    task = Task.paper(length=3)
    figure = LabelDistributions.from_task(task, task.reasoning_anchors, "reasoning").plot(new_axes()[1][0])
    assert figure.ax_ is not None
    lines: Any = figure.ax_.get_lines()
    np.testing.assert_allclose(lines[4].get_ydata(), label_distribution(task, 15) - 1 / 200)


def test_loss_curves_and_single_seeds(settings: list[Setting]) -> None:
    one = Setting("γ = 0.8", settings[-1].runs[:1])
    curves = AccuracyCurves.from_runs(one, "loss").plot()
    assert curves.ax_ is not None
    assert "nats" in curves.ax_.get_ylabel()
    assert np.isnan(curves.curves["mem"][1:]).all()
