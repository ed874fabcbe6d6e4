"""What the pages say is so: command lines, options and TOML as printed, public names, examples, claims."""

import doctest
import inspect
import pkgutil
import re
import shlex
import sys

import pytest

import sim
import theory
import validate
from sim.config.run import make_run_config
from sim.config.task_files import read_description
from tests.docs.pages import PAGES, ROOT, blocks, load_script
from tests.validate.judge.test_verdict import find, stored, value
from theory import InputError, Task
from validate import Claim, Endpoint, Runs, above, judge_claims, ledger, over_seeds
from validate.commands import find_command
from validate.commands.parsing import import_first, parse
from validate.judge.evidence import Evidence
from validate.judge.settings import GROUP, MLP, POST, SMALL
from validate.judge.verdict import judge_claim
from validate.studies.study import load_study

INLINE = re.compile(r"`anchorflow ([a-z][^`]*)`")


def lines_of(page):
    """Return the words behind ``anchorflow``, of blocks and of the text."""
    console = "".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    shown = [line.removeprefix("$ anchorflow ") for line in console if line.startswith("$ anchorflow ")]
    told = [" ".join(text.split()) for text in INLINE.findall((ROOT / page).read_text(encoding="utf-8"))]
    lines = [re.split(" [|>] ", line)[0] for line in dict.fromkeys([*shown, *told])]
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", [page for page in PAGES if lines_of(page)])
def test_command_lines_are_understood(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.path", [*sys.path])
    for words in lines_of(page):
        try:
            command, options, _, arguments = find_command(words)
            import_first(arguments)
            parse(command, options, arguments)
        except SystemExit:  # Of --help.
            continue
        except (InputError, ImportError) as error:
            # A text may name a command and leave out its files.
            if not getattr(error, "problem", "").startswith("needs "):
                pytest.fail(f"anchorflow {' '.join(words)}: {error}")


TOML = [(f"{page}:{i}", text) for page in PAGES for i, text in enumerate(blocks(page, "toml"))]


@pytest.mark.parametrize(("where", "text"), TOML, ids=[where for where, _ in TOML])
def test_every_toml_example_is_accepted_as_printed(where, text, tmp_path):
    file = tmp_path / "example.toml"
    file.write_text(text)
    if where.startswith("docs/sweeps.md"):
        assert load_study(file).variants
        return
    described = read_description(file)
    assert make_run_config(described).members()
    if set(described) == {"task"}:
        assert Task.from_toml(Task.from_toml(file).to_toml()) == Task.from_toml(file)


API = {page: blocks(page, "pycon") for page in PAGES if page.startswith("docs/api/")}
"""The examples of the API pages."""
DIRECTIVE = re.compile(
    r"^\.\. (?:(currentmodule)|auto(?:function|class|exception|data)):: (\S+)$", re.MULTILINE
)
SHOWN_ELSEWHERE = {
    "sim.register_model": "docs/extending/bag_of_words.py",
    "sim.register_optimizer": "docs/extending/lion.py",
    "validate.register_predictor": "docs/extending/overlap.py",
}
"""Functions whose result says nothing on an API page: the file that shows what they do."""
PUBLIC = {f"{package.__name__}.{name}" for package in (theory, sim, validate) for name in package.__all__}


def documented(text):
    found, module = [], ""
    for current, name in DIRECTIVE.findall(text):
        if current:
            module = name
        else:
            found.append(f"{module}.{name}")
    # Constants and unions have no docstring of their own: a sentence names them.
    return found + [f"{module}.{name}" for name in re.findall(r"`([A-Z]\w+)`", text)]


def test_every_public_name_is_documented_once_and_every_function_has_an_example():
    found = [name for page in API for name in documented((ROOT / page).read_text(encoding="utf-8"))]
    assert sorted(set(found) ^ PUBLIC) == [], "documented or public, not both"
    assert len(found) == len(set(found))
    shown = "".join(block for examples in API.values() for block in examples)
    functions = [name for name in sorted(PUBLIC) if inspect.isfunction(pkgutil.resolve_name(name))]
    # Once where it is imported, and once where it is called.
    called = set(re.findall(r"(?<![\w.])(\w+)\(", shown))
    assert [name for name in functions if name.split(".")[1] not in called] == sorted(SHOWN_ELSEWHERE)
    for name, page in SHOWN_ELSEWHERE.items():
        assert name.split(".")[1] in (ROOT / page).read_text(encoding="utf-8")


def test_functions_that_pages_name_exist():
    texts = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"`((?:theory|sim|validate)\.[a-z_]\w+)[`(]", texts))
    assert named
    for name in named:
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", [page for page in API if API[page]])
def test_examples_print_what_the_page_says(page, here):
    test = doctest.DocTestParser().get_doctest("\n".join(API[page]), {}, page, page, 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert report == []


CLAIM_PAGES = load_script("claim_pages")


def test_every_claim_has_a_topic_and_every_topic_a_title():
    topics = CLAIM_PAGES.topic_of()
    assert sorted(topics) == sorted(claim.number for claim in ledger())
    assert set(topics.values()) == set(CLAIM_PAGES.TOPICS)


def test_intervals_of_causal_tests_are_the_ledgers():
    text = (ROOT / "docs/theory/index.md").read_text(encoding="utf-8")
    quoted = re.findall(r"[\d.]+ \[[\d., ]+\]", text.split("**Causal tests.**")[1].split("\n## ")[0])
    outcomes = [o for f in judge_claims(ledger([21, 22, 23, 24]), Evidence().find) for o in f.conditions]
    sides = [s.values for o in outcomes for s in o.sides if all(isinstance(x, float) for x in s.values)]
    judged = {*(str(o.estimate) for o in outcomes), *(str(over_seeds(side)) for side in sides)}
    assert len(quoted) == 5
    assert set(quoted) - judged == set()


def test_numbers_stand_in_their_settings_columns():
    own = {GROUP: stored([0.70, 0.71, 0.72]), POST: Runs("no study"), MLP: stored([0.31, 0.32, 0.33])}
    beside = Endpoint("beside", value, SMALL, settings=(MLP,), runs={MLP: stored([0.13, 0.14, 0.15])})
    claim = Claim(
        1, "small is large", "Small is large.",
        [Endpoint("gap | at γ = 0.8", value, SMALL, holds=above(0.5), reason="half", runs=own)], [beside],
        paper="to be small “is to be large”", section="3", settings=(GROUP, POST, MLP),
    )  # fmt: skip
    text = CLAIM_PAGES.section(judge_claim(claim, find))
    rows = [line.removesuffix(" |").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    head, _, first, second = rows
    assert [len(row) for row in rows] == [4] * 4
    assert head[2:] == ["group's code", "Emb-MLP"]
    assert first[:2] == ["| gap \\| at γ = 0.8", "> 0.5"]
    assert "\n- `> 0.5`: half.\n" in text
    assert "\nSmall is large. (3: “is to be large”)\n\n**Verdict:**" in text
    assert first[2] == "**holds** 0.71 [0.69,\N{NO-BREAK SPACE}0.73], n\N{NO-BREAK SPACE}3"
    assert first[3].startswith("**fails** 0.32")
    assert second[1:3] == ["", "–"]
    assert second[3].startswith("0.14")


def test_every_row_of_every_table_has_the_cells_of_its_header():
    claims = CLAIM_PAGES.judge()
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    texts |= {
        "answer": CLAIM_PAGES.answer(claims),
        "README's rows": load_script("update_claims").table(claims),
    }
    texts |= {str(claim.number): CLAIM_PAGES.section(claim) for claim in claims}
    assert texts["32"].startswith("## 32. PrOntoQA is learned first")  # A corpus is named as it is written.
    tables = 0
    for where, text in texts.items():
        prose = re.sub(r"```.*?```|\$[^$\n]*\$|`[^`\n]*`", "", text, flags=re.DOTALL)
        for table in re.findall(r"(?:^\|.*\|\n)+", prose, re.MULTILINE):
            cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()]
            assert set(cells) == {cells[0]}, f"{where}: {table[:300]}"
            tables += 1
    assert tables > 80
