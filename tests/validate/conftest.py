"""A handful of tiny finished runs, trained once, their report, a page as a test reads it, and refusals."""

import html
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sim import Run, RunConfig, train
from sim.config.run import make_run_config
from tests.conftest import Cli
from validate.figures.style import rendered
from validate.judge.given import judge_demo
from validate.observe.groups import Setting, group_runs
from validate.report import Report

TASK = {
    "keys": "40..59",
    "n_anchors": 2,
    "length": 3,
    "vocab_size": 110,
    "reasoning_anchors": "11..20",
    "memory_anchors": "1..5",
    "held_out": [[11, 13]],
}


def lines_of(value: Any) -> list[dict[str, str]]:
    """Return the rows of a result's first table in a notebook, each cell by the name of its column."""
    page = html.unescape(value._repr_html_()).partition("</table>")[0]
    names, *rows = (re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", page))
    return [dict(zip(names, row, strict=True)) for row in rows]


class Page(HTMLParser):
    """Collects what a page refers to, and checks that tags close."""

    void = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.alts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [v for k, v in attrs if k in ("src", "href", "srcset", "action", "data") and v]
        self.ids += [v for k, v in attrs if k == "id" and v]
        if tag == "img":
            self.alts.append(dict(attrs).get("alt") or "")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tiny_config(**training: object) -> RunConfig:
    """Return a configuration that trains in about a second."""
    options = {
        "epochs": 6,
        "batch_size": 50,
        "learning_rate": 2e-3,
        "snapshot_epochs": [2, 4],
        "evaluate_every": 2,
    }
    return make_run_config(
        {
            "task": TASK,
            "model": {"d_m": 24, "d_f": 32},
            "training": options | training,
            "init_rates": [0.3, 0.8],
            "seeds": [0, 1],
        }
    )


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return train(tiny_config(), tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def runs_folder(runs: list[Run]) -> Path:
    return runs[0].path.parent


@pytest.fixture(scope="session")
def settings(runs: list[Run]) -> list[Setting]:
    return group_runs(runs)


@pytest.fixture(scope="session")
def report(settings: list[Setting]) -> Report:
    return Report.build("A <report> & more", settings, verdicts=judge_demo(settings))


@pytest.fixture(scope="session")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report's folder; its SVG files are blank, which a report of its own and the figures' tests draw."""
    with pytest.MonkeyPatch.context() as patch:
        blank = lambda *args: b"" if "svg" in args else rendered(*args)  # noqa: E731
        patch.setattr("validate.figures.sheet.rendered", blank)
        return report.write(tmp_path_factory.mktemp("report"))[0].parent


@pytest.fixture
def refused(here: Path, cli: Cli) -> Callable[..., str]:
    """Run a command that is refused in one sentence, which is returned, and leaves nothing behind."""

    def run(*arguments: str) -> str:
        before = set(here.rglob("*"))
        said = cli(*arguments, code=2)
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert set(here.rglob("*")) == before
        return said.err

    return run
