"""Corpora: counts, geometry, operators, associations, first motion of language models, the commands."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

import sim
import theory
import validate
from sim import build_corpus
from tests.golden.commands import command
from tests.toy_text import toy_documents


def counted() -> Iterator[tuple[str, Any]]:
    """Yield what the theory says of the toy text."""
    corpus = build_corpus(toy_documents(60))
    documents, V = list(corpus), corpus.vocab_size
    counts = theory.corpus_counts(documents, V)
    yield "counts: pairs", counts.pairs.toarray()
    yield "counts: unigrams", [*counts.unigrams, counts.n_sequences, *counts.ratios, *counts.joint.sum(0)]
    yield "pair counts", theory.pair_counts([[0, 1], [2, 1], [0, 0]], [1, 2, 0], 4).pairs.toarray()
    operators = {
        "bigram": theory.bigram_operator(counts),
        "interchangeability": theory.interchangeability_operator(counts),
        "context": theory.context_operator(documents, V),
        "context co-occurrence": theory.context_cooccurrence_operator(documents, V),
    }
    for name, operator in operators.items():
        yield f"operator: {name}", theory.as_matrix(operator)
        yield f"operator: {name}, adjoint", operator.rmatmat(np.eye(V))
    yield "top singular values", theory.top_singular(operators["context"], 4)[1]
    yield "top eigenvalues", theory.top_eigen(operators["context co-occurrence"], 4)[0]
    tokens = corpus.most_frequent(8)
    for predictor in ("bigram", "marginal", "tied", "readout", "context"):
        g = theory.corpus_geometry(documents, V, tokens, predictor)
        for name in ("cosine", "growth", "apart", "mean_cosine"):
            sampled = getattr(g, name)
            yield f"{predictor}: {name}", [sampled.value, sampled.standard_error]
        yield f"{predictor}: departs, distinct", [g.departs, g.distinct_from_all]
        near = theory.nearest_tokens(documents, V, tokens[3], tokens, 4, predictor)
        yield f"{predictor}: nearest", [*near.tokens, *near.cosine.value[0]]
        if predictor != "context":
            yield f"{predictor}: gram", theory.corpus_gram(counts, tokens, predictor)
            yield f"{predictor}: mean cosine", theory.corpus_mean_cosine(counts, tokens, predictor)
    found = theory.corpus_associations(documents[:20], V).after(5, 0.3)
    for name in ("output", "value", "attention", "position"):
        yield f"associations: {name}", getattr(found, name)
    shuffled = theory.shuffled_tokens(documents, V, np.random.default_rng(1))
    yield "shuffled", theory.corpus_counts(shuffled, V).pairs.toarray()
    yield "limited", np.concatenate(theory.limited_corpus(documents, V, 6, 100))
    other = theory.corpus_counts(list(build_corpus(toy_documents(40, seed=3)).trimmed(9)), 10)
    yield "frequency matched", theory.frequency_matched(counts.unigrams, other.unigrams, tokens)


def moved() -> Iterator[tuple[str, Any]]:
    """Yield the first motion of small language models."""
    rng = np.random.default_rng(0)
    V, d = 7, 4
    sequences = [rng.integers(V, size=12) for _ in range(30)]
    counts = theory.corpus_counts(sequences, V)
    C = theory.as_matrix(theory.bigram_operator(counts))
    context = theory.as_matrix(theory.context_operator(sequences, V))
    W_E, W_U, W_VO, W_f = (rng.standard_normal(s) for s in ((V, d), (d, V), (d, d), (d, d)))
    plain = {"tied": theory.LanguageParameters(W_E), "untied": theory.LanguageParameters(W_E, W_U)}
    for name, parameters in plain.items():
        whole = theory.LanguageParameters(parameters.W_E, parameters.W_U, W_VO, W_f)
        yield f"drive, {name}", theory.language_drive(C, context, whole)
        yield f"normed drive, {name}", theory.normed_drive(C, parameters, 1e-2)
        yield f"flow, {name}", theory.language_flow(C, parameters, 3.0)
        yield f"gram, {name}", theory.language_gram(C, 3.0, tied=name == "tied")


def trained_on() -> Iterator[tuple[str, Any]]:
    """Yield text data sets, questions, and the standard deviations that ``initialise_`` gives."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, seed in (("one", 0), ("two", 1)):
            files[name] = Path(folder, f"{name}.txt")
            files[name].write_text("\n\n".join(toy_documents(60, seed)))
        sources = [{"name": name, "files": [str(file)]} for name, file in files.items()]
        for layout in ("cut", "pad", "pack"):
            task = sim.make_language_task(
                [sim.CorpusSource(**source) for source in sources], length=30, layout=layout
            )
            settings = {"task": task.model_dump(mode="json"), "seeds": [3], "init_rates": [0.8]}
            member = sim.make_run_config(sim.load_preset("language-demo") | settings).members()[0]
            data = sim.build_dataset(member)
            yield f"text data, {layout}: tokens", data.tokens
            yield f"text data, {layout}: labels", data.labels
            yield f"text data, {layout}: parts", [rows.numpy() for rows in data.parts.values()]
    trimmed = build_corpus(toy_documents(10), vocabulary=7, context=9)
    yield "trimmed corpus", [*trimmed.tokens, *trimmed.ends]
    questions = sim.prontoqa_questions(20, seed=1)
    yield "questions", [ord(character) for q in questions for character in q.text]
    yield "toy facts", [ord(character) for text in sim.toy_facts(10) for character in text]
    module = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 6), torch.nn.LayerNorm(6))
    for convention in ("paper", "vocab"):
        report = sim.initialise_(module, 0.8, convention=convention, bias_scale=1.0)
        yield f"initialise, {convention}", [[t.std or 0, t.measured] for t in report.tensors]
        yield (
            f"initialise, {convention}: entries",
            torch.cat([p.flatten() for p in module.parameters()]).detach(),
        )


def commanded() -> Iterator[tuple[str, Any]]:
    """Yield the numbers of ``corpus predict`` and ``corpus embedding``."""
    with tempfile.TemporaryDirectory() as folder:
        text, checkpoint = Path(folder, "toy.txt"), Path(folder, "model.safetensors")
        text.write_text("\n\n".join(toy_documents(80)))
        numbers = command("corpus", "predict", str(text), "--nearest", "dog", "--predictor", "tied")
        yield "corpus predict", [numbers[key] for key in sorted(numbers)]
        V = build_corpus(toy_documents(80)).vocab_size
        torch.manual_seed(0)
        save_file({"wte.weight": torch.randn(V, 5), "other": torch.zeros(3, 3)}, checkpoint)
        numbers = command("corpus", "embedding", str(text), "--checkpoint", str(checkpoint), "--top", "11")
        yield "corpus embedding", [numbers[key] for key in sorted(numbers)]
    rng = np.random.default_rng(2)
    found = validate.compare_embedding(
        rng.standard_normal((12, 3)), (rng.integers(12, size=(300, 2)), rng.integers(12, size=300))
    )
    yield (
        "compare_embedding of pairs",
        [
            [comparison[name][key] or 0 for key in ("mean", "low", "high")]
            for comparison in found.to_json()["comparisons"]
            for name in ("pearson", "spearman", "control", "gain")
        ],
    )


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    yield from counted()
    yield from moved()
    yield from trained_on()
    yield from commanded()
