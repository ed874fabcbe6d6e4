"""Print the processor time of each test file, processes that its tests start included.

``python -m pytest -p tests.processor_time``: wall time says little on a machine that does other work as well.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

_SECONDS: defaultdict[str, float] = defaultdict(float)


def _now() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    before = _now()
    try:
        return (yield)
    finally:
        _SECONDS[item.nodeid.partition("::")[0]] += _now() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section(f"processor time: {_now():.0f} s, with imports")
    for file, seconds in sorted(_SECONDS.items(), key=lambda item: -item[1])[:30]:
        terminalreporter.line(f"{seconds:7.1f} s  {file}")
