"""Pages of claims: every claim is on one page, and every number stands in its setting's column."""

from __future__ import annotations

from typing import Any

from tests.docs_script import load_script
from validate import Claim, Condition, ledger
from validate.judge import presentation
from validate.judge.condition import Needs, Side
from validate.judge.outcome import MissingRunsError
from validate.judge.verdict import judge_claim

PAGES = load_script("claim_pages")
ENDPOINT = {"threshold": 0.5, "reason": "half"}


def condition(setting: str, mean: float, study: str = "emb-mlp", **keys: Any) -> Condition:
    what = keys.pop("what", "gap | at γ = 0.8")
    side = Side(what, lambda _: {seed: mean + 0.01 * seed for seed in (-1, 0, 1)}, Needs(study, (0.8,)))
    return Condition(what, (side,), setting=setting, **keys)


def find(needs: Needs) -> Any:
    if needs.study == "none":
        raise MissingRunsError("no runs")
    return {}


def test_every_claim_has_a_topic_and_every_topic_a_title() -> None:
    topics = PAGES.topic_of()
    assert sorted(topics) == sorted(claim.number for claim in ledger())
    assert set(topics.values()) == set(PAGES.TOPICS)


def test_numbers_stand_in_their_settings_columns() -> None:
    conditions = (
        condition("group", 0.71, **ENDPOINT),
        condition("MLP", 0.32, **ENDPOINT),
        condition("post", 0.93, "none", **ENDPOINT),
        condition("MLP", 0.14, what="beside", role="shown"),
    )
    judged = judge_claim(Claim("small is large", "Small is large.", conditions, 1, "3"), find)
    text = PAGES.section(presentation.to_json([judged])["claims"][0])
    rows = [line.removesuffix(" |").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    head, _, first, second = rows
    assert [len(row) for row in rows] == [4] * 4
    assert head[2:] == ["group's code", "Emb-MLP"]
    assert first[:2] == ["| gap \\| at γ = 0.8", "> 0.5"]
    assert "> 0.5: half." in text
    assert first[2] == "**holds** 0.71 [0.69,\N{NO-BREAK SPACE}0.73], n\N{NO-BREAK SPACE}3"
    assert first[3].startswith("**fails** 0.32")
    assert second[1:3] == ["", "–"]
    assert second[3].startswith("0.14")
    assert "0.93" not in text
