"""Im et al.'s model on words of TinyStories: cosines of leading terms and trained matrices, read by claim 38.

Run as ``python docs/corpus_associations.py FOLDER validate/kept/associations.json``: the folder with
tinystories_lower.jsonl, and the file to write. Full-batch gradient descent from zero in float64, 1000 words,
three layers, ten steps; half a minute of one core for each of three seeds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from command_line import CommandLine, folder_with

from sim import AssociationModel, build_corpus, read_documents, train_associations
from sim.runs.files import write_json
from theory import Associations, corpus_associations

NAMES = ("attention", "value", "output", "position")
SIZES: Any = {"words": 1000, "length": 16, "sequences": 48, "layers": 3, "steps": 10, "rate": 0.1}


def sequences(folder: Path, words: int, length: int, n: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the beginnings of n stories drawn at random, as the most frequent words and ``<other>``."""
    corpus = build_corpus(read_documents(folder / "tinystories_lower.jsonl"), vocabulary=words - 1)
    long = [document[: length + 1] for document in corpus if len(document) > length]
    chosen = np.random.default_rng(seed).choice(len(long), n, replace=False)
    return np.stack([long[i] for i in chosen]).astype(np.int64)


def cosines(model: AssociationModel, terms: Associations) -> dict[str, float]:
    """Return, for each kind of matrix, the smallest cosine over layers."""
    smallest = {}
    for name in NAMES:
        predicted = getattr(terms, name).ravel()
        trained = getattr(model, name).detach().numpy().reshape(-1, predicted.size)
        lengths = np.linalg.norm(trained, axis=1) * np.linalg.norm(predicted)
        smallest[name] = float((trained @ predicted / lengths).min())
    return smallest


def run(folder: Path, seed: int, sizes: dict[str, Any]) -> dict[str, Any]:
    """Train one seed; the control is the leading terms of the same texts with all their tokens shuffled."""
    words, steps = sizes["words"], sizes["steps"]
    array = sequences(folder, words, sizes["length"], sizes["sequences"], seed)
    shuffled = np.random.default_rng([seed, 1]).permutation(array.ravel()).reshape(array.shape)
    model = train_associations(array, words, n_layers=sizes["layers"], steps=steps, rate=sizes["rate"])
    own, control = (cosines(model, corpus_associations(texts, words)) for texts in (array, shuffled))
    return {"seed": seed, "step": steps, "cosines": own, "shuffled": control}


if __name__ == "__main__":
    parser = CommandLine(__doc__)
    parser.add_argument("folder", type=folder_with("tinystories_lower.jsonl"))
    parser.add_argument("keep", type=Path)
    options = parser.parse_args()
    seeds = [run(options.folder, seed, SIZES) for seed in (0, 1, 2)]
    print(*seeds, sep="\n")
    write_json(options.keep, SIZES | {"seeds": seeds})
