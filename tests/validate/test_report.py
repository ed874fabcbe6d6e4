"""A report is self-contained, complete and as its schema says, whatever runs it is about."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import validate
from sim import Run, train
from sim.config.run import make_run_config
from tests.validate.conftest import TASK
from tests.validate.page import Page
from theory import cosine_matrix, frozen_flow, off_diagonal
from validate import ledger
from validate.figures.paper import FIGURES
from validate.judge.groups import Setting, group_runs
from validate.judge.rungs import STEPS, rung_distances
from validate.judge.times import time_at
from validate.observe import Observations
from validate.report import Report
from validate.report.equations import equations_behind
from validate.report.figure import MOST_SETTINGS, draw_paper_figures
from validate.report.rows import setting_rows

SCHEMAS = Path(validate.__file__).parent / "schemas"
SCHEMA = json.loads((SCHEMAS / "report.schema.json").read_text())
MOST_BYTES = 4e6


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> list[Setting]:
    """One seed of a Transformer without norm whose task has no reasoning anchors, embeddings kept alone."""
    mapping = {"name": "table", "anchors": "1..4", "rule": "lookup"}
    task = {k: v for k, v in TASK.items() if k in ("keys", "length", "vocab_size")}
    config = make_run_config(
        {
            "task": task | {"n_anchors": 1, "mappings": [mapping]},
            "model": {"kind": "transformer", "d_m": 8, "d_f": 8, "d_k": 4, "norm": "none"},
            "training": {"epochs": 1, "batch_size": 200},
            "data": {"source": "draw", "n_sequences": 400},
            "sources": {"data.n_sequences": "sibling"},
        }
    )
    return group_runs(train(config, tmp_path_factory.mktemp("odd")))


def test_the_page_is_self_contained(written: Path) -> None:
    text = (written / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.references
    inside = {f"#{place}" for place in page.ids}
    assert all(r.startswith("data:") or r in inside for r in page.references)
    assert "http:" not in text
    assert "https:" not in text
    assert "<script" not in text
    assert "@import" not in text
    assert len(text.encode()) < MOST_BYTES


def test_the_page_can_be_read_by_everyone(report: Report, written: Path) -> None:
    page = Page((written / "report.html").read_text())
    assert page.attributes["html"]["lang"] == "en"
    viewport = page.attributes["meta viewport"]["content"]
    assert viewport is not None
    assert "width=device-width" in viewport
    assert len(page.alts) == len(report.all_figures())
    assert all(len(alt) > 20 for alt in page.alts)


def test_the_page_has_every_part(report: Report, written: Path) -> None:
    text = (written / "report.html").read_text()
    assert "A &lt;report&gt; &amp; more" in text
    for words in (
        "Verdicts",
        "claims",
        "Figures",
        "Error budget",
        "Equations used",
        "Settings",
        "Provenance",
    ):
        assert f"{words}</h2>" in text
    for setting in report.settings:
        for row in report.early_table(setting.label):
            assert all(cell in text for cell in row)
    for claim in ledger():
        assert str(claim.number) in text
    assert "sibling" in text
    assert report.settings[0].runs[0].provenance["matmul"]["route"] in text


def test_the_data_is_as_its_schema_says(report: Report, written: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = json.loads((written / "report.json").read_text())
    Draft202012Validator(SCHEMA).validate(found)
    assert found == report.to_json()
    short = {name: part[:1] if isinstance(part, list) else part for name, part in found.items()}
    assert Draft202012Validator(SCHEMA).is_valid(short)
    for broken in ({"schema": "anchorflow/report/2"}, {"claims": [{}]}, {"extra": 1}, {"runs": []}):  # type: ignore[var-annotated]
        assert not Draft202012Validator(SCHEMA).is_valid(short | broken)


def test_claims_have_one_schema() -> None:
    claims = json.loads((SCHEMAS / "claims.schema.json").read_text())
    assert all(SCHEMA["$defs"][name] == definition for name, definition in claims["$defs"].items())


def test_the_data_holds_everything(written: Path) -> None:
    found = json.loads((written / "report.json").read_text())
    assert len(found["runs"]) == 4
    assert {v["state"] for v in found["verdicts"]} <= {"holds", "fails", "undecided", "censored", "shown"}
    assert [c["number"] for c in found["claims"]] == [c.number for c in ledger()]
    assert {"pearson", "spearman", "rmse", "largest_error"} == {r["measure"] for r in found["comparison"]}
    assert [s["seeds"] for s in found["settings"]] == [[0, 1], [0, 1]]
    sources = {c["name"]: c["source"] for c in found["settings"][0]["configuration"]}
    assert (sources["training.epochs"], sources["training.clip_norm"]) == ("user", "paper")
    names = {f["name"] for f in found["figures"]}
    assert len(names) == len(found["figures"])
    for suffix in ("svg", "png"):
        assert names == {f.stem for f in (written / "figures").glob(f"*.{suffix}")}
    drawn = {int(f["name"][3:5]) for f in found["figures"] if f["title"]}
    assert drawn | {f["number"] for f in found["figures_not_drawn"]} == set(FIGURES)
    assert {3, 4, 10} <= drawn


def test_figures_that_runs_cannot_fill_say_why(report: Report) -> None:
    reasons = {f.number: f.reason for f in report.not_drawn}
    assert "about Transformers" in reasons[5]
    one = list(report.settings[-1].runs)
    reasons = {f.number: f.reason for f in draw_paper_figures(one)[1]}
    assert "several γ" in reasons[10]
    many = [_with_rate(one[0], 0.1 + 0.05 * i) for i in range(MOST_SETTINGS + 1)]
    drawn, missing = draw_paper_figures(many)
    assert not drawn
    assert all("name fewer runs" in f.reason for f in missing)


def _with_rate(run: Observations, rate: float) -> Observations:
    return dataclasses.replace(run, config=run.config.model_copy(update={"init_rate": rate}))


def test_every_rung_is_its_definition(settings: list[Setting]) -> None:
    """The step to the frozen flow, by hand: the same initial weights with and without the start."""
    small = settings[-1]
    tokens = list(range(11, 21))
    distances = {
        (d.epoch, d.group, d.lower, d.upper): d for d in rung_distances([small]) if d.setting == small.label
    }
    found = distances[4, "reasoning", "frozen flow", "observed"]
    expected = [_frozen_rmse(run, tokens, 4) for run in small.runs]
    assert found.rmse.mean == pytest.approx(np.mean(expected), rel=1e-9)
    assert found.rmse.n == 2
    assert {(lower, upper) for *_, lower, upper in distances} >= {(lo, up) for lo, up, _ in STEPS}
    for epoch in (0, 2, 4, 6):
        steps = [distances[epoch, "reasoning", lo, up] for lo, up, _ in STEPS]
        whole = distances[epoch, "reasoning", "P^s - u", "observed"]
        assert whole.rmse.mean <= sum(s.rmse.mean for s in steps) + 1e-12
        assert all(s.largest.mean >= s.rmse.mean for s in steps)


def _frozen_rmse(observed: Observations, tokens: list[int], epoch: int) -> float:
    assert observed.path is not None
    run = Run.open(observed.path)
    flow = frozen_flow(run.token_label_matrix, run.initial(), [time_at(observed, epoch)]).W_emb[0]
    error = off_diagonal(cosine_matrix(flow[tokens])) - off_diagonal(
        cosine_matrix(run.embedding(epoch)[tokens])
    )
    return math.sqrt(float(np.mean(error**2)))


def test_equations_are_those_of_the_functions_that_were_used(report: Report) -> None:
    rows = report.equations()
    assert {"5, 20; Prop. 1", "7, 21", "8", "14"} <= {row["equation"] for row in rows}
    assert not any("attention" in function for row in rows for function in row["functions"])
    assert all(row["largest_error"] is None or row["largest_error"] >= 0 for row in rows)
    assert equations_behind(["theory.no_such_function"]) == []


@pytest.mark.slow
def test_a_report_on_runs_of_any_other_kind(odd: list[Setting], tmp_path: Path) -> None:
    report = Report.build("odd", odd)
    page, data = report.write(tmp_path)
    found = json.loads(data.read_text())
    Draft202012Validator(SCHEMA).validate(found)
    assert Page(page.read_text()).open == []
    assert found["error_budget"]["distances"] == []
    assert {c["verdict"] for c in found["claims"]} == {"not tested"}
    assert "about other tasks or models than these runs" in page.read_text()
    names = {f["name"] for f in found["figures"]}
    assert {"fig03_learning", "fig4b_label_distributions"} <= names
    assert all(r["estimate"]["low"] is None for r in found["comparison"])
    # Of where a setting comes from the folder's provenance knows, and not its configuration.
    (setting,) = found["settings"]
    sources = {row["name"]: row["source"] for row in setting["configuration"]}
    assert (sources["data.n_sequences"], sources["data.source"]) == ("sibling", "user")
    shown = {name: {"paper": "printed"}.get(source, source) for name, source in sources.items()}
    assert {row[0]: row[2] for row in setting_rows(odd)} == shown


@pytest.mark.long
def test_a_browser_shows_the_page_without_an_error(written: Path, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium or Chrome on this machine")
    picture = tmp_path / "page.png"
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    shown = subprocess.run(
        [
            browser,
            *flags,
            "--window-size=390,844",
            f"--screenshot={picture}",
            (written / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert picture.stat().st_size > 5_000
    assert "CONSOLE" not in shown.stderr
