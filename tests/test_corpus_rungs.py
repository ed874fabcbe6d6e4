"""docs/corpus_rungs.py: its shortcuts are what they stand for, and the page's numbers are what it prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.docs_script import load_script
from theory import (
    AdamEmbedding,
    AdamSettings,
    as_matrix,
    bigram_operator,
    corpus_counts,
    cosine_matrix,
    language_gram,
    off_diagonal,
)

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
RUNGS = load_script("corpus_rungs")
ATTENTION = load_script("corpus_attention")
V = 90
TEXTS = [np.random.default_rng(i).zipf(1.5, 40) % (V - 10) for i in range(30)]
TOY = RUNGS.Mixture(TEXTS, np.unique(np.concatenate(TEXTS[:10])), np.unique(np.concatenate(TEXTS[10:])), V)


def cells(line: str) -> list[float]:
    return [float(cell) for cell in line.strip("| ").split("|")[1:]]


def test_mean_cosines_leave_out_rows_of_zeros() -> None:
    rows = np.random.default_rng(0).standard_normal((9, 4))
    expected = off_diagonal(cosine_matrix(rows)).mean()
    assert RUNGS.mean_cosine(rows) == pytest.approx(expected)
    assert RUNGS.mean_cosine(np.concatenate([rows, np.zeros((2, 4))])) == pytest.approx(expected)


def test_the_modes_are_the_flow_but_for_the_smallest() -> None:
    C = as_matrix(bigram_operator(corpus_counts(TEXTS, V)))
    rates = np.linalg.eigvalsh(C + C.T)
    for growth, line in zip(RUNGS.GROWTHS, RUNGS.flow(TOY), strict=True):
        gram = language_gram(C, growth / rates.max())
        lengths = np.sqrt(np.diagonal(gram))
        cosines = gram / np.outer(lengths, lengths)
        expected = [off_diagonal(cosines[np.ix_(t, t)]).mean() for t in (TOY.asked, TOY.told)]
        assert cells(line) == pytest.approx(expected, abs=0.002)


def test_trimmed_texts_have_the_same_tokens() -> None:
    small = TOY.trimmed()
    occur = np.unique(np.concatenate(TEXTS))
    assert [occur[text].tolist() for text in small.texts] == [text.tolist() for text in TEXTS]
    assert occur[small.asked].tolist() == TOY.asked.tolist()


def test_without_layers_attention_has_the_drive_of_the_counts() -> None:
    small = TOY.trimmed()
    n = len(np.unique(np.concatenate(TEXTS)))
    model = ATTENTION.Averaging(n, V - n, 40, 0)
    model.P.zero_()
    for tensor in (model.E, model.absent):
        tensor.requires_grad_()
    model.gradients(small.texts)
    counted = AdamEmbedding(
        model.E.detach().double().numpy(),
        AdamSettings(1.0),
        n_absent=V - n,
        norm_epsilon=ATTENTION.SCALE**2 * RUNGS.NORM_EPSILON,
    )
    expected = counted.drive(corpus_counts(small.texts, n))
    largest = np.abs(expected).max()
    assert -model.E.grad.numpy() == pytest.approx(expected[:-1], abs=1e-5 * largest)
    assert -model.absent.grad.numpy() == pytest.approx(expected[-1], abs=1e-5 * largest)


def test_a_position_sees_the_tokens_before_it_alone() -> None:
    model = ATTENTION.Averaging(5, 2, 6, 2)
    tokens = torch.tensor([[0, 1, 2, 3], [0, 1, 4, 4]])
    seen = model.hidden(tokens)
    assert torch.equal(seen[0, :2], seen[1, :2])
    assert not torch.allclose(seen[0, 2:], seen[1, 2:])
    assert not torch.allclose(model.hidden(torch.tensor([[3, 1]]))[0, 1], seen[0, 1])


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}")
def test_the_numbers_are_those_of_the_data() -> None:
    """All of rung 2, and the first steps of rung 5, whose later ones take twenty minutes."""
    pytest.importorskip("tokenizers")
    page = (ROOT / "docs" / "theory" / "corpus_ladder.md").read_text().splitlines()
    mixture = RUNGS.Mixture.read(DATA)
    found = [*RUNGS.context(mixture), *RUNGS.flow(mixture), *RUNGS.adam(mixture, (1, 3))]
    for line in found:
        name = line.split("|")[1]
        (said,) = [known for known in page if known.startswith(f"|{name}|")]
        assert cells(line) == pytest.approx(cells(said), abs=0.002), name
