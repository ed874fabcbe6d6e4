"""Each gallery page names the claims that its figure belongs to, and the verdict comes from the ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs_script import DOCS, load_script

pytest.importorskip("sphinx", reason="the claims' role needs the extra docs: make docs installs it")

PAGES = sorted((DOCS / "gallery").glob("plot_fig*.py"))
CLAIMS = json.loads((DOCS / "results" / "claims.json").read_text(encoding="utf-8"))["claims"]
claim_role = load_script("claim_role")


@pytest.mark.parametrize(
    ("section", "figures"),
    [
        ("3.2, 3.3, Fig. 4A, 5A", {4, 5}),
        ("App. C.1-C.3, Fig. 10-12", {10, 11, 12}),
        ("3.3, Lemma 1, Fig. 6A-B", {6}),
        ("3.4, Figs. 7B, 14", {7, 14}),
        ("3.4, Figs. 7 and 14", {7, 14}),
        ("3.4, Fig. 7B, and the theory of a corpus", {7}),
        ("Prop. 1, eq. 5", set()),
    ],
)
def test_sections_are_read(section: str, figures: set[int]) -> None:
    assert claim_role.figures_of(section) == figures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_lists_the_claims_of_its_figure(page: Path) -> None:
    number = int(page.stem[8:10])
    found = re.findall(r"^\.\. claims-of-figure:: ([\d ]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if number == 2:
        assert not found, "Fig. 2 shows the task and belongs to no claim"
        return
    (listed,) = found
    own, *others = map(int, listed.split())
    assert own == number
    assert claim_role.claims_of(number) or others
    assert set(others) <= set(claim_role.ledger())


def test_no_page_types_a_verdict() -> None:
    words = re.compile(r"\b(holds in part|does not hold|undecided|verdict:)", re.IGNORECASE)
    assert [page.name for page in PAGES if words.search(page.read_text(encoding="utf-8"))] == []


def test_a_verdict_is_that_of_the_ledger() -> None:
    verdicts = {
        "GELU": "undecided",
        "post": "fails",
        "pre": "undecided",
        "MLP": "holds",
        "group": "not tested",
    }
    assert (
        claim_role.verdict_text({"verdicts": verdicts}) == "holds (MLP), fails (post), undecided (GELU, pre)"
    )
    assert claim_role.verdict_text({"verdicts": {"group": "not tested"}}) == "not tested"
    assert set(claim_role.ledger()) == {claim["number"] for claim in CLAIMS}
