"""Captions say what the numbers say, in words that change with them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.validate.figures.drawn import drawn
from tests.validate.figures.synthetic import make_observations, several
from validate.figures import SingularValues, ValueAlignment, group_runs
from validate.figures.findings import direction, first_attention, memory_anchors, value_direction
from validate.figures.paper import FIGURES, kept_of

GALLERY = Path(__file__).resolve().parents[3] / "docs" / "gallery"


@pytest.mark.parametrize(
    ("cosine", "words"),
    [
        (0.97, "nearly parallel"),
        (0.6, "aligned"),
        (0.3, "weakly aligned"),
        (0.1, "nearly orthogonal"),
        (-0.1, "nearly orthogonal"),
        (-0.5, "opposed"),
        (np.nan, "without a direction"),
    ],
)
def test_a_cosine_in_words(cosine: float, words: str) -> None:
    assert direction(cosine) == words


def test_fig_5_says_what_memory_anchors_do() -> None:
    caption = drawn(5).caption
    (setting,) = group_runs(several("transformer", (0.8,)))
    sentence = memory_anchors(setting, (2, 9))
    assert sentence in caption
    pairs = ~np.eye(5, dtype=bool)
    for epoch in (2, 9):
        mean = np.mean([c[pairs].mean() for c in setting.cosines(setting.task.memory_anchors, epoch)])
        assert f"{direction(mean)} at epoch {epoch} (mean cosine {mean:.3f}" in sentence
    assert "which P^s − u predicts to be nearly parallel (1.000)" in sentence


def test_the_first_attention_is_called_an_average_where_it_is_one() -> None:
    run = make_observations()
    (setting,) = group_runs([run])
    for values, words in (
        ([0.04, 0.66, 0.7, 0.7], "close to the average at epoch 0 and not afterwards"),
        ([0.04, 0.05, 0.06, 0.7], "close to the average at every epoch shown"),
        ([0.5, 0.6, 0.7, 0.7], "at no epoch close to the average"),
        ([0.5, 0.6, 0.04, 0.7], "close to the average at epoch 9 alone"),
    ):
        run.arrays["first_attention_error"] = np.array(values)
        assert words in first_attention(setting, (0, 2, 9))


@pytest.mark.parametrize(("size", "words"), [(0.05, "nearly orthogonal to it"), (0.8, "aligned with it")])
def test_anchors_are_called_aligned_with_w_v_where_they_are(size: float, words: str) -> None:
    run = make_observations()
    run.arrays["wv_direction"] = np.full_like(run.arrays["wv_direction"], size)
    run.arrays["singular/0.W_V"][:, 1] = (0.9 if size < 0.5 else 0.1) * run.arrays["singular/0.W_V"][:, 0]
    (setting,) = group_runs([run])
    values = SingularValues.from_runs([setting], "0.W_V", [9], "")
    text = value_direction(values, "γ = 0.8", 9, [ValueAlignment.from_runs(setting, 9, "epoch 9")])
    assert text.startswith("At epoch 9 the first singular value of W_V")
    assert f"reasoning anchors are {words} (mean |cosine| {size:.3f})" in text
    assert ("does not stand out" in text) == (size < 0.5)


def test_the_gallery_says_of_fig_6_what_the_paper_says_and_not_what_is_seen() -> None:
    (script,) = GALLERY.glob("plot_fig06_*.py")
    claims = re.split(r"(?<=\.)\s", script.read_text().split("===\n\n")[1].split('"""')[0])
    for sentence in claims:
        if re.search(r"align|average|along one direction", sentence):
            assert re.match(r"\s*(The paper|Lemma|Theorem)", sentence), sentence


def test_anchors_without_embeddings_lie_in_no_direction() -> None:
    run = make_observations()
    run.arrays["wv_direction"] = np.full_like(run.arrays["wv_direction"], np.nan)
    (setting,) = group_runs([run])
    values = SingularValues.from_runs([setting], "0.W_V", [9], "")
    text = value_direction(values, "γ = 0.8", 9, [ValueAlignment.from_runs(setting, 9, "epoch 9")])
    assert "memory anchors are without a direction (mean |cosine| –)" in text
    assert "opposed" not in text


def test_the_gallery_says_at_which_epochs_fig_6_shows_the_first_attention() -> None:
    *matrices, rows = (panel.title for panel in drawn(6).rows[0].panels)  # type: ignore[attr-defined]
    assert matrices == ["epoch 0", "epoch 2", "epoch 9"]
    assert rows == "rows, epoch 9"
    (script,) = GALLERY.glob("plot_fig06_*.py")
    text = " ".join(script.read_text().split())
    assert "A shows it from the start on, B its rows at the last epoch of A." in text
    assert "At epoch 2 the first singular value of W_V" in drawn(6).caption


def test_the_gallery_says_what_the_dotted_line_of_fig_3_is() -> None:
    """No bound: a model that knows the anchors of a finite table can do better than eq. 7 by chance."""
    (script,) = GALLERY.glob("plot_fig03_*.py")
    text = " ".join(script.read_text().split())
    assert "a model that knows eq. 7 and nothing else has this memory loss" in text
    assert "cannot have a lower" not in text


def test_the_caption_of_fig_6_says_what_the_kept_runs_show() -> None:
    """Words beside their numbers, whichever setting the figure shows."""
    caption = FIGURES[6].build(kept_of(FIGURES[6])[0]).caption
    errors = re.findall(r"(\d\.\d+) at epoch", caption.split("largest |A_ij − 1/i|")[1].split(")")[0])
    assert len(errors) == 3
    assert ("close to the average at every epoch" in caption) == all(float(e) <= 0.1 for e in errors)
    assert ("at no epoch close" in caption) == all(float(e) > 0.1 for e in errors)
    ratio = re.search(r"σ2/σ1 = (\d\.\d+)", caption)
    assert ratio is not None
    assert ("does not stand out" in caption) == (float(ratio[1]) > 0.5)
    aligned = re.findall(r"anchors are ([a-z ]+) (?:to|with) it \(mean \|cosine\| (\d\.\d+)", caption)
    assert len(aligned) == 4
    for words, cosine in aligned:
        assert words == direction(float(cosine))


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_the_gallery_prints_the_caption_of_every_figure(number: int) -> None:
    (script,) = GALLERY.glob(f"plot_fig{number:02d}_*.py")
    assert "sheet.caption" in script.read_text()


def test_fig_8_names_mappings_in_words() -> None:
    sheet = drawn(8)
    assert sheet.figure_ is not None
    shown = [t.get_text() for t in sheet.figure_.findobj(lambda a: hasattr(a, "get_text"))]  # type: ignore[attr-defined]
    text = "\n".join([*shown, *sheet.summary(), sheet.caption])
    for words in ("labels 10 to 19", "labels uniform on all 10 keys", "labels within 4 to 6 of the key"):
        assert words in text
    for key in ("range1", "range2", "mem1", "mem2", "lookup", "window", "kind ="):
        assert key not in text


def test_fig_3_describes_the_panels_it_has() -> None:
    both = drawn(3).caption
    assert "A: loss and accuracy of the Transformer" in both
    assert "B: accuracy of the Emb-MLP" in both
    alone = FIGURES[3].build(several("emb-mlp"))
    assert [row.title for row in alone.rows] == ["B  Emb-MLP: accuracy"]
    assert "loss" not in alone.caption
    assert "Transformer" not in alone.caption
    other = FIGURES[3].build(several("transformer")).caption
    assert "Emb-MLP" not in other
    assert "label distribution of memory anchors" in other
