"""The page on claims and the README's table say what the ledger says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs_script import load_script
from validate.claims import judge_claims, ledger
from validate.claims.presentation import markdown, to_json
from validate.claims.verdicts import MissingRunsError


def test_the_tables_on_the_page_are_the_ledgers() -> None:
    """Whoever changes a threshold renews the page, python docs/update_claims.py --thresholds, and is seen."""
    module = load_script("update_claims")
    page = module.PAGE.read_text()
    assert module.renewed(page) == page


def test_main_renews_readme_results_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_script("update_claims")

    def nothing(needs: object) -> None:
        raise MissingRunsError("none")

    found = to_json(judge_claims(ledger([1, 20]), nothing))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "judged", lambda folder: found)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "claims.json")
    monkeypatch.setattr(module, "PAGE", tmp_path / "claims.md")
    places = [
        f"<!-- {n}: begin -->\nstale\n<!-- {n}: end -->\n" for n in ("settings", "shared runs", "thresholds")
    ]
    (tmp_path / "claims.md").write_text("".join(places))
    readme = tmp_path / "README.md"
    readme.write_text("without a place for it\n")
    with pytest.raises(SystemExit, match="claims table: begin"):
        module.main(tmp_path)
    places = [
        f"<!-- {n}: begin -->\nstale\n<!-- {n}: end -->\n" for n in ("claims table", "matched accuracy")
    ]
    readme.write_text(f"a\n{''.join(places)}b\n")
    module.main(tmp_path)
    assert markdown(found["claims"]).rstrip() in readme.read_text()
    assert "stale" not in readme.read_text() + (tmp_path / "claims.md").read_text()
    assert readme.read_text().startswith("a\n")
    assert readme.read_text().endswith("\nb\n")
    kept = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["verdict"] for claim in kept] == ["not tested", "holds"]
    assert [len(claim["conditions"]) for claim in kept] == [0, 5]  # Those that were measured.
