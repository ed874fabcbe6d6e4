"""anchorflow corpus train, compare and demo: from texts to verdicts; what any of its actions refuses."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sim import Run, prontoqa_questions
from tests.toy_text import toy_documents
from tests.validate.figures.synthetic import NAMES, WORDS, several_language
from theory import InputError
from validate.corpus.comparison import LanguageComparison
from validate.figures.paper import draw_figure
from validate.observe.groups import group_runs

SMALL = ["--model.d-m", "8", "--model.n-heads", "2", "--model.n-layers", "1", "--training.batch-size", "20"]
PREDICT = ["predict", "--out", "out"]
SHORT = ["--training.epochs", "2", "--training.snapshot-epochs", "1", "--workers", "1"]


@pytest.fixture
def texts(here):
    Path("questions.txt").write_text("\n".join(q.text for q in prontoqa_questions(40)))
    Path("toy.txt").write_text("\n".join(toy_documents(50)))


@pytest.mark.usefixtures("texts", "blank_pictures")
def test_train_then_compare(cli):
    """Each file is a corpus; defaults come from what the files have; what is compared is what was trained."""
    train = ["corpus", "train", "questions.txt", "toy.txt", "--documents", "line", "--out", "runs", "--json"]
    options = ["--context", "24", "--init-rates", "0.3", "0.8", "--seeds", "3"]
    found = cli(*train, *options, *SMALL, *SHORT).json()
    assert [run["config"]["init_rate"] for run in found] == [0.3, 0.8]
    task = found[0]["config"]["task"]
    assert [corpus["name"] for corpus in task["corpora"]] == ["questions", "toy"]
    assert (task["n_sequences"], task["length"]) == (40, 24)
    assert all(len(corpus["sha256"][0]) == 64 for corpus in task["corpora"])
    run = Run.open("runs/gamma0.8_seed3")
    assert run.corpora()["toy"].vocab_size == task["vocab_size"]
    compared = cli("corpus", "compare", "runs", "--out", "report", code=None)
    assert compared.out.endswith(f"\npage: {Path('report/comparison.html')}\n")
    assert "losses at the end" in compared.out
    data = json.loads(Path("report/comparison.json").read_text())
    assert compared.code == ("fails" in data["claims"].values())
    losses = {(line["init_rate"], line["corpus"]): line["loss"]["mean"] for line in data["losses"]}
    assert losses[0.8, "toy"] == run.metrics[-1]["loss"]["toy"]
    written = {file.name for file in Path("report/figures/comparison").iterdir()}
    assert written == {f"fig{n}_language.{kind}" for n in ("01", "07", "14") for kind in ("png", "svg")}
    page = Path("report/comparison.html").read_text()
    assert "data:image/png;base64" in page
    assert "<h2>Losses at the end (nats)</h2>" in page
    assert "anchorflow corpus compare" in cli("compare", "runs", code=2).err


def test_where_nothing_was_learned_no_cosines_are_compared():
    runs = several_language((0.3, 0.8))
    assert LanguageComparison.of(group_runs(runs)).learned
    for line in (line for run in runs for line in run.metrics):
        line["loss"] |= dict.fromkeys(NAMES, 99.0)
    comparison = LanguageComparison.of(group_runs(runs))
    assert not comparison.learned
    assert [table.title for table in comparison.tables()] == ["losses at the end (nats)"]
    assert not comparison.fails
    assert comparison.missing_command() == ""  # These runs have no folder.


def test_a_loss_that_overflowed_is_undefined():
    runs = several_language((0.3, 0.8))
    for run in runs:
        run.metrics[-1]["loss"][NAMES[0]] = None
    comparison = LanguageComparison.of(group_runs(runs))
    plain = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    means = [(line["corpus"], line["loss"]["mean"]) for line in plain["losses"]]
    assert [mean is None for _, mean in means] == [name == NAMES[0] for name, _ in means]
    overflowed = "no seed has both losses at the end, as one overflowed"
    assert comparison.headline() == [f"γ = {rate:g}: {overflowed}" for rate in (0.3, 0.8)]
    assert comparison.tables()
    for shown, said in (
        (runs, "is shown at no γ"),
        ([*runs[:2], *several_language((0.5, 0.8))], "rises with γ"),
    ):
        assert any(f"ΔL {said}" in row.says for row in draw_figure(7, shown).rows)


def test_without_words_of_equal_frequency_the_claim_on_words_is_judged_all_the_same():
    runs = several_language((0.8,))
    lacking = {f"mean_cosine_matched/{name}" for name in NAMES}
    runs = [replace(run, arrays={k: v for k, v in run.arrays.items() if k not in lacking}) for run in runs]
    findings = {f.title: f for f in LanguageComparison.of(group_runs(runs)).findings}
    of_words = findings[f"words of {NAMES[1]} align more"]
    assert [o.measure for o in of_words.conditions] == ["difference of mean cosines"]
    assert of_words.verdict != "not tested"
    assert not any(f.number or f.paper or f.section for f in findings.values())  # The paper's are of its own.


@pytest.mark.parametrize("first", NAMES)
def test_the_headline_names_the_corpus_with_the_lower_loss(first):
    """Made up: the second loss is higher by γ in one seed and by γ + 0.1 in the other."""
    runs = several_language((0.8,))
    for metrics in (line for run in runs for line in run.metrics):
        metrics["loss"] = dict(zip((first, *({*NAMES} - {first})), metrics["loss"].values(), strict=True))
    (line,) = LanguageComparison.of(group_runs(runs)).headline()
    assert line.startswith(f"γ = 0.8: {first} has the lower loss at the end, by 0.85 [")
    runs[0].metrics[-1]["loss"][first] = None
    (line,) = LanguageComparison.of(group_runs(runs)).headline()
    assert line.endswith(" nats (1 of 2 seeds)")


def test_runs_that_differ_in_more_than_γ_are_not_contrasted():
    first, *others = several_language((0.3, 0.8))
    training = first.config.training.model_copy(update={"learning_rate": 1e-2})
    faster = replace(first, config=first.config.model_copy(update={"training": training}))
    with pytest.raises(InputError, match="differ in more than γ and seed"):
        LanguageComparison.of(group_runs([faster, *others[1:]]))


@pytest.mark.usefixtures("blank_pictures")
def test_runs_at_small_scales_alone_have_a_page_without_the_figure_of_large_ones(tmp_path):
    LanguageComparison.of(group_runs(several_language((0.8,)))).write(tmp_path)
    written = sorted(file.name for file in (tmp_path / "figures" / "comparison").glob("*.png"))
    assert written == ["fig01_language.png", "fig07_language.png"]


def test_every_column_and_key_of_a_comparison_is_its_own_measure():
    """Cosines are drawn anew for each kind, so that all numbers differ; each is computed a second time."""
    rng = np.random.default_rng(0)
    runs = several_language((0.3, 0.8))
    above = np.triu_indices(WORDS, 1)
    for run in runs:
        for line in run.metrics:  # Gaps that rise by less with γ in later seeds: equal ones decide nothing.
            line["loss"][NAMES[1]] -= 1e-4 * run.config.seed * run.config.init_rate
        for name in list(run.arrays):
            if name.startswith(("cosine/", "predicted/", "control/")):
                shape = run.arrays[name].shape
                drawn = rng.uniform(-1, 1, shape)
                run.arrays[name] = (drawn + np.swapaxes(drawn, -1, -2)) / 2
    comparison = LanguageComparison.of(group_runs(runs))
    *claims, losses, cosines = comparison.tables()
    plain = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    states = [row[0].partition(":")[0] for table in claims for row in table.rows]
    assert [verdict["verdict"] for verdict in plain["verdicts"]] == states
    for part in ("losses", "cosines"):
        assert {(line["init_rate"], line["corpus"]) for line in plain[part]} == {*product((0.3, 0.8), NAMES)}
    kinds = {
        "predicted": ("predicted", ""),
        "shuffled": ("control", ""),
        "centred": ("predicted", "centred/"),
        "its control": ("control", "centred/"),
    }
    for row, record in zip(cosines.rows, plain["cosines"], strict=True):
        cells = dict(zip(cosines.header, row, strict=True))
        gamma, name, predictor = record["init_rate"], record["corpus"], record["predictor"]
        assert [cells["γ"], cells["words of"], cells["rows"]] == [f"{gamma:g}", name, predictor]
        alike = [run.arrays for run in runs if run.config.init_rate == gamma]
        for header, (kind, which) in kinds.items():
            names = f"{kind}/{predictor}/{which}{name}", f"cosine/{which}{name}"
            pairs = [(own[names[0]][above], own[names[1]][-1][above]) for own in alike]
            correlations = [np.corrcoef(*pair)[0, 1] for pair in pairs]
            assert record[header]["mean"] == pytest.approx(np.mean(correlations))
            assert cells[header].startswith(f"{np.mean(correlations):z.2f}")
    entropies = {"prontoqa": (2.0, 1.0), "tinystories": (3.0, 2.0)}
    for row, record in zip(losses.rows, plain["losses"], strict=True):
        cells, rate = dict(zip(losses.header, row, strict=True)), record["init_rate"]
        last = [run.metrics[-1]["loss"] for run in runs if run.config.init_rate == rate]
        expected = np.mean([loss[record["corpus"]] for loss in last])
        assert record["loss"]["mean"] == pytest.approx(expected)
        assert float(cells["loss"].split()[0]) == pytest.approx(expected, abs=1e-3)
        known = entropies[record["corpus"]]
        assert (record["of a token"]["mean"], record["of pairs"]["mean"]) == known
        assert (float(cells["of a token"].split()[0]), float(cells["of pairs"].split()[0])) == known


@pytest.mark.long
def test_the_demo_runs_from_an_empty_folder(here, cli):
    printed = cli("corpus", "demo", "--json", code=None)
    assert printed.code in (0, 1)
    found = printed.json()
    assert {line["corpus"] for line in found["losses"]} == {"questions", "toy-facts"}
    assert Path("runs/corpus-demo/comparison.html").exists()
    assert {v["verdict"] for v in found["verdicts"]} <= {"holds", "fails", "undecided", "undefined"}


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PREDICT, "empty.txt"], "no document holds a word"),
        ([*PREDICT, "missing.txt"], "no such file"),
        ([*PREDICT, "x" * 300 + ".txt"], "cannot be read ("),
        ([*PREDICT, "toy.txt", "--documents", "line", "--tokens", "dogg"], "did you mean one of 'dog'"),
        ([*PREDICT, "toy.txt", "--documents", "file"], "documents = 1: too few for a standard error; "),
        ([*PREDICT, "short.txt", "--documents", "line"], "corpus = 'dog': its only token"),
        ([*PREDICT, "pdf.txt"], "pdf.txt': a PDF, not text"),
        (["train"], "needs FILE"),
        (["train", "toy.txt", "--context", "12", "--layout", "pad"], "has a document of"),
        (["train", "toy.txt", "--preset", "cpu"], "trains no language model"),
        (["train", "toy.txt", "--context", "1"], "context = 1: "),
        (["train", "toy.txt", "--sequences", "10000000"], "sequences = 10000000: training needs"),
        (["demo", "toy.txt"], "give a text of 4800 words"),
        (["demo", "few.txt"], "0 sequences of 96 tokens; give a text of 4800 words"),
        (["demo", "questions.txt"], "give it another name"),
        (["demo", "odd.jsonl"], "'text'; give one with texts there, or use anchorflow corpus train"),
        (["demo", "--device", "cuda:999"], "device = 'cuda:999': cannot be used ("),
        ([], "needs ACTION"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, message, refused):
    Path("empty.txt").touch()
    Path("pdf.txt").write_text("%PDF-1.4\n" + "dog cat\n" * 80)
    Path("short.txt").write_text("dog dog\n" * 40)
    Path("few.txt").write_text("dog cat\n" * 40)
    Path("questions.txt").touch()
    Path("odd.jsonl").write_text('{"story": "a dog"}\n')
    assert message in refused("corpus", *arguments)
