"""anchorflow corpus predict: from files to tables, JSON and a page."""

from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sim import build_corpus
from tests.toy_text import ANIMALS, toy_documents
from theory import InputError, corpus_counts, corpus_geometry
from validate import CorpusPrediction
from validate.commands.corpus.text import TextOptions
from validate.corpus.prediction import TOO_RARE


@pytest.fixture
def toy(here):
    Path("toy.txt").write_text("\n\n".join(toy_documents(400)))


def test_json_says_what_the_theory_says(toy, cli):
    words = ["dog", "cat", "hill", "the"]
    found = cli("corpus", "predict", "toy.txt", "--tokens", *words, "--nearest", "dog", "--json").json()
    corpus = build_corpus(toy_documents(400))
    expected = corpus_geometry(corpus, corpus.vocab_size, [corpus.token(word) for word in words])
    assert found["words"] == words
    assert found["documents"] == 400
    assert found["distinct_pairs"] == corpus_counts(corpus, corpus.vocab_size).pairs.nnz
    assert np.array(found["cosine"]["value"]) == pytest.approx(expected.cosine.value)
    assert np.array(found["cosine"]["standard_error"]) == pytest.approx(expected.cosine.standard_error)
    assert found["departs"] == pytest.approx(expected.departs)
    assert set(found["neighbours"]["dog"]["words"][:2]) == set(ANIMALS) - {"dog"}
    assert min(found["neighbours"]["dog"]["cosine"][:2]) > 0.9


@pytest.mark.usefixtures("blank_pictures")
def test_a_folder_is_written_and_nothing_else_is_replaced(toy, cli):
    command = ["corpus", "predict", "toy.txt", "--top", "5", "--nearest", "dog", "--out", "out"]
    cli(*command)
    cli(*command)
    written = {file.relative_to("out").as_posix() for file in Path("out").rglob("*") if file.is_file()}
    assert written == {
        *("prediction.json", "prediction.html", "manifest.json"),
        *("figures/geometry.png", "figures/geometry.svg"),
    }
    page = Path("out/prediction.html").read_text()
    assert "Nearest to &#39;dog&#39;" in page
    assert "data:image/png;base64" in page
    Path("out/prediction.html").write_text("mine")
    assert "prediction.html" in cli(*command, code=2).err
    assert Path("out/prediction.html").read_text() == "mine"


def test_no_more_is_read_than_there_is(here, monkeypatch):
    """Of a compressed file the texts are longer than the file."""
    parts = dict[str, int]()

    @contextmanager
    def counted(what, total):
        parts.update(total=total, done=0)
        yield lambda: parts.update(done=parts["done"] + 1)

    Path("a.parquet").write_bytes(bytes(3 * 2**19))
    monkeypatch.setattr("validate.terminal.progress.progress", counted)
    monkeypatch.setattr("sim.data.text.read_documents", lambda *_, **__: ["x" * 2**20] * 5)
    assert len(list(TextOptions(files=(Path("a.parquet"),)).texts())) == 5
    assert parts == {"total": 2, "done": 1}


def test_neighbours_too_rare_to_rank_are_marked_and_a_rare_word_is_named():
    rng = np.random.default_rng(0)
    words = ["cat"] * 20 + ["dog"] * 20 + [f"rare{i}" for i in range(20)]
    texts = [f"the {rng.choice(words)} {rng.choice(['eats', 'sees'])} bread" for _ in range(200)]
    corpus = build_corpus([*texts, "one axolotl slept"])
    found = CorpusPrediction.of(corpus, nearest=["cat"])
    marked = {word: cosine.endswith(TOO_RARE) for word, _, cosine in found.tables()[1].rows}
    assert not marked["dog"]
    assert any(marked.values())
    few = CorpusPrediction.of(corpus, words=["cat", "dog", "axolotl"])
    assert "Mean cosine of the 1 pair:" in few.headline()
    with pytest.raises(InputError, match="nearest = 'axolotl': too rare"):
        CorpusPrediction.of(corpus, nearest=["axolotl"])


def test_hostile_tokens_are_text_in_tables_figures_and_pages(here, cli):
    """Control characters, markup and mathematics of TeX: no raw byte of them, and well-formed XML."""
    hostile = ["\x1b", "\x07", "\x85", "\ufffe", "\u202e", "<", "&", "$"]
    Path("a.txt").write_text("\n\n".join(f"dog {a} cat {b}" for a in hostile for b in hostile), "utf-8")
    command = ["corpus", "predict", "a.txt", "--top", "12", "--out", "out"]
    words = cli(*command, "--json").json()["words"]
    assert {"\\x1b", "\\u202e", "<", "$"} <= set(words)
    said = cli(*command)
    figure, page = (
        Path("out", name).read_text("utf-8") for name in ("figures/geometry.svg", "prediction.html")
    )
    for text in (said.out, said.err, figure, page):
        assert not set(text) & set(hostile[:5])
    ElementTree.fromstring(figure)
