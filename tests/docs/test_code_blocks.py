"""The Python of every page runs: here, or where the page is followed."""

import re
import shlex
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from sim import Run, make_run_config, train
from tests.docs.pages import DOCS, PAGES, ROOT, blocks, load_script
from tests.processes import python
from tests.validate.figures.synthetic import several
from theory import InputError, Task, label_distribution
from validate.cli import main
from validate.figures.paper import FIGURES, paper_figure
from validate.report.figures import paper_figures

pytestmark = pytest.mark.usefixtures("here")
FOLLOWED = ("corpus", "tutorial", *(f"howto/{page}" for page in ("advise", "any_model", "record", "series")))
"""Pages that test_followed.py follows."""
HERE = ("engine", "reference", "howto/extend", "howto/rule")
"""Pages whose code has a test below."""
TINY = {
    "task": "paper",
    "data": {"source": "draw", "n_sequences": 200},
    "init_rates": [0.8],
    "training": {"epochs": 1, "snapshot_epochs": [0], "snapshot_tensors": "all"},
}
OWN_TEST = {"README.md", *(f"docs/{page}.md" for page in (*FOLLOWED, *HERE))}
OTHERS = [page for page in PAGES if blocks(page, "python") and page not in OWN_TEST]


def execute(page):
    exec(compile("\n".join(blocks(page, "python")), page, "exec"), {"__name__": "page"})


def test_attention_is_read_as_the_engines_page_says():
    model = {"kind": "transformer", "norm": "pre", "d_m": 8, "d_f": 8, "d_k": 4}
    train(make_run_config(TINY | {"model": model}), "runs/transformer", workers=1)
    execute("docs/engine.md")


def test_runs_continue_and_become_a_table_as_the_pages_say(capsys):
    train(make_run_config({**TINY, "model": {"d_m": 8, "d_f": 8}}), "runs/mine", workers=1)
    (command,) = [block for block in blocks("docs/engine.md", "console") if "--resume" in block]
    assert main(shlex.split(command)[2:]) == 0
    shown = "".join(blocks("docs/reference.md", "console")).splitlines()
    first, *_ = [line for line in shown if line.startswith("$ anchorflow table")]
    assert main(shlex.split(first)[2:]) == 0
    assert Path("metrics.csv").read_text().startswith("run,model,init_rate")
    pytest.importorskip("pandas")
    capsys.readouterr()
    execute("docs/reference.md")
    assert capsys.readouterr().out.startswith("data_set ")


def test_the_rule_of_ones_own_has_the_labels_of_its_expression(capsys):
    execute("docs/howto/rule.md")
    assert capsys.readouterr().out == "True\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", OTHERS)
def test_the_code_of_every_other_page_runs(page):
    execute(page)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "page", "n"), [("positions", "fig3a", 2), ("emb_mlp", "emb_mlp", 24)])
def test_intervals_that_a_script_prints_are_on_its_page(part, page, n, capsys):
    getattr(load_script("results.printed"), part)()
    printed = re.findall(r"\S+ \[[^]]*\]", capsys.readouterr().out)
    text = (DOCS / "results" / f"{page}.md").read_text(encoding="utf-8")
    assert len(printed) == n
    assert [interval for interval in printed if interval.replace("-", "−") not in text] == []


EXTENSIONS = ("bag_of_words", "lion", "overlap")


@pytest.fixture
def _importable(monkeypatch):
    """Let a test import the page's file for the first time, which registers its kind."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extending"))
    for module in EXTENSIONS:
        sys.modules.pop(module, None)
    yield
    from sim.config.model import KINDS
    from sim.config.training import OPTIMIZERS
    from validate.predict.predictors import PREDICTORS

    # Whoever imports the file next registers its kind anew.
    del KINDS["bag-of-words"], OPTIMIZERS["lion"], PREDICTORS[-1]
    for module in EXTENSIONS:
        del sys.modules[module]
    FIGURES.pop(101, None)


@pytest.mark.usefixtures("_importable")
def test_a_model_of_ones_own_is_trained_drawn_and_judged(capsys, cli):
    execute("docs/howto/extend.md")
    said = capsys.readouterr().out
    assert "rsn_test" in said
    assert said.endswith("fails\n")
    assert Path("runs/bag-of-words/gamma0.3_seed0/snapshots/epoch_000002.safetensors").exists()
    assert Path("figures/fig101_norms.png").stat().st_size > 5000
    cli("figures", "101", "--out", "other")
    assert list(FIGURES) == sorted(FIGURES)
    with pytest.raises(InputError, match=r"already names .*; choose another"):
        paper_figure(101, "Second")(FIGURES[101].build)
    with patch.dict(FIGURES, {101: FIGURES[101]}, clear=True):
        ((of_report,), missing) = paper_figures(several("emb-mlp"))
    assert of_report.title.startswith("Fig. 101: ")
    assert not missing


EXAMPLE = blocks("README.md", "python")[0]


def _printed(text):
    """Return the row of predicted and the row of observed cosines."""
    return [[float(n) for n in re.findall(r"-?\d+\.\d*", line)] for line in text.strip().split("\n", 1)]


def test_the_readmes_example_prints_the_cosines_of_its_run(capsys):
    """It has ten lines; one epoch stands for the twenty, which the long suite trains."""
    assert len([line for line in EXAMPLE.splitlines() if line]) <= 10
    code, times = re.subn(r"\b20\b", "1", EXAMPLE)
    assert times == 2
    exec(compile(code, "README.md", "exec"), {})
    predicted, observed = _printed(capsys.readouterr().out)
    shapes = label_distribution(Task.paper(length=3), [*range(11, 21)], held_out=True)
    shapes = shapes - shapes.mean(axis=1, keepdims=True)
    vectors = Run.open("runs/readme/gamma0.8_seed0").embedding(1)[11:21]
    for row, rows in ((predicted, shapes), (observed, vectors)):
        wanted = rows @ rows[4] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[4])
        np.testing.assert_allclose(row, wanted, atol=0.0051)


@pytest.mark.slow
def test_the_readmes_example_runs_as_printed(tmp_path):
    done = python("-W", "error", "-c", EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    predicted, observed = _printed(done.stdout)
    # The threshold of claim 6; the anchor itself, with its cosine of 1, says nothing.
    assert np.corrcoef(np.delete([predicted, observed], 4, axis=1))[0, 1] >= 0.7


def test_every_file_that_the_readme_links_to_exists():
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_becomes_a_page(notebook, tmp_path):
    pages = load_script("notebook_pages")
    copy = tmp_path / notebook.name
    copy.write_text(notebook.read_text(encoding="utf-8"), encoding="utf-8")
    page = pages.page_of(pages.executed(copy), copy)
    pictures = list((tmp_path / f"{notebook.stem}_files").glob("*.png"))
    assert page.startswith("# ")
    assert pictures
    assert all(f"{picture.parent.name}/{picture.name}" in page for picture in pictures)
    assert "```text" in page
