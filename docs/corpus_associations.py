"""Im et al.'s model at 3000 words of TinyStories: cosines of leading terms and trained matrices.

Run as ``python docs/corpus_associations.py FOLDER --seeds 0 1 2 --out runs/associations``, the folder with
tinystories_lower.jsonl. Full-batch gradient descent from zero in float64, three layers. Every step is kept in
``--out``: run the same command again to resume, or with more ``--steps`` to continue. A step of the default
size takes some 15 s of one core and 1.8 GiB; a line is printed after each from the third on, when all
matrices have moved. ``--keep FILE`` writes the last step's cosines of every seed, and those with the leading
terms of the same texts shuffled, which claim 38 reads:
``python docs/corpus_associations.py ../shared/data --words 1000 --keep validate/kept/associations.json``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from command_line import CommandLine, folder_with

from sim import AssociationModel, build_corpus, read_documents
from sim.runs.files import write_atomically, write_json
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
    for first in range(0, len(tokens), _AT_ONCE):
        part = tokens[first : first + _AT_ONCE]
        loss = model.loss(part) * len(part) / len(tokens)
        for sum_, own in zip(total, torch.autograd.grad(loss, model.tensors()), strict=True):
            sum_ += own
        losses += float(loss.detach())
    with torch.no_grad():
        for tensor, own in zip(model.tensors(), total, strict=True):
            tensor -= rate * own
    return losses


def cosines(model: AssociationModel, terms: Associations) -> dict[str, float]:
    """Return, for each kind of matrix, the smallest cosine over layers."""
    found = {}
    for name in NAMES:
        predicted = getattr(terms, name).ravel()
        trained = getattr(model, name).detach().numpy().reshape(-1, predicted.size)
        lengths = np.linalg.norm(trained, axis=1) * np.linalg.norm(predicted)
        found[name] = float((trained @ predicted / lengths).min())
    return found


def shuffled(array: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """Return the same texts with all their tokens shuffled: frequencies alone are left."""
    return np.random.default_rng([seed, 1]).permutation(array.ravel()).reshape(array.shape)


def begun(kept: Path, options: argparse.Namespace) -> tuple[AssociationModel, int]:
    """Return the model of a seed as far as it was trained, and the steps that it has taken."""
    model = AssociationModel.zero(options.words, options.layers, options.length)
    if not kept.exists():
        return model, 0
    arrays, metadata = read_tensors(kept.read_bytes())
    for name in NAMES:
        getattr(model, name).data.copy_(torch.from_numpy(arrays[name].copy()))
    return model, int(metadata["steps"])


def run(options: argparse.Namespace, seed: int) -> Iterator[dict[str, Any]]:
    """Train one seed from where it stands and return what each step gave, from the third on."""
    array = sequences(options.folder, options.words, options.length, options.sequences, seed)
    terms, tokens = corpus_associations(array, options.words), torch.from_numpy(array)
    size = f"{options.words}-{options.length}-{options.sequences}-{options.layers}-{options.rate:g}"
    kept = options.out / f"{size}-seed{seed}.safetensors"
    model, done = begun(kept, options)
    for step in range(done + 1, options.steps + 1):
        loss = descend(model, tokens, options.rate)
        if not math.isfinite(loss):
            raise SystemExit(f"seed {seed}, step {step}: the loss is no longer finite")
        arrays = {name: getattr(model, name).detach().numpy() for name in NAMES}
        options.out.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, write_tensors(arrays, {"steps": str(step)}))
        if step > 2:
            found = {"seed": seed, "step": step, "loss": loss, "cosines": cosines(model, terms)}
            if step == options.steps:
                control = corpus_associations(shuffled(array, seed), options.words)
                found["shuffled"] = cosines(model, control)
            yield found


def line(found: dict[str, Any], rate: float) -> str:
    """Return what one step gave, in words."""
    shown = " ".join(f"{name} {cosine:.4f}" for name, cosine in found["cosines"].items())
    head = f"seed {found['seed']}, step {found['step']}, dose {found['step'] * rate:.3g}"
    return f"{head}, loss {found['loss']:.4f}: {shown}"


def main() -> None:
    """Read the options and print."""
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with("tinystories_lower.jsonl"))
    for name, default in (("words", 3000), ("length", 16), ("sequences", 48), ("layers", 3), ("steps", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/associations"))
    parser.add_argument("--keep", type=Path, help="write the last step of every seed here")
    options = parser.parse_args()
    last = []
    for seed in options.seeds:
        for found in run(options, seed):
            print(line(found, options.rate), flush=True)
            if found["step"] == options.steps:
                last.append(found)
    if options.keep is not None:
        if len(last) < len(options.seeds):
            raise SystemExit("a seed was further before: take another --out to keep this number of steps")
        sizes = ("words", "length", "sequences", "layers", "steps", "rate")
        write_json(options.keep, {**{name: getattr(options, name) for name in sizes}, "seeds": last})


if __name__ == "__main__":
    main()
