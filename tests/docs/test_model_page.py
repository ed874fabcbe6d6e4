"""The page on extending: its code runs as it stands, and a model of your own is a model like the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim import make_run_config
from tests.docs.pages import ROOT, blocks
from theory import InputError


@pytest.fixture
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test import the page's file for the first time, which registers its kind."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extending"))
    monkeypatch.delitem(sys.modules, "bag_of_words", raising=False)
    yield
    from sim.config.model import KINDS
    from validate import FIGURES

    del KINDS["bag-of-words"]
    FIGURES.pop(101, None)


@pytest.mark.usefixtures("_importable")
def test_the_pages_code_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec("\n".join(blocks("docs/howto/extend.md", "python")), {})
    said = capsys.readouterr().out
    assert "rsn_test" in said
    assert said.endswith("fails\n")
    assert (here / "runs/bag-of-words/gamma0.3_seed0/snapshots/epoch_000002.safetensors").exists()


@pytest.mark.usefixtures("_importable")
def test_its_own_matrices_and_keys_are_checked() -> None:
    import bag_of_words  # noqa: F401

    with pytest.raises(InputError, match=r"tensor_init_rates.*W_V.*unknown matrix"):
        make_run_config({"model": {"kind": "bag-of-words", "tensor_init_rates": {"W_V": 0.5}}})
    with pytest.raises(InputError, match=r"d_f.*unknown key"):
        make_run_config({"model": {"kind": "bag-of-words", "d_f": 3}})
