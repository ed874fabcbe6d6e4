"""The pages that a reader follows: their files are written, their commands run, their numbers made."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

import sim
from sim.config.language import LanguageTask
from sim.data.corpus import digest_of
from tests.docs.pages import ROOT, blocks, follow, load_script
from validate.studies.study import load_study

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.slow
@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_the_tutorial(monkeypatch, capsys):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    ended = follow("docs/tutorial.md", capsys)
    said = {command: out for command, (_, out) in ended.items()}
    assert {command: code for command, (code, _) in ended.items() if code} == {}
    assert len(said) == 7
    words = blocks("docs/tutorial.md", "text")[0].splitlines()
    shown = said["anchorflow compare runs/mine --out runs/mine-report"].splitlines()
    assert [numberless(line) for line in shown[:2]] == [numberless(line) for line in words[:2]]
    alone = said["anchorflow compare runs/mine/gamma0.8_seed0"]
    assert "undecided" in alone
    assert "what is missing is there already; include it: anchorflow compare runs/mine\n" in alone
    assert Path("runs/mine-report/report.html").exists()
    assert Path("my_figure.png").stat().st_size > 10_000
    assert Path("metrics.csv").read_text().startswith("run,model,init_rate,seed,")


def numberless(text):
    """Return a sentence without its estimates, which depend on the machine, and its snapshots' epochs."""
    return re.sub(r"-?\d\.\d\d|epochs? \d+( to \d+)?", "x", text)


QUICK = shlex.split(
    "--context 16 --model.d-m 8 --model.n-heads 2 --model.n-layers 1 --training.epochs 1 "
    "--training.snapshot-epochs 1 --sequences 20 --training.evaluation-size 10 --workers 1"
)
"""What makes the page's training short; the default test is about the commands."""
DATA = ROOT.parent / "shared" / "data"


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
def test_from_a_text_file_to_a_verdict(capsys):
    def shorter(words):
        return [*words, *QUICK] if words[:2] == ["corpus", "train"] else words

    ended = follow("docs/corpus.md", capsys, shorter)
    assert all(code == 0 or (code == 1 and " compare " in command) for command, (code, _) in ended.items())
    said = [out for _, out in ended.values()]
    assert len(said) == 6
    assert said[1].startswith("1000 documents")
    assert "nearest to 'jompus'" in said[1]
    assert Path("runs/questions/corpus-prediction.html").exists()
    assert "tied: rows of C + C^T" in said[2]
    assert "after 1 epoch" in said[3]
    assert "losses at the end (nats)" in said[4]  # An epoch teaches nothing: the longer command is named.
    assert "--training.epochs 4" in said[4]
    assert Path("runs/two-report/comparison.html").exists()
    assert len(said[5].splitlines()) == 6


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}")
def test_the_matched_stories_are_those_of_the_study(tmp_path):
    pytest.importorskip("tokenizers")
    said = load_script("corpus_matched").main(DATA, tmp_path / "matched.jsonl")
    assert [line.split(", ")[1] for line in said.splitlines()] == ["140 distinct tokens"] * 2
    task = load_study("language-matched").configs[None].members()[0].task
    assert isinstance(task, LanguageTask)
    assert task.corpora[1].sha256 == (digest_of(str(tmp_path / "matched.jsonl")),)


def test_advise(capsys):
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (config,) = blocks("docs/howto/advise.md", "json")
    Path("config.json").write_text(config)
    ((code, said),) = follow("docs/howto/advise.md", capsys).values()
    assert code == 0
    assert re.search(r"ε shortens the normed embedding by (9|9\.1|8\.9) %", " ".join(said.split()))
    (python,) = blocks("docs/howto/advise.md", "python")
    exec(python, {})
    assert "read-out" in capsys.readouterr().out
    assert sim.advise("config.json").n_parameters > 10**8


def test_a_module_is_initialised_and_audited(capsys):
    said = "".join(out for _, out in follow("docs/howto/any_model.md", capsys).values())
    assert "words.weight = head.weight" in said
    escaped = re.findall(r"^- (\S+) \((\w+)\)", said, re.MULTILINE)
    assert escaped == [("words.weight", "tied")]
    assert "give inputs" not in said


def test_a_loop_is_recorded(capsys):
    *_, (_, said) = follow("docs/howto/record.md", capsys).values()
    with Path("record.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["step"]) for row in rows] == [0, 50, 100, 150, 199]
    assert float(rows[-1]["loss/held out"]) < float(rows[0]["loss/held out"]) - 1
    pearson, control = map(float, said.split())
    assert pearson > control + 0.1
    assert float(rows[-1]["pearson/bigram"]) == pearson


@pytest.mark.usefixtures("blank_pictures")
def test_checkpoints_are_compared(capsys):
    assert {code for code, _ in follow("docs/howto/series.md", capsys).values()} == {0}
    series = json.loads(Path("series/series.json").read_text())
    assert series["warnings"] == []
    points = series["points"]
    assert [point["step"] for point in points] == [1, 10, 100]
    assert points[-1]["gain"]["low"] > 0
    assert points[-1]["pearson"]["mean"] > points[0]["pearson"]["mean"]
    assert Path("series/figures/series/series.svg").exists()
