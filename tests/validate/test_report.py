"""A report is self-contained, complete and as its schema says, whatever runs it is about."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from markupsafe import escape
from scipy import stats

import validate
from sim import build_corpus, train
from sim.config.run import make_run_config
from sim.runs.outputs import OutputFolder
from tests.validate.conftest import TASK, Page
from tests.validate.figures.synthetic import make_observations
from theory import off_diagonal
from validate import CorpusPrediction, Prediction, ledger
from validate.commands.compare import print_report
from validate.compare.ranking import Agreement, agreements, rung_distances
from validate.figures.paper import FIGURES
from validate.figures.runs import shown_epochs
from validate.figures.sheet import write_figures
from validate.judge.given import judge_demo
from validate.judge.measures.prediction import pair_kinds
from validate.judge.stats import over_seeds
from validate.observe.groups import group_runs
from validate.observe.times import early_epoch
from validate.predict.predictors import uniform_cosines
from validate.report import FOLDERS, ErrorBudget, Report
from validate.report.figures import MOST_SETTINGS, NotDrawn, draw_cosines, paper_figures
from validate.report.page import SECTIONS, page, render, setting_rows

SCHEMA = Report.model_json_schema(mode="serialization")
MARKUP = '<script>alert("x")</script> & <b>'


def test_the_page_is_self_contained(report, written):
    text = (written / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.references
    assert [place for place in page.ids if place in SECTIONS] == [*SECTIONS]
    for name, body in re.findall(r'<section aria-labelledby="(\w+)">(.*?)</section>', text, re.DOTALL):
        assert len(re.sub("<[^>]*>", "", body).split()) > 20, name
    assert "of its twelve statements: <code>anchorflow claims</code>" in text
    assert '<html lang="en">' in text
    assert '<meta name="viewport" content="width=device-width' in text
    assert len(page.alts) == len(report.all_figures())
    assert all(len(alt) > 20 for alt in page.alts)
    inside = {f"#{place}" for place in page.ids}
    assert all(r.startswith("data:") or r in inside for r in page.references)
    assert not re.search("https?:|<script|@import", text)
    assert len(text.encode()) < 4e6


def test_the_page_has_every_number_of_the_early_comparison(report, written):
    """Each row has its group, predictor and measures, in the order of the header."""
    text = (written / "report.html").read_text()
    assert {row.setting for row in report.early} == {setting.label for setting in report.settings}
    for setting in report.settings:
        rows = [row for row in report.early if row.setting == setting.label and row.anchor is None]
        table = report.early_table(setting.label)
        assert {(group, name) for group, name, *_ in table} == {(r.group, r.predictor) for r in rows}
        for group, predictor, *cells in table:
            own = {r.measure: str(r.estimate) for r in rows if (r.group, r.predictor) == (group, predictor)}
            assert cells == [own[m] for m in ("pearson", "spearman", "rmse", "largest_error")]
            names = ("anchors", "predictor", "Pearson", "Spearman", "RMSE", "largest error")
            labelled = zip(names, (group, predictor, *cells), strict=True)
            shown = [f'data-label="{name}">{escape(cell)}</td>' for name, cell in labelled]
            found = re.escape("@").join(map(re.escape, shown)).replace("@", '<td(?: class="number")? ')
            assert re.search(found, text)


def test_groups_and_settings_that_differ_in_signs_alone_have_rows_of_their_own():
    def task(sign):
        named = {"z+a": [1, 2, 3], "z*a": [4, 5, 6], "z a": [7, 8, 9], "z_a": [10, 11, 12]}
        rules = [{"name": n, "anchors": own, "label": f"key {sign} (a1 % 2)"} for n, own in named.items()]
        return {"keys": "40..49", "n_anchors": 1, "length": 3, "vocab_size": 80, "mappings": rules}

    settings = group_runs([make_observations(task=task(sign), gamma=g) for sign in "+*" for g in (0.3, 0.8)])
    (sheet,) = draw_cosines(settings, [2])
    titles = [row.title for row in sheet.rows]
    assert len(set(titles)) == len(titles) == 4 * 5


def test_a_label_is_short_where_settings_differ_in_a_whole_table():
    def task(last):
        labels = [[*range(40), last]] * 10
        rule = {"name": "own", "anchors": "1..41", "rule": "tabulated", "labels": labels}
        return {"keys": "50..59", "n_anchors": 1, "length": 2, "vocab_size": 70, "mappings": [rule]}

    one, other = group_runs([make_observations(task=task(last)) for last in (40, 41)])
    assert one.label != other.label
    assert len(one.label) < 100


def test_order_and_size_are_split_by_kind_of_pairs():
    """Against a second computation; what is right is said in words."""
    (setting,) = group_runs([make_observations("emb-mlp", seed=s) for s in (0, 1, 2)])
    tokens, kinds = setting.task.anchors, pair_kinds(setting.task)
    memory = np.isin(tokens, setting.task.memory_anchors)
    i, j = np.triu_indices(len(tokens), 1)
    wanted = (memory[i] & memory[j], ~memory[i] & ~memory[j], memory[i] != memory[j])
    for found, by_hand in zip(kinds.values(), wanted, strict=True):
        np.testing.assert_array_equal(found, by_hand)
    every = {**kinds, "all pairs": np.ones(len(i), dtype=bool)}
    assert [agreement.pairs for agreement in agreements(setting)] == list(every)
    for agreement in agreements(setting):
        own = every[agreement.pairs]
        x = [off_diagonal(uniform_cosines(r.task, tokens))[own] for r in setting.runs]
        y = [off_diagonal(r.cosines(tokens, early_epoch(r)))[own] for r in setting.runs]
        pairs = list(zip(x, y, strict=True))
        rmse = np.mean([np.sqrt(np.mean((a - b) ** 2)) for a, b in pairs])
        assert agreement.rmse.mean == pytest.approx(rmse)
        assert agreement.sign.mean == pytest.approx(np.mean([np.mean(a * b > 0) for a, b in pairs]))
        if agreement.pearson.n:
            fits = [stats.linregress(a, b) for a, b in pairs]
            assert agreement.slope.mean == pytest.approx(np.mean([f.slope for f in fits]))
            assert agreement.pearson.mean == pytest.approx(np.mean([f.rvalue for f in fits]))
    good, bad = over_seeds([0.9, 0.9]), over_seeds([0.1, 0.1])
    for pearson, rmse, words in (
        (good, good, "order right, size wrong"),
        (good, bad, "order right, size right"),
        (bad, good, "order wrong, size wrong"),
    ):
        assert Agreement("", pearson, over_seeds([1.0]), good, rmse).words == words


def test_what_has_no_cosine_has_neither_sign_nor_size():
    (setting,) = group_runs([make_observations("emb-mlp", seed=s) for s in (0, 1)])
    for run in setting.runs:  # The first anchor's embedding is zero.
        run.arrays["norms"] = run.arrays["norms"] * (np.arange(len(run.tokens)) > 0)
    assert agreements(setting)[-1].cells() == ["all pairs", "–", "–", "–", "–", "undefined"]


def test_the_data_is_as_its_schema_says(report, written):
    Draft202012Validator.check_schema(SCHEMA)
    found = json.loads((written / "report.json").read_text())
    Draft202012Validator(SCHEMA).validate(found)
    assert found == report.to_json()
    short = {name: part[:1] if isinstance(part, list) else part for name, part in found.items()}
    short["runs"][0]["provenance"]["status"] = "interrupted"  # As where an unfinished run was kept.
    assert Draft202012Validator(SCHEMA).is_valid(short)
    for broken in ({"schema": "anchorflow/report/2"}, {"claims": [{}]}, {"extra": 1}, {"runs": []}):  # type: ignore[var-annotated]
        assert not Draft202012Validator(SCHEMA).is_valid(short | broken)


def test_the_data_holds_everything(report, written):
    found = report.to_json()
    assert len(found["runs"]) == 4
    assert {v["verdict"] for v in found["verdicts"]} <= {"holds", "fails", "undecided", "censored"}
    assert [c["number"] for c in found["claims"]] == [c.number for c in ledger()]
    assert {"pearson", "spearman", "rmse", "largest_error"} == {r["measure"] for r in found["comparison"]}
    assert [s["seeds"] for s in found["settings"]] == [[0, 1], [0, 1]]
    sources = {c["name"]: c["source"] for c in found["settings"][0]["configuration"]}
    assert (sources["training.epochs"], sources["training.clip_norm"]) == ("user", "paper")
    names = {f["name"] for f in found["figures"]}
    assert len(names) == len(found["figures"])
    for suffix in ("svg", "png"):
        assert names == {f.stem for f in (written / "figures" / "report").glob(f"*.{suffix}")}
    drawn = {int(f["name"][3:5]) for f in found["figures"] if f["title"]}
    assert drawn | {f["number"] for f in found["figures_not_drawn"]} == set(FIGURES)
    assert {3, 4, 10} <= drawn


def test_figures_that_runs_cannot_fill_say_why(report):
    reasons = {f.number: f.reason for f in report.not_drawn}
    assert "about Transformers" in reasons[5]
    one = list(report.settings[-1].runs)
    reasons = {f.number: f.reason for f in paper_figures(one)[1]}
    assert "several values of γ" in reasons[10]
    rates = [{"init_rate": 0.1 + 0.05 * i} for i in range(MOST_SETTINGS + 1)]
    many = [dataclasses.replace(one[0], config=one[0].config.model_copy(update=rate)) for rate in rates]
    drawn, missing = paper_figures(many)
    assert not drawn
    assert {f.number for f in missing} == set(FIGURES)
    assert all("name fewer runs" in f.reason for f in missing)


@pytest.mark.slow
def test_a_report_on_runs_of_any_other_kind(tmp_path):
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
    odd = group_runs(train(config, tmp_path / "runs"))
    page, data = Report.build("odd", odd).write(tmp_path / "report")
    found = json.loads(data.read_text())
    Draft202012Validator(SCHEMA).validate(found)
    assert Page(page.read_text()).open == []
    assert found["error_budget"]["distances"] == []
    assert {c["verdict"] for c in found["claims"]} == {"not tested"}
    assert "about other tasks or models than these runs" in page.read_text()
    recorded = {name: each for name, each in odd[0].runs[0].provenance.items() if name != "sources"}
    assert escape(json.dumps(recorded, indent=2)) in page.read_text()
    names = {f["name"] for f in found["figures"]}
    assert {"fig03_learning", "fig4b_label_distributions"} <= names
    assert {r["estimate"]["low"] for r in found["comparison"]} == {None}
    # Of where a setting comes from the folder's provenance knows, and not its configuration.
    (setting,) = found["settings"]
    sources = {row["name"]: row["source"] for row in setting["configuration"]}
    assert (sources["data.n_sequences"], sources["data.source"]) == ("sibling", "user")
    shown = {name: {"paper": "printed"}.get(source, source) for name, source in sources.items()}
    assert {row[0]: row[2] for row in setting_rows(odd)} == shown


def test_figures_of_an_earlier_report_go_and_files_of_others_stay(settings, tmp_path):
    figures = draw_cosines(settings, [1])
    _bare(settings, figures=figures).write(tmp_path)
    place = tmp_path / "figures" / "report"
    assert len([*place.iterdir()]) == 2 * len(figures)
    (place / "mine.txt").write_text("mine")
    folder = OutputFolder(tmp_path)
    assert write_figures([], folder, *FOLDERS) == {}
    assert [file.name for file in place.iterdir()] == ["mine.txt"]
    assert {*folder.listed()} == {"report.html", "report.json"}


@pytest.mark.usefixtures("blank_pictures")
def test_reports_of_several_kinds_share_a_folder(settings, tmp_path):
    report = _bare(settings, figures=[validate.report.figures.draw_label_distributions(settings[0])])
    corpus = CorpusPrediction.of(build_corpus(["a b", "b c"] * 20))
    written: dict[Path, bytes] = {}
    for each in (report, Prediction.of(settings[0].task), corpus, report):
        each.write(tmp_path)
        found = {file: file.read_bytes() for file in tmp_path.rglob("*.*") if file.name != "manifest.json"}
        assert found == found | written
        written = found


def _bare(settings, title="bare", **parts):
    """Return a report without rows or figures, which costs nothing to draw."""
    return Report(title=title, settings=settings, **parts)


def test_names_with_markup_are_escaped(settings):
    marked = judge_demo(settings)[0].model_copy(update={"statement": MARKUP})
    named = [dataclasses.replace(setting, label=MARKUP) for setting in settings]
    report = _bare(
        named, MARKUP, verdicts=[marked], not_drawn=[NotDrawn(number=3, title=MARKUP, reason=MARKUP)]
    )
    text = render(report=report)
    assert "<script" not in text
    assert "<b>" not in text
    # The title twice, the verdict's claim, two cells of the figure, and each setting where it stands.
    assert text.count("&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; &lt;b&gt;") >= 7
    assert Page(text).open == []


def test_the_comparison_names_every_run_s_own_early_epoch(capsys):
    """Its rows have each run at its own, of which the largest is not that of all; figures show all at one."""
    runs = [make_observations("emb-mlp", seed=seed) for seed in (0, 1)]
    (setting,) = group_runs(runs)
    assert shown_epochs(setting) == (2, 9)
    for line in runs[1].metrics:
        line["accuracy"]["rsn_train"] = line["epoch"] / 14
    assert [early_epoch(run) for run in setting.runs] == [2, 9]
    assert shown_epochs(setting) == (9, 10)
    # One that ended before all were early is shown with the others at the last snapshot that all have.
    (apart,) = group_runs([runs[0].until(2), runs[1]])
    assert shown_epochs(apart) == (2,)
    budget = ErrorBudget(distances=rung_distances([apart]))
    assert "epoch 2</h3>" in page("budget.html.j2", report=_bare([apart], error_budget=budget))
    report = _bare([setting])
    assert "<h3>γ = 0.8, epochs 2 to 9</h3>" in page("comparison.html.j2", report=report)
    print_report(report, verbose=True)
    assert "γ = 0.8, epochs 2 to 9, 2 seeds" in capsys.readouterr().out
