"""Im et al.'s model at 3000 words of TinyStories: cosines of leading terms and trained matrices.

Run as ``python docs/corpus_associations.py FOLDER --seeds 0 1 2 --out runs/associations``, the folder with
tinystories_lower.jsonl. Full-batch gradient descent from zero in float64, three layers. Every step is kept in
``--out``: run the same command again to resume, or with more ``--steps`` to continue. A step of the default
size takes some 15 s of one core and 1.8 GiB; a line is printed after each from the third on, when all
matrices have moved.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from sim import AssociationModel, build_corpus, read_documents
from sim.runs.files import write_atomically
from sim.runs.tensors import read_tensors, write_tensors
from theory import Associations, corpus_associations

NAMES = ("attention", "value", "output", "position")
_AT_ONCE = 8
"""Sequences whose activations are held together."""


def sequences(folder: Path, words: int, length: int, n: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the beginnings of n stories drawn at random, as the most frequent words and ``<other>``."""
    corpus = build_corpus(read_documents(folder / "tinystories_lower.jsonl"), vocabulary=words - 1)
    long = [document[: length + 1] for document in corpus if len(document) > length]
    chosen = np.random.default_rng(seed).choice(len(long), n, replace=False)
    return np.stack([long[i] for i in chosen]).astype(np.int64)


def descend(model: AssociationModel, tokens: torch.Tensor, rate: float) -> float:
    """Take one step of full-batch gradient descent and return the loss before it."""
    total = [torch.zeros_like(tensor) for tensor in model.tensors()]
    losses = 0.0
    for part in tokens.split(_AT_ONCE):
        loss = model.loss(part) * len(part) / len(tokens)
        for sum_, own in zip(total, torch.autograd.grad(loss, model.tensors()), strict=True):
            sum_ += own
        losses += float(loss.detach())
    with torch.no_grad():
        for tensor, own in zip(model.tensors(), total, strict=True):
            tensor -= rate * own
    return losses


def cosines(model: AssociationModel, terms: Associations) -> list[float]:
    """Return, for each kind of matrix, the smallest cosine over layers."""
    found = []
    for name in NAMES:
        predicted = getattr(terms, name).ravel()
        trained = getattr(model, name).detach().numpy().reshape(-1, predicted.size)
        lengths = np.linalg.norm(trained, axis=1) * np.linalg.norm(predicted)
        found.append(float((trained @ predicted / lengths).min()))
    return found


def run(options: argparse.Namespace, seed: int) -> Iterator[str]:
    """Train one seed from where it stands and return one line per step."""
    array = sequences(options.folder, options.words, options.length, options.sequences, seed)
    terms, tokens = corpus_associations(array, options.words), torch.from_numpy(array)
    model = AssociationModel.zero(options.words, options.layers, options.length)
    size = f"{options.words}-{options.length}-{options.sequences}-{options.layers}-{options.rate:g}"
    kept, first = options.out / f"{size}-seed{seed}.safetensors", 1
    if kept.exists():
        arrays, metadata = read_tensors(kept.read_bytes())
        for name in NAMES:
            getattr(model, name).data.copy_(torch.from_numpy(arrays[name].copy()))
        first = int(metadata["steps"]) + 1
    for step in range(first, options.steps + 1):
        loss = descend(model, tokens, options.rate)
        if not math.isfinite(loss):
            yield f"seed {seed}, step {step}: the loss is no longer finite"
            return
        arrays = {name: getattr(model, name).detach().numpy() for name in NAMES}
        options.out.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, write_tensors(arrays, {"steps": str(step)}))
        if step > 2:
            shown = " ".join(f"{name} {c:.4f}" for name, c in zip(NAMES, cosines(model, terms), strict=True))
            yield f"seed {seed}, step {step}, dose {step * options.rate:.3g}, loss {loss:.4f}: {shown}"


def main() -> None:
    """Read the options and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    for name, default in (("words", 3000), ("length", 16), ("sequences", 48), ("layers", 3), ("steps", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/associations"))
    options = parser.parse_args()
    for seed in options.seeds:
        for line in run(options, seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
