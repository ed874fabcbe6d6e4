"""Pages of claims: every claim is on one page, and every number stands in its setting's column."""

from __future__ import annotations

from typing import Any

from tests.docs_script import load_script
from validate import ledger

PAGES = load_script("claim_pages")


def condition(setting: str, mean: float, **changes: Any) -> dict[str, Any]:
    estimate = {"mean": mean, "low": mean - 0.1, "high": mean + 0.1, "n": 3}
    return {
        "measure": "gap | at γ = 0.8",
        "init_rates": "0.8",
        "sides": [],
        "role": "endpoint",
        "relation": ">",
        "threshold": 0.5,
        "margin": None,
        "reason": "half",
        "setting": setting,
        "studies": ["emb-mlp"],
        "state": "holds",
        "missing": None,
        "side": "",
        "level": 0.05,
        "estimate": estimate,
    } | changes


CLAIM = {
    "number": 1,
    "name": "small is large",
    "statement": "Small is large.",
    "section": "3",
    "verdicts": {"group": "holds", "MLP": "partly", "post": "not tested"},
    "conditions": [
        condition("group", 0.71),
        condition("MLP", 0.32, state="fails"),
        condition("post", 0.93, missing="no runs"),
        condition("MLP", 0.14, measure="beside", role="shown", relation=None, threshold=None, reason=""),
    ],
}


def test_every_claim_has_a_topic_and_every_topic_a_title() -> None:
    topics = PAGES.topic_of()
    assert sorted(topics) == sorted(claim.number for claim in ledger())
    assert set(topics.values()) == set(PAGES.TOPICS)


def test_numbers_stand_in_their_settings_columns() -> None:
    text = PAGES.section(CLAIM)
    rows = [
        [cell.strip() for cell in line.split(" | ")] for line in text.splitlines() if line.startswith("| ")
    ]
    head, _, first, second = rows
    assert [len(row) for row in rows] == [4] * 4
    assert (head[2], head[3].rstrip(" |")) == ("group's code", "Emb-MLP")
    assert first[0] == "| gap \\| at γ = 0.8"
    assert first[1] == "> 0.5"
    assert "> 0.5: half." in text
    assert first[2] == "**holds** 0.71 [0.61,\N{NO-BREAK SPACE}0.81], n\N{NO-BREAK SPACE}3"
    assert first[3].startswith("**fails** 0.32")
    assert (second[1], second[2]) == ("", "–")
    assert second[3].startswith("0.14")
    assert "0.93" not in text
