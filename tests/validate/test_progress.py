"""Progress in a notebook, in a pipe, and not at all where nobody asked for it."""

from __future__ import annotations

import io

import pytest

from sim import Progress as RunProgress
from validate.terminal import progress as module
from validate.terminal.progress import show_progress, track, training_progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass when a test says so."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def test_a_pipe_gets_few_plain_lines(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress():
        for _ in track(range(100), "judging claims"):
            clock[0] += 0.5
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  judging claims: 4/100, 2.0 per second, 48 s left"
    assert lines[1] == "  judging claims: 34/100, 2.0 per second, 33 s left"
    assert lines[-1] == "  judging claims: 100/100, 2.0 per second, 0 s left"
    assert len(lines) == 5


def test_results_that_are_printed_beside_a_bar_stay_in_their_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    with show_progress():
        for number in track(range(2), "drawing figures"):
            print("drawn:", number)
    assert capsys.readouterr().out == "drawn: 0\ndrawn: 1\n"
    assert "drawing figures: 0/2" in terminal.getvalue()


def test_libraries_are_silent(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in track(range(10), "judging claims"):
        clock[0] += 10
    assert capsys.readouterr() == ("", "")


def test_the_time_in_which_workers_load_is_no_epochs_time(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with training_progress(100) as report:
        for seconds in (20, *[0.5] * 99):
            clock[0] += seconds
            report(RunProgress("run", 1, 100))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  training epochs: 1/100"
    assert lines[1] == "  training epochs: 31/100, 2.0 per second, 34 s left"
    assert lines[-1] == "  training epochs: 100/100, 2.0 per second, 0 s left"


def test_epochs_that_a_run_will_not_take_are_not_waited_for(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with training_progress(20) as report:
        for epoch in range(1, 5):
            clock[0] += 20
            report(RunProgress("short", epoch, 10, has_ended=epoch == 4))
        for epoch in range(1, 11):
            clock[0] += 20
            report(RunProgress("whole", epoch, 10, has_ended=epoch == 10))
    lines = [line.strip().removeprefix("training epochs: ") for line in capsys.readouterr().err.splitlines()]
    assert lines[2:4] == ["3/20, 20.0 s each, 6 min left", "4/14, 20.0 s each, 3 min left"]
    assert lines[-1] == "14/14, 20.0 s each, 0 s left"
