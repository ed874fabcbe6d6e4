"""docs/corpus_associations.py: what it trains, what it prints and what it keeps."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from sim import AssociationModel, train_associations
from tests.docs_script import load_script
from tests.toy_text import toy_documents
from validate.claims.measures import associations

SCRIPT = load_script("corpus_associations")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
V, RATE = 20, 0.3
QUICK = ["--words", str(V), "--length", "6", "--sequences", "10", "--layers", "2", "--rate", str(RATE)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    stories = "\n".join(json.dumps({"text": " ".join([text] * 3)}) for text in toy_documents(40))
    Path("tinystories_lower.jsonl").write_text(stories)
    return tmp_path


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["corpus_associations.py", ".", *QUICK, *options])
    SCRIPT.main()
    return capsys.readouterr().out.splitlines()


def test_steps_in_parts_are_those_of_the_whole_batch(folder: Path) -> None:
    """Ten sequences in parts of eight: the gradient, and so each step, is that of sim's own trainer."""
    array = SCRIPT.sequences(folder, V, 6, 10, 0)
    model = AssociationModel.zero(V, 2, 6)
    losses = [SCRIPT.descend(model, torch.from_numpy(array), RATE) for _ in range(4)]
    expected = train_associations(array, V, n_layers=2, steps=4, rate=RATE)
    assert losses[0] == pytest.approx(np.log(V))
    assert losses == sorted(losses, reverse=True)
    for name in SCRIPT.NAMES:
        ours, theirs = getattr(model, name).detach(), getattr(expected, name).detach()
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-14, msg=name)


def test_it_resumes_and_keeps_the_last_step(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = said(
        monkeypatch, capsys, "--steps", "5", "--seeds", "0", "--out", "whole", "--keep", "whole.json"
    )
    assert [line.split(",")[1] for line in whole] == [" step 3", " step 4", " step 5"]
    said(monkeypatch, capsys, "--steps", "4", "--seeds", "0", "--out", "parts")
    rest = said(monkeypatch, capsys, "--steps", "5", "--seeds", "0", "--out", "parts", "--keep", "parts.json")
    assert rest == whole[-1:]
    assert Path("parts.json").read_text() == Path("whole.json").read_text()
    kept = json.loads(Path("whole.json").read_text())
    assert (kept["words"], kept["rate"], kept["steps"]) == (V, RATE, 5)
    (seed,) = kept["seeds"]
    assert f"output {seed['cosines']['output']:.4f}" in whole[-1]
    assert seed["shuffled"]["output"] < seed["cosines"]["output"]
    with pytest.raises(SystemExit, match="a seed was further before"):
        said(monkeypatch, capsys, "--steps", "4", "--seeds", "0", "--out", "whole", "--keep", "early.json")
    assert not (folder / "early.json").exists()


def test_the_claim_reads_what_was_kept() -> None:
    kept = associations.trained()
    assert len(kept["seeds"]) == associations.DRAWS
    assert [own["seed"] for own in kept["seeds"]] == [0, 1, 2]
    for draw, own in enumerate(kept["seeds"]):
        assert own["step"] == kept["steps"]
        assert associations.smallest_cosine(draw, "value") == own["cosines"]["value"]
        assert associations.smallest_cosine(draw, "value", "shuffled") == own["shuffled"]["value"]


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not DATA.exists(), reason=f"needs {DATA}")
def test_a_kept_number_is_what_the_data_give(tmp_path: Path) -> None:
    """The first of the kept seeds, trained again: half a minute."""
    sizes = {name: value for name, value in associations.trained().items() if name != "seeds"}
    options = Namespace(**sizes, folder=DATA, out=tmp_path)
    *_, last = SCRIPT.run(options, 0)
    expected = associations.trained()["seeds"][0]
    for terms in ("cosines", "shuffled"):
        assert last[terms] == pytest.approx(expected[terms], abs=1e-9)
