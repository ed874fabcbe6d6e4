"""anchorflow corpus predict: from files to tables, JSON and a page."""

import json
import re
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sim import build_corpus
from sim.data.text import PRONTOQA
from tests.toy_text import ANIMALS, toy_documents
from theory import InputError, corpus_counts, corpus_geometry
from validate import CorpusPrediction
from validate.commands.corpus import TextOptions
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


def test_a_word_named_twice_is_shown_once_and_a_file_named_twice_is_refused(toy, cli):
    words = ["dog", "cat"]
    command = ["corpus", "predict", "toy.txt", "--tokens", *words, "--nearest", "dog"]
    assert cli(*command, "dog", "--tokens", *words).out == cli(*command).out
    assert "toy.txt']: one of them twice" in cli("corpus", "predict", "toy.txt", "./toy.txt", code=2).err


@pytest.mark.parametrize(("text", "modes"), [("a b a c", 1), ("a a b b a", 0)])
def test_a_singular_value_of_rounding_is_no_mode(text, modes, here, cli):
    """Rows of a and b that are opposite, with none of c; and labels of a and b that are uniform."""
    Path("few.txt").write_text("\n\n".join([text] * 40))
    command = ["corpus", "predict", "few.txt"]
    found = cli(*command, "--json").json()
    assert (len(found["singular_values"]), len(found["leading_words"])) == (modes, modes)
    assert "nan" not in cli(*command).out


def test_punctuation_is_left_out_of_words_and_neighbours(here, cli):
    """Both marks are among the four most frequent tokens; "3rd" has a digit."""
    Path("marked.txt").write_text("\n\n".join(["the dog , the cat , ran . \u00e9t\u00e9 3rd ."] * 50))
    command = ["corpus", "predict", "marked.txt", "--top", "4", "--nearest", "dog", "--json"]
    assert set(cli(*command).json()["words"]) >= {"the", ",", "."}
    found = cli(*command, "--words-only").json()
    assert found["words"] == ["the", "dog", "cat", "ran"]
    assert set(found["neighbours"]["dog"]["words"]) == {"the", "cat", "ran", "\u00e9t\u00e9", "3rd"}
    modes = cli(*command[:-1], "--words-only").out.split("most along it")[1]
    assert not {",", "."} & set(modes.split())
    Path("marks.txt").write_text("\n\n".join([", . ;"] * 50))
    said = cli("corpus", "predict", "marks.txt", "--words-only", code=2).err
    assert "words_only = True: no token has a letter or a digit" in said


def test_tokens_of_an_array_and_markers_reach_the_command(here, cli):
    np.save("tokens.npy", np.random.default_rng(0).integers(0, 9, (60, 8)))
    command = ["corpus", "predict", "tokens.npy", "--json"]
    assert cli(*command, "--tokens", "<3>", "<4>").json()["words"] == ["<3>", "<4>"]
    np.random.default_rng(0).integers(0, 9, 900).astype(np.uint16).tofile("train.bin")
    assert "--dtype uint16" in cli("corpus", "predict", "train.bin", code=2).err
    assert cli("corpus", "predict", "train.bin", "--dtype", "uint16", "--separator", "0", "--json").json()
    Path("marked.txt").write_text("\n\n".join(["[SEP] one two"] * 50))
    with pytest.warns(UserWarning, match="60% of all tokens are parts of markers"):
        cli("corpus", "predict", "marked.txt")
    assert "give one kind" in cli("corpus", "predict", "marked.txt", "tokens.npy", code=2).err
    for words in (["tokens.npy", "--documents", "line"], ["marked.txt", "--dtype", "uint16"]):
        assert "says nothing of " in cli("corpus", "predict", *words, code=2).err


def test_questions_need_no_field(here, cli):
    """As for corpus train, PrOntoQA's keys are known."""
    texts = toy_documents(40)
    record = dict(zip(PRONTOQA, (texts[0], texts[1], [texts[2]], texts[3]), strict=True)) | {"hops": 1}
    Path("questions.jsonl").write_text(f"{json.dumps(record)}\n" * 40)
    Path("toy.txt").write_text("\n\n".join([" ".join(texts[:4])] * 40))
    command = ["corpus", "predict", "--tokens", "the", "dog", "--json"]
    asked, read = (cli(*command, name).json() for name in ("questions.jsonl", "toy.txt"))
    assert asked["cosine"] == read["cosine"]


@pytest.mark.usefixtures("blank_pictures")
def test_a_folder_is_written_and_nothing_else_is_replaced(toy, cli):
    command = ["corpus", "predict", "toy.txt", "--top", "5", "--nearest", "dog", "--out", "out"]
    cli(*command)
    assert cli(*command).out.endswith(f"\nwritten to {Path('out/corpus-prediction.html')}\n")
    written = {file.relative_to("out").as_posix() for file in Path("out").rglob("*") if file.is_file()}
    assert written == {
        *("corpus-prediction.json", "corpus-prediction.html", "manifest.json"),
        *("figures/corpus-prediction/geometry.png", "figures/corpus-prediction/geometry.svg"),
    }
    page = Path("out/corpus-prediction.html").read_text()
    assert "Nearest to &#39;dog&#39;" in page
    assert "data:image/png;base64" in page
    Path("out/corpus-prediction.html").write_text("mine")
    assert "corpus-prediction.html" in cli(*command, code=2).err
    assert Path("out/corpus-prediction.html").read_text() == "mine"


def test_no_more_is_read_than_there_is(here, monkeypatch):
    """The texts of a compressed file are longer than the file."""
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


HOSTILE = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x00", "a\nb", "\r", "\t", "\x7f", "\x9b31m", "\u202eevil", "\u2028"),
    *("\ufffe", "\ufdd0", "\x0b\x0c", "<script>alert(1)</script>", "</svg>", "]]>", "&amp;", "&#0;", '"><b>'),
    *("$x^$", "\\frac{", "$", "_{", "%s", "{0}", "[/x]", "[red]", "=cmd()", "", " ", "x" * 5000),
    *("👩‍👩‍👧", "a\u0301" * 40),
)
"""Tokens that steer a terminal, break a page or are no LaTeX."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\ufffe]")


def test_hostile_tokens_are_text_in_tables_figures_and_pages(here, cli, caplog):
    """Words become these tokens by rules of the tokenizer: escaped, well formed, and libraries are silent."""
    library = pytest.importorskip("tokenizers", reason="needs the extra anchorflow[corpus]")
    words = [f"hostile{i:02}" for i in range(len(HOSTILE))]
    vocabulary = {word: i for i, word in enumerate(("[UNK]", *HOSTILE))}
    made = library.Tokenizer(library.models.WordLevel(vocabulary, unk_token="[UNK]"))
    rules = map(library.normalizers.Replace, words, HOSTILE)
    made.normalizer = library.normalizers.Sequence([*rules])
    made.pre_tokenizer = library.pre_tokenizers.Split(" ", "removed")
    made.save("tokenizer.json")
    turned = (words[i % len(words) :] + words[: i % len(words)] for i in range(60))
    Path("notes.txt").write_text("\n\n".join(map(" ".join, turned)))
    command = ["corpus", "predict", "notes.txt", "--tokenizer", "tokenizer.json", "--top", "40"]
    said = cli(*command, "--out", "out")
    files = ("corpus-prediction.json", "corpus-prediction.html", "figures/corpus-prediction/geometry.svg")
    prediction, page, figure = (Path("out", name).read_text("utf-8") for name in files)
    for text in (said.out, said.err, prediction, page, figure):
        assert not CONTROL.search(text)
    shown = {*json.loads(prediction)["words"]}
    assert {"\\x1b[2J", "\\u202eevil", "<script>alert(1)</script>", "$x^$"} <= shown
    ElementTree.fromstring(figure)
    assert not re.search(r"<script>alert|<b>", page)
    assert caplog.records == []
