"""Corpora: geometry, associations, data sets, the commands."""

import json
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
from tests.golden import leaves, said
from tests.toy_text import toy_documents

RTOLS = {"": 1e-7}
"""Training in float64 and sums over documents in another order: what kinds of processor may leave of them."""


def entries() -> Iterator[tuple[str, Any]]:
    yield from counted()
    yield from trained_on()
    yield from commanded()


def counted() -> Iterator[tuple[str, Any]]:
    """Yield what the theory says of the toy text."""
    corpus = build_corpus(toy_documents(60))
    documents, V = list(corpus), corpus.vocab_size
    counts = theory.corpus_counts(documents, V)
    tokens = corpus.most_frequent(8)
    for predictor in ("bigram", "marginal", "tied", "readout", "context"):
        found = theory.corpus_geometry(documents, V, tokens, predictor)
        for name in ("cosine", "growth", "apart", "mean_cosine"):
            sampled = getattr(found, name)
            # An unknown error would drown all others in the sums.
            yield f"{predictor}: {name}", [sampled.value, np.nan_to_num(sampled.standard_error)]
        yield f"{predictor}: departs, distinct", [found.departs, found.distinct_from_all]
        near = theory.nearest_tokens(documents, V, tokens[3], tokens, 4, predictor)
        yield f"{predictor}: nearest", [near.tokens, near.cosine.value[0]]
        if predictor != "context":
            yield f"{predictor}: gram", theory.corpus_gram(counts, tokens, predictor)
            yield f"{predictor}: mean cosine", theory.corpus_mean_cosine(counts, tokens, predictor)
    after = theory.corpus_associations(documents[:20], V).after(5, 0.3)
    yield "associations", [getattr(after, name) for name in ("output", "value", "attention", "position")]
    shuffled = theory.shuffled_tokens(documents, V, np.random.default_rng(1))
    yield "shuffled", theory.corpus_counts(shuffled, V).pairs.toarray()


def trained_on() -> Iterator[tuple[str, Any]]:
    """Yield text data sets, questions, and the standard deviations that ``initialise_`` gives."""
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name, seed in (("one", 0), ("two", 1)):
            file = Path(folder, f"{name}.txt")
            file.write_text("\n\n".join(toy_documents(60, seed)))
            sources.append(sim.CorpusSource(name=name, files=(str(file),)))
        for layout in ("cut", "pad", "pack"):
            task = sim.make_language_task(sources, length=30, layout=layout)
            own = {"task": task.model_dump(mode="json"), "seeds": [3], "init_rates": [0.8]}
            data = sim.build_dataset(sim.make_run_config(sim.load_preset("language-demo") | own).members()[0])
            yield f"text data, {layout}", [data.tokens, data.labels, data.parts]
    trimmed = build_corpus(toy_documents(10), vocabulary=7, context=9)
    yield "trimmed corpus", [trimmed.tokens, trimmed.ends]
    yield "questions", [question.text for question in sim.prontoqa_questions(20, seed=1)]
    yield "toy facts", sim.toy_facts(10)
    module = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Linear(4, 6), torch.nn.LayerNorm(6))
    for convention in ("paper", "vocab"):
        report = sim.initialise_(module, 0.8, convention=convention, bias_scale=1.0)
        yield f"initialise, {convention}", [[t.std or 0, t.measured] for t in report.tensors]
        yield f"initialise, {convention}: entries", list(module.parameters())


def commanded() -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        text, checkpoint = Path(folder, "toy.txt"), Path(folder, "model.safetensors")
        text.write_text("\n\n".join(toy_documents(80)))
        torch.manual_seed(0)
        tensors = {"wte.weight": torch.randn(build_corpus(toy_documents(80)).vocab_size, 5)}
        save_file(tensors | {"other": torch.zeros(3, 3)}, checkpoint)
        predict = ("corpus", "predict", str(text), "--nearest", "dog", "--predictor", "tied")
        yield "corpus predict", dict(leaves(json.loads(said(*predict, "--json"))))
        embedding = ("corpus", "embedding", str(text), "--checkpoint", str(checkpoint), "--top", "11")
        yield "corpus embedding", dict(leaves(json.loads(said(*embedding, "--json"))))
    rng = np.random.default_rng(2)
    pairs = rng.integers(12, size=(300, 2)), rng.integers(12, size=300)
    found = validate.compare_embedding(rng.standard_normal((12, 3)), pairs).to_json()["comparisons"]
    measured = [[each[name] for name in ("pearson", "spearman", "control", "gain")] for each in found]
    yield "compare_embedding of pairs", measured
