"""docs/corpus_associations.py: what it trains and what claim 38 reads of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sim import train_associations
from tests.docs_script import load_script
from tests.toy_text import toy_documents
from theory import corpus_associations
from validate.judge.measures import propositions

SCRIPT = load_script("corpus_associations")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES = {"words": 20, "length": 6, "sequences": 10, "layers": 2, "steps": 4, "rate": 0.3}


def test_a_seed_has_the_smallest_cosines_over_layers_and_a_control(tmp_path: Path) -> None:
    stories = "\n".join(json.dumps({"text": " ".join([text] * 3)}) for text in toy_documents(40))
    (tmp_path / "tinystories_lower.jsonl").write_text(stories)
    result = SCRIPT.run(tmp_path, 0, SIZES)
    array = SCRIPT.sequences(tmp_path, 20, 6, 10, 0)
    model = train_associations(array, 20, n_layers=2, steps=4, rate=0.3)
    W, C = model.output.detach().numpy(), corpus_associations(array, 20).output
    assert result["cosines"]["output"] == pytest.approx((W * C).sum() / np.linalg.norm(W) / np.linalg.norm(C))
    value = corpus_associations(array, 20).value
    layers = [(V * value).sum() / np.linalg.norm(V) for V in model.value.detach().numpy()]
    assert result["cosines"]["value"] == pytest.approx(min(layers) / np.linalg.norm(value))
    assert all(result["shuffled"][name] < result["cosines"][name] for name in ("output", "value"))


def test_the_claim_reads_what_was_kept() -> None:
    kept = propositions.trained()
    assert {name: kept[name] for name in SCRIPT.SIZES} == SCRIPT.SIZES
    assert [seed["seed"] for seed in kept["seeds"]] == [0, 1, 2]
    for draw, seed in enumerate(kept["seeds"]):
        assert propositions.smallest_cosine(draw, "value") == seed["cosines"]["value"]
        assert propositions.smallest_cosine(draw, "value", "shuffled") == seed["shuffled"]["value"]


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}")
def test_a_kept_number_is_what_the_data_give() -> None:
    """The first of the kept seeds, trained again: half a minute."""
    expected = propositions.trained()["seeds"][0]
    again = SCRIPT.run(DATA, 0, SCRIPT.SIZES)
    for terms in ("cosines", "shuffled"):
        assert again[terms] == pytest.approx(expected[terms], abs=1e-9)
