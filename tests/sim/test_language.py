"""Training on text: sequences, vocabulary and layouts; the engine's promises; what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sim import (
    CorpusSource,
    Execution,
    MemberConfig,
    Run,
    RunFolder,
    Trainer,
    build_corpus,
    make_language_task,
    make_run_config,
    train,
    train_members,
    train_together,
)
from sim.data.corpus import digest_of
from sim.data.language import END, TextDataset, build_text_dataset
from sim.training.launch import pending_runs
from tests.run_folder import every_file
from tests.sim.conftest import stopped_after
from tests.sim.test_device_loop import EXACT, compare, gpu, on_device
from tests.toy_text import save_tokenizer, toy_documents
from theory import InputError

Make = Callable[..., MemberConfig]
TOY_WORDS = 12


@pytest.fixture
def language(here: Path) -> Make:
    """Make a member on two toy corpora; keywords change its task."""
    Path("toy.txt").write_text("\n\n".join(toy_documents(60)))
    Path("rare.jsonl").write_text("".join(json.dumps({"text": f"a dog {i}."}) + "\n" for i in range(50)))

    def make(training: dict[str, Any] | None = None, **task: Any) -> MemberConfig:
        corpora = [{"name": "toy", "files": ["toy.txt"]}, {"name": "rare", "files": ["rare.jsonl"]}]
        base = {"corpora": corpora, "n_sequences": 20, "length": 30, "vocab_size": TOY_WORDS + 51}
        options = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2, "evaluate_every": 1}
        config = {
            "task": base | task,
            "model": {"kind": "gpt2", "d_m": 8, "n_heads": 2, "n_layers": 1},
            "init_rates": [0.5],
            "training": options | {"snapshot_epochs": [1], "checkpoint_every": 1} | (training or {}),
        }
        return make_run_config(config).members()[0]

    return make


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize("training", [{}, {"batch_size": "full"}], ids=["batches", "full"])
def test_the_device_takes_the_hosts_steps(training: dict[str, Any], device: str, language: Make) -> None:
    """A language model's, as those of the other kinds in test_device_loop.py."""
    member = language({"dtype": "float64", "learning_rate": EXACT} | training)
    host, own = Trainer([member]), on_device([member], device)
    for _ in range(2):
        assert host.advance()
        assert own.advance()
    compare(host, own, 1e-11 if device == "cpu" else 1e-7)


def _dataset(member: MemberConfig) -> TextDataset:
    found = Trainer([member]).datasets[0]
    assert isinstance(found, TextDataset)
    return found


def _texts(data: TextDataset, name: str) -> list[str]:
    """Return a corpus's sequences in words, without padding."""
    rows = torch.cat([data.tokens, data.labels[:, None]], dim=1)[data.parts[name]]
    return [" ".join(data.words[t] for t in row.tolist() if t >= 0) for row in rows]


def _tokenizer(words: str) -> str:
    """Write a tokenizer of some words, numbered in order, and return its name."""
    vocabulary = {word: number for number, word in enumerate(words.split())}
    return str(save_tokenizer(Path("tokenizer.json"), vocabulary, "?"))


def test_the_whole_vocabulary_of_a_tokenizer_is_kept(language: Make) -> None:
    """Tokens have the tokenizer's numbers, those that never occur a row of the embedding, <end> is behind."""
    tokenizer = _tokenizer("? zebra dog cat the a . saw yak")
    sources = [CorpusSource(name="toy", files=("toy.txt",)), CorpusSource(name="rare", files=("rare.jsonl",))]
    task = make_language_task(sources, length=30, tokenizer=tokenizer, whole_vocabulary=True)
    trimmed = make_language_task(sources, length=30, tokenizer=tokenizer)
    assert (task.vocab_size, task.whole_vocabulary) == (10, True)
    assert trimmed.vocab_size < 10
    asked = {"tokenizer": tokenizer, "whole_vocabulary": True, "n_sequences": 50, "vocab_size": 10}
    member = language(**asked)
    trainer, data = Trainer([member]), _dataset(member)
    assert data.words == ("?", "zebra", "dog", "cat", "the", "a", ".", "saw", "yak", END)
    assert trainer.parameters["W_E"].shape[1] == 10
    assert "a dog ? . <end>" in _texts(data, "rare")[0]
    trainer.step(*trainer.batches.at(0))
    with pytest.raises(InputError, match=r"vocab_size = 9: the tokenizer has 9 tokens.*give 10"):
        Trainer([language(**(asked | {"vocab_size": 9}))])
    with pytest.raises(InputError, match="whole_vocabulary = True: there is no tokenizer"):
        make_language_task(sources, whole_vocabulary=True)
    with pytest.raises(InputError, match="vocabulary = 2: out of range; give at least 3"):
        make_language_task(sources, vocabulary=2)
    with pytest.raises(InputError, match="vocabulary = 5: excludes whole_vocabulary"):
        make_language_task(sources, tokenizer=tokenizer, whole_vocabulary=True, vocabulary=5)


def test_a_corpus_fills_a_sequence_if_it_has_one_token_more_than_inputs(language: Make) -> None:
    language()
    for name, words in (("one.txt", "a dog saw"), ("two.txt", "the cat saw a dog")):
        Path(name).write_text(words)
    sources = [CorpusSource(name=name, files=(f"{name}.txt",)) for name in ("one", "two")]
    task = make_language_task(sources, length=3, layout="pack")
    assert task.n_sequences == 1  # "a dog saw <end>" in one go, three inputs and the token after them.
    with pytest.raises(InputError, match="length = 4: corpus one is shorter"):
        make_language_task(sources, length=4, layout="pack")


def test_sequences_are_documents_with_an_end_as_many_of_each_corpus(language: Make) -> None:
    data = _dataset(language())
    assert len(data.tokens) == len(data.train) == 40
    wanted = {
        "toy": {" ".join([*_words(text), END]) for text in toy_documents(60)},
        "rare": {f"a dog {i} . {END}" for i in range(50)},
    }
    for name, texts in wanted.items():
        found = _texts(data, name)
        assert len(found) == 20
        assert set(found) <= texts
    # Another seed draws other documents.
    other = _dataset(language().model_copy(update={"seed": 1}))
    assert set(_texts(other, "rare")) != set(_texts(data, "rare"))


def _words(text: str) -> list[str]:
    corpus = build_corpus([text])
    return [corpus.words[t] for t in corpus.tokens]


def test_layouts(language: Make) -> None:
    """Cut to nine tokens; packed without padding, each sequence beginning with the last token before."""
    cut = _dataset(language(length=8))
    assert (cut.tokens[cut.parts["toy"]] >= 0).all()
    assert (cut.labels[cut.parts["rare"]] == -1).all()
    assert {len(text.split()) for text in _texts(cut, "toy")} == {9}
    packed = _dataset(language(length=7, layout="pack"))
    assert (packed.tokens >= 0).all()
    rows = packed.parts["rare"]
    assert torch.equal(packed.labels[rows][:-1], packed.tokens[rows][1:, 0])
    stream = " ".join(packed.words[t] for t in packed.tokens[rows].flatten().tolist())
    documents = stream.split(f" {END} ")
    assert len(documents) == 28
    assert len(set(documents)) == 28
    longest = max(len(_words(text)) for text in toy_documents(60))
    with pytest.raises(InputError, match=f"length = 20: corpus toy has a document of {longest} tokens"):
        _dataset(language(length=20, layout="pad"))
    assert _dataset(language(length=longest, layout="pad")).tokens.shape[1] == longest


def test_losses_are_kept_apart_and_fall(language: Make, tmp_path: Path) -> None:
    """The run folder's losses are those of the two corpora; its statistics are what it trained on."""
    member = language(training={"epochs": 12})
    (run,) = train(_config(member), tmp_path / "runs")
    first, last = run.metrics[0]["loss"], run.metrics[-1]["loss"]
    assert list(first) == ["toy", "rare"]
    assert all(last[name] < first[name] - 1 for name in first)
    assert run.metrics[-1]["accuracy"]["toy"] > 0.3
    trainer = Trainer([member])
    for _ in range(12):
        trainer.advance()
    assert trainer.evaluate()[0]["toy"]["loss"] == pytest.approx(last["toy"], rel=1e-5)
    corpora = run.corpora()
    assert [len(corpus) for corpus in corpora.values()] == [20, 20]
    texts = [" ".join(corpora["rare"].words[t] for t in document) for document in corpora["rare"]]
    assert texts == _texts(_dataset(member), "rare")
    assert language(corpora=[{"name": "rsn_test", "files": ["toy.txt"]}]).trains_on("rsn_test")
    with pytest.raises(InputError, match="anchorflow corpus compare"):
        _ = run.task
    with pytest.raises(InputError, match=r"a language model's, .*anchorflow corpus$"):
        _config(member).build_task()


def _config(member: MemberConfig) -> Any:
    data = member.model_dump(mode="json")
    return make_run_config({"init_rates": [data.pop("init_rate")], "seeds": [data.pop("seed")]} | data)


def test_a_file_that_changed_is_refused(language: Make, tmp_path: Path) -> None:
    sources = [{"name": "toy", "files": ["toy.txt"], "sha256": [digest_of("toy.txt")]}]
    member = language(corpora=sources, vocab_size=TOY_WORDS + 1)
    train(_config(member), tmp_path / "runs")
    with Path("toy.txt").open("a") as file:
        file.write("\n\nThe dog.")
    with pytest.raises(InputError, match=r"toy\.txt': its checksum differs"):
        train(_config(member), tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match=r"toy\.txt': its checksum differs"):
        make_language_task(member.task.corpora)
    assert Run.open(tmp_path / "runs" / "gamma0.5_seed0").corpora()["toy"].vocab_size == TOY_WORDS + 1


def test_a_run_is_not_continued_on_another_text(language: Make, tmp_path: Path) -> None:
    """Whose checksum its configuration does not name."""
    member, path = language(), tmp_path / "run"
    assert train_together([member], [path], stop=stopped_after(3)) == "interrupted"
    kept, text = every_file(path), Path("toy.txt").read_text()
    Path("toy.txt").write_text(text.replace("cat", "bird"))
    with pytest.raises(InputError, match=r"begun on other data: its texts.*have changed since; restore"):
        train_together([member], [path], resume=True)
    assert every_file(path) == kept
    Path("toy.txt").write_text(text)
    assert train_together([member], [path], resume=True) == "complete"


def test_a_text_of_one_word_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("word word\n\nword")
    with pytest.raises(InputError, match="one distinct token"):
        make_language_task([CorpusSource(name="one", files=(str(tmp_path / "one.txt"),))])


def test_a_run_is_not_continued_with_another_tokenizer(language: Make, tmp_path: Path) -> None:
    """It reads its texts again, and here the two most frequent words have each other's numbers."""
    asked = {"tokenizer": _tokenizer("? dog cat the a . saw"), "whole_vocabulary": True, "vocab_size": 8}
    member, path = language(training={"epochs": 3}, **asked), tmp_path / "run"
    begun = digest_of("tokenizer.json")
    assert train_together([member], [path], stop=stopped_after(3)) == "interrupted"
    recorded = RunFolder(path).read_provenance()["tokenizer"]
    assert recorded == {"file": "tokenizer.json", "sha256": begun}
    kept = every_file(path)
    _tokenizer("? dog cat a the . saw")
    now = digest_of("tokenizer.json")
    words = rf"tokenizer = 'tokenizer.json': .*{now[:12]}.*{begun[:12]}.*; restore that file"
    with pytest.raises(InputError, match=words):
        train_members([member], [path], resume=True)
    # All runs are asked before one of them trains.
    with pytest.raises(InputError, match=words):
        pending_runs([member], [path], Execution(resume=True))
    # The task of a tokenizer that changed can be another one: the cause is named, not the vocabulary's size.
    other = member.model_copy(update={"task": member.task.model_copy(update={"vocab_size": 7})})
    with pytest.raises(InputError, match=words):
        train_members([other], [path], resume=True)
    assert every_file(path) == kept
    _tokenizer("? dog cat the a . saw")
    train_members([member], [path], resume=True)
    assert Run.open(path).provenance["tokenizer"] == recorded


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"n_sequences": 70}, "corpus toy has 60 sequences of length 30; give 60 or fewer"),
        ({"n_sequences": 70, "layout": "pack", "length": 29}, "corpus toy has 57 sequences of length 29"),
        ({"layout": "pack", "length": 5000}, "toy has 0 sequences of length 5000; give a shorter context"),
        ({"corpora": [{"name": "a", "files": ["toy.txt"]}] * 2}, "two corpora of that name"),
        ({"corpora": [{"name": "a", "files": ["toy.txt"], "sha256": []}], "length": 1}, "length = 1"),
        ({"corpora": [{"name": "a", "files": ["toy.txt"], "sha256": ["0" * 64] * 2}]}, "not one for each"),
        ({"corpora": [{"name": "a/b", "files": ["toy.txt"]}]}, "name = 'a/b'"),
        ({"corpora": [{"name": "a", "files": ["empty.txt"]}]}, "no document holds a word"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(language: Make, task: dict[str, Any], words: str) -> None:
    Path("empty.txt").touch()
    with pytest.raises(InputError, match=words):
        Trainer([language(**task)])


def test_the_usual_separator_leaves_a_configuration_as_older_runs_have_it() -> None:
    usual = CorpusSource(name="a", files=("a.txt",))
    other = CorpusSource(name="a", files=("a.txt",), separator="###")
    assert "separator" not in usual.model_dump(mode="json")
    for source in (usual, other):
        assert CorpusSource(**source.model_dump(mode="json")) == source


def test_special_tokens_that_dominate_are_warned_of_once(tmp_path: Path) -> None:
    """When the task is made, and not again when its sequences are drawn."""
    (tmp_path / "a.txt").write_text("\n\n".join(["[SEP] one two"] * 50))
    with pytest.warns(UserWarning, match="60% of all tokens are parts of markers"):
        task = make_language_task([CorpusSource(name="a", files=(str(tmp_path / "a.txt"),))], length=4)
    assert build_text_dataset(task, 0).tokens.shape == (50, 4)
