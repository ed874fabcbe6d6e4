"""A toy text for tests, in which some words are interchangeable, and tokenizers of whole words."""

import json
from pathlib import Path

import numpy as np
import pytest

ANIMALS, VERBS, PLACES = ("dog", "cat", "fox"), ("sees", "likes"), ("hill", "lake", "wood")


def toy_documents(n: int, seed: int = 0) -> list[str]:
    """Return n documents of three sentences each."""
    rng = np.random.default_rng(seed)

    def sentence() -> str:
        one, other = rng.choice(ANIMALS, 2)
        return f"The {one} {rng.choice(VERBS)} the {other} at a {rng.choice(PLACES)}."

    return [" ".join(sentence() for _ in range(3)) for _ in range(n)]


def save_tokenizer(file: Path, vocabulary: dict[str, int], unknown: str) -> Path:
    """Write a tokenizer of words with these numbers, one of which stands for all others."""
    pytest.importorskip("tokenizers", reason="needs the extra anchorflow[corpus]")
    # The library's own way to save lists the numbers that are missing: gigabytes, below a billion.
    rest = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}
    words = {"type": "Whitespace"}
    file.write_text(
        json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": words, "model": model} | rest)
    )
    return file
