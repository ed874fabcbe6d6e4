"""The page on claims and the README's table say what the ledger says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs_script import load_script
from tests.validate.figures.synthetic import make_observations
from validate.claims import judge_claims, ledger
from validate.claims.presentation import markdown, to_json
from validate.claims.verdicts import MissingRunsError
from validate.observe.store import kept_file, write_kept


def test_the_tables_on_the_page_are_the_ledgers() -> None:
    """Whoever changes a threshold renews the page, python docs/update_claims.py --thresholds, and is seen."""
    module = load_script("update_claims")
    page = module.PAGE.read_text()
    assert module.renewed(page) == page
    studies = module.STUDIES.read_text()
    assert module.replaced(studies, module.UNRECORDED, module.unrecorded()) == studies


def test_variants_of_one_name_are_counted_together() -> None:
    module = load_script("update_claims")
    shared = [
        (("a/x", "b/x"), 2),
        (("a/y", "b/y"), 1),
        (("a", "b/x"), 4),
        (("a/x", "b/y"), 5),
        (("a", "b"), 6),
    ]
    found = {"a, b (variants of the same name)": 3, "a, b/x": 4, "a/x, b/y": 5, "a, b": 6}
    assert module._together(shared) == found


def test_main_renews_readme_results_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_script("update_claims")

    def nothing(needs: object) -> None:
        raise MissingRunsError("none")

    found = to_json(judge_claims(ledger([1, 20]), nothing))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "judged", lambda folder: found)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "claims.json")
    monkeypatch.setattr(module, "PAGE", tmp_path / "claims.md")
    monkeypatch.setattr(module, "LIMITS", tmp_path / "limits.md")
    monkeypatch.setattr(module, "STUDIES", tmp_path / "studies.md")
    (tmp_path / "studies.md").write_text("<!-- unrecorded: begin -->\nstale\n<!-- unrecorded: end -->\n")
    likeliest = "<!-- likeliest setting: begin -->\nstale\n<!-- likeliest setting: end -->\n"
    (tmp_path / "limits.md").write_text(f"before\n{likeliest}after\n")
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
    readme.write_text(f"a\n{''.join(places)}{likeliest}b\n")
    module.main(tmp_path)
    assert markdown(found["claims"]).rstrip() in readme.read_text()
    pages = [file.read_text() for file in (readme, *sorted(tmp_path.glob("*s.md")))]
    assert "stale" not in "".join(pages)
    assert len(pages) == 4
    for page in (pages[0], pages[2]):
        assert "kept so far: none." in " ".join(page.split())
    assert readme.read_text().startswith("a\n")
    assert readme.read_text().endswith("\nb\n")
    kept = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["verdict"] for claim in kept] == ["not tested", "holds"]
    assert [len(claim["conditions"]) for claim in kept] == [0, 5]  # Those that were measured.


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "kept so far: none."),
        (
            [(0.3, 0, 0.5), (0.8, 0, 0.25)],
            "kept so far: 1 seed at γ = 0.3, 1 seed at γ = 0.8. Share answered correctly at the end (table, "
            "training sums, held-out sums): γ = 0.3: 0.500, 0.900, 0.700; γ = 0.8: 0.250, 0.900, 0.700.",
        ),
        (
            [(0.8, 1, 0.2), (0.8, 0, 0.2)],
            "kept so far: 2 seeds at γ = 0.8. Share answered correctly at the end (table, training sums, "
            "held-out sums): γ = 0.8: 0.200, 0.900, 0.700.",
        ),
        (
            [(rate, seed, 0.2) for rate in (0.3, 0.5, 0.8) for seed in (0, 1)],
            "all runs are kept. Share answered correctly at the end (table, training sums, held-out sums): "
            + "; ".join(f"γ = {rate}: 0.200, 0.900, 0.700" for rate in (0.3, 0.5, 0.8))
            + ".",
        ),
    ],
)
def test_what_is_kept_of_the_likeliest_setting_is_counted(
    runs: list[tuple[float, int, float]], said: str, tmp_path: Path
) -> None:
    for rate, seed, memory in runs:
        run = make_observations(gamma=rate, seed=seed)
        run.metrics[-1]["accuracy"].update(mem=memory, rsn_train=0.9, rsn_test=0.7)
        write_kept(run, kept_file("group-2024", None, run.config, tmp_path))
    sentence = " ".join(load_script("update_claims").likeliest(tmp_path).split())
    assert sentence.startswith("The likeliest setting of the paper, *group*, is study `group-2024`: norm")
    assert "2 seeds at each of γ = 0.3, 0.5, 0.8" in sentence
    assert sentence.endswith(said)


@pytest.mark.parametrize("page", ["README.md", "docs/limits.md"])
def test_pages_say_what_is_kept_of_the_likeliest_setting(page: str) -> None:
    module = load_script("update_claims")
    text = (module.ROOT / page).read_text()
    assert module.replaced(text, module.LIKELIEST, module.likeliest()) == text


def test_files_of_a_changed_tree_count_where_the_changes_are_not_kept(tmp_path: Path) -> None:
    records: tuple[dict[str, object], ...] = (
        {"dirty": True},
        {"dirty": True, "diff": "+ a line"},
        {"dirty": False},
        {},
    )
    for seed, record in enumerate(records):
        run = make_observations(seed=seed)
        run.provenance.update(record)
        write_kept(run, kept_file("scan", None, run.config, tmp_path))
    text = load_script("update_claims").unrecorded(tmp_path)
    assert text.startswith("Of 4 kept files these 1 come from such a tree:")
    assert text.endswith("| `scan` | 1 | 4 | 3 |")
    kept_file("scan", None, make_observations(seed=0).config, tmp_path).unlink()
    text = load_script("update_claims").unrecorded(tmp_path)
    assert text == "Today none of the 3 kept files comes from such a tree."
