"""Tables by width, in whole words, with verdicts in colour and in words."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validate.terminal.streams import filled, lenient, printable
from validate.terminal.tables import print_table

HEADER = ["run", "verdict", "measure", "settings"]
ROWS = [
    ["runs/mine/gamma0.8_seed0", "partly, 1 of 2", "share of the attention", "12 paper, 6 sibling"],
    ["[/x]", "fails in 2", "Spearman of distance and cosine similarity", "3 chosen"],
]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _printed(monkeypatch: pytest.MonkeyPatch, columns: int | None, spare: tuple[str, ...] = ()) -> str:
    stream = io.StringIO() if columns is None else _Terminal()
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout", stream)
    print_table("title", HEADER, ROWS, spare=spare, notes=["settings: whose they are", "holds: it is met"])
    return stream.getvalue()


def _plain(text: str) -> list[str]:
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]


def test_each_row_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _printed(monkeypatch, None)
    assert "\x1b" not in text
    for row in ROWS:
        assert any(all(cell in line for cell in row) for line in text.splitlines())


def test_spare_columns_go_with_their_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = (_printed(monkeypatch, columns, ("settings",)) for columns in (120, 50))
    assert ("sibling" in wide, "settings: whose they are" in wide) == (True, True)
    assert ("sibling" in narrow, "settings:" in narrow, "holds: it is met" in narrow) == (False, False, True)


def test_a_spare_column_may_have_a_name_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout", stream := _Terminal())
    print_table("title", ["run", "loss [a b]"], [["x" * 39, "0.100"]], spare=["loss [a b]"])
    assert "not shown in 40 columns: loss [a b]\n" in stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, _Terminal])
def test_characters_of_two_columns_are_whole(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
) -> None:
    monkeypatch.setattr("sys.stdout", printed := stream())
    print_table("title", ["語", "n"], [["中文字符", "1"], ["日本", "2"]])
    assert {"中文字符  1", "日本      2"} <= {*_plain(printed.getvalue())}


def test_a_terminal_that_cannot_redraw_a_line_is_as_wide_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdout", stream := _Terminal())
    print_table("title", ["x", "y"], [["x" * 60, "y" * 50]])
    assert "x" * 60 + "  " + "y" * 50 in _plain(stream.getvalue())


@given(
    st.lists(st.lists(st.text("ab", max_size=30), min_size=3, max_size=3), max_size=4), st.integers(40, 90)
)
def test_every_word_is_whole_in_lines_that_fit(rows: list[list[str]], width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream := _Terminal())
        patch.setenv("COLUMNS", str(width))
        print_table("title", ["x", "y", "z"], rows)
    lines = _plain(stream.getvalue())
    assert max(map(len, lines)) <= width
    assert {cell for row in rows for cell in row if cell} <= {word for line in lines for word in line.split()}


def test_characters_that_steer_or_cannot_be_written(tmp_path: Path) -> None:
    assert printable("a\x1b[31mb\x07\x9bγ\udc80") == "a?[31mb??γ\udc80"
    with (tmp_path / "out").open("w", encoding="ascii") as file:
        print("γ = 0.8 \udc80", file=lenient(file))
    assert (tmp_path / "out").read_text() == "\\u03b3 = 0.8 \\udc80\n"


@given(st.integers(20, 100))
def test_a_command_to_be_copied_stays_in_one_piece(width: int) -> None:
    command = "anchorflow compare runs/mine --out runs/report"
    lines = filled(f"some words before the command to be given: {command}; some words behind it", width)
    assert command in lines
    assert " ".join(lines.split()).count("words") == 2
