"""The report's page: what it escapes, what its contents list, dark and narrow screens."""

from __future__ import annotations

import dataclasses

import pytest

from tests.validate.figures.synthetic import make_observations
from tests.validate.page import Page
from validate.commands.compare import print_report
from validate.judge.groups import Setting, group_runs
from validate.judge.lists import judge_demo
from validate.report import Report
from validate.report.figures import NotDrawn
from validate.report.page import page, render

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


def test_the_comparison_names_every_run_s_own_early_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    """Its rows have each run at its own; the largest of them is not that of all."""
    runs = [make_observations("emb-mlp", seed=seed) for seed in (0, 1)]
    for line in runs[1].metrics:
        line["accuracy"]["rsn_train"] = line["epoch"] / 14
    report = _bare(group_runs(runs))
    assert "<h3>γ = 0.8, epochs 2 to 9</h3>" in page("comparison.html.j2", report=report)
    print_report(report, verbose=True)
    assert "γ = 0.8, epochs 2 to 9, 2 seeds" in capsys.readouterr().out
