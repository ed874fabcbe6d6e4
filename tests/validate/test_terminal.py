"""What terminals and pipes show: words that are whole, lines that fit, progress, streams out of order."""

import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from sim import Progress as RunProgress
from tests.validate.conftest import tiny_config
from tests.validate.pseudo_terminal import COMMAND, ENVIRONMENT, in_terminal
from tests.validate.test_cli import CONFIG
from validate.commands.claims import _print_answer
from validate.judge import presentation
from validate.terminal import progress as module
from validate.terminal.output import filled, lenient, print_table, printable
from validate.terminal.progress import show_progress, track, training_progress


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny.toml").write_text(CONFIG)
    return tmp_path


def _epochs(n):
    return ["train", "tiny.toml", "--out", "runs", "--workers", "1", "--training.epochs", str(n)]


def test_a_training_is_interrupted_and_resumed_in_a_terminal(forked, folder):
    stopped = in_terminal(forked, _epochs(1_000), folder, interrupt_at=r"epochs: [1-9]\d*/2000")
    assert stopped.code == 130, stopped.raw
    assert "continue them with the same command and --resume" in stopped.text
    assert "Traceback" not in stopped.raw
    arguments = ["train", "--resume", "runs", "--workers", "1"]
    resumed = in_terminal(forked, arguments, folder, interrupt_at=r"epochs: [1-9]\d*/\d+")
    assert resumed.code == 130, resumed.raw
    assert not re.search(r"epochs: \d+/2000", resumed.raw)  # What was done is not done again.


@pytest.mark.parametrize("columns", [80, pytest.param(200, marks=pytest.mark.long)])
def test_a_training_ends_with_a_table_in_a_terminal(forked, folder, columns):
    shown = in_terminal(forked, _epochs(20), folder, columns)
    assert shown.code == 0, shown.raw
    assert re.search(r"training epochs: \d+/40", shown.raw)
    assert "training epochs" not in shown.text  # The bar is gone.
    assert any(line.startswith("runs/gamma0.8_seed1") for line in shown.lines)
    assert max(map(len, shown.lines)) <= columns


@pytest.mark.parametrize(
    ("shell", "code", "words"),
    [
        ("| head -1", 0, ""),
        (">&-", 2, "standard output = 'closed': nothing can be printed"),
        (">/dev/full", 2, "standard output cannot be written: No space left on device"),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
        ("2>&1 | head -1", 0, ""),
    ],
)
def test_streams_that_fail(folder, shell, code, words):
    line = f"{shlex.join(COMMAND)} derive {shell}"
    command = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr + done.stdout) == (code, False)
    assert done.stderr.strip().removeprefix("anchorflow: ").startswith(words)
    assert len(done.stderr.splitlines()) == (1 if words else 0)


def test_a_closed_standard_error_is_closed_for_no_worker():
    code = "import subprocess; from validate.terminal.output import prepare_streams; prepare_streams(); "
    code += "subprocess.run(['sh', '-c', ': >&2'], check=True)"
    line = ["bash", "-c", '"$0" -c "$1" 2>&-', COMMAND[0], code]
    assert subprocess.run(line, env=ENVIRONMENT, check=False).returncode == 0


@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_names_are_no_markup(folder, monkeypatch, cli):
    """A path, a run and a mapping whose names would end or begin a style of rich."""
    monkeypatch.chdir(folder)
    text = CONFIG.replace('reasoning_anchors = "4..7"\nmemory_anchors = "1..3"', "")
    mapping = '[[task.mappings]]\nname = "[red]"\nanchors = "4..7"\nrule = "sum"\n'
    Path("[/]").mkdir(parents=True)
    Path("[/]/[bold].toml").write_text(text.replace("[model]", f"{mapping}\n[model]"))
    for arguments, shown in (
        (["train", "[/]/[bold].toml", "--out", "[/x]", "--workers", "1"], "[/x]/gamma0.8_seed1"),
        (["predict", "[/]/[bold].toml"], "[red] anchor"),
        (["compare", "[/x]", "--out", "[red]"], "[red]/report.html"),
    ):
        assert shown in cli(*arguments).out
    assert "[/y]" in cli("study", "[/y]", code=2).err


HEADER = ["run", "verdict", "measure", "settings"]
ROWS = [
    ["runs/mine/gamma0.8_seed0", "partly, 1 of 2", "share of the attention", "12 paper, 6 sibling"],
    ["[/x]", "fails in 2", "Spearman of distance and cosine similarity", "3 chosen"],
]


def _stream(monkeypatch, columns, term="xterm"):
    """Print into a terminal of so many columns, or into a pipe for None."""
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout", stream := io.StringIO())
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    return stream


def _printed(monkeypatch, columns, header, rows, term="xterm", **options):
    stream = _stream(monkeypatch, columns, term)
    print_table("title", header, rows, **options)
    return stream.getvalue()


def _plain(text):
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]


def test_each_row_is_one_line_in_a_pipe(monkeypatch):
    text = _printed(monkeypatch, None, HEADER, ROWS)
    assert "\x1b" not in text
    for row in ROWS:
        assert any(all(cell in line for cell in row) for line in text.splitlines())


def test_a_row_of_letters_with_accents_of_their_own_is_one_line_in_a_pipe(monkeypatch):
    text = _printed(monkeypatch, None, ["words"], [["i\u0307stanbul e\u0301te\u0301 ja"]])
    assert _plain(text) == ["title", "words", "i\u0307stanbul e\u0301te\u0301 ja", ""]


def test_a_row_of_the_answer_goes_on_below_its_own_text(monkeypatch):
    monkeypatch.setattr(presentation, "answer_lines", lambda _: [" 8 ~ " + "geometry " * 12])
    stream = _stream(monkeypatch, 80)
    _print_answer([])
    first, second, *_ = stream.getvalue().splitlines()
    assert first.startswith(" 8 ~ geometry")
    assert len(first) <= 80
    assert second.startswith("     geometry")


def test_a_list_of_cells_leaves_out_the_empty_ones(monkeypatch):
    printed = _printed(monkeypatch, 40, ["first", "second"], [["a" * 30, ""], ["b" * 30, "c" * 30]])
    names = [line.split(":")[0].strip() for line in _plain(printed)[1:4]]
    assert names == ["first", "first", "second"]


def test_spare_columns_go_with_their_explanation_and_may_have_names_in_brackets(monkeypatch):
    options = {"spare": ["settings"], "notes": ["settings: whose they are", "holds: it is met"]}
    wide, narrow = (_printed(monkeypatch, columns, HEADER, ROWS, **options) for columns in (120, 50))
    assert ("sibling" in wide, "settings: whose they are" in wide) == (True, True)
    assert ("sibling" in narrow, "settings:" in narrow, "holds: it is met" in narrow) == (False, False, True)
    header, row = ["run", "loss [a b]"], ["x" * 39, "0.100"]
    printed = _printed(monkeypatch, 40, header, [row], spare=["loss [a b]"])
    assert "not shown in 40 columns: loss [a b]\n" in printed


@pytest.mark.parametrize("columns", [None, 80])
def test_characters_of_two_columns_are_whole(monkeypatch, columns):
    printed = _printed(monkeypatch, columns, ["語", "n"], [["中文字符", "1"], ["日本", "2"]])
    assert {"中文字符  1", "日本      2"} <= {*_plain(printed)}


def test_a_terminal_that_cannot_redraw_a_line_is_as_wide_as_it_says(monkeypatch):
    printed = _printed(monkeypatch, 120, ["x", "y"], [["x" * 60, "y" * 50]], "dumb")
    assert "x" * 60 + "  " + "y" * 50 in _plain(printed)


@given(
    st.lists(st.lists(st.text("ab", max_size=30), min_size=3, max_size=3), max_size=4), st.integers(40, 90)
)
def test_every_word_is_whole_in_lines_that_fit(rows, width):
    with pytest.MonkeyPatch.context() as patch:
        lines = _plain(_printed(patch, width, ["x", "y", "z"], rows))
    assert max(map(len, lines)) <= width
    assert {cell for row in rows for cell in row if cell} <= {word for line in lines for word in line.split()}


def test_characters_that_steer_or_cannot_be_written(tmp_path):
    assert printable("a\x1b[31mb\x07\x9bγ\udc80") == "a?[31mb??γ\udc80"
    with (tmp_path / "out").open("w", encoding="ascii") as file:
        print("γ = 0.8 \udc80", file=lenient(file))
    assert (tmp_path / "out").read_text() == "\\u03b3 = 0.8 \\udc80\n"


@given(st.integers(20, 100))
def test_a_command_to_be_copied_stays_in_one_piece(width):
    command = "anchorflow compare runs/mine --out runs/report"
    lines = filled(f"some words before the command to be given: {command}; some words behind it", width)
    assert command in lines
    assert " ".join(lines.split()).count("words") == 2


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when a test says so."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def test_a_pipe_gets_few_plain_lines_and_a_library_s_user_none(clock, capsys):
    with show_progress():
        for _ in track(range(100), "judging claims"):
            clock[0] += 0.5
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  judging claims: 4/100, 2.0 per second, 48 s left"
    assert lines[1] == "  judging claims: 34/100, 2.0 per second, 33 s left"
    assert lines[-1] == "  judging claims: 100/100, 2.0 per second, 0 s left"
    assert len(lines) == 5
    for _ in track(range(10), "judging claims"):
        clock[0] += 10
    assert capsys.readouterr() == ("", "")


def test_training_in_python_shows_its_epochs_where_it_was_asked_to(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FIRST_AFTER", 0.0)
    config = tiny_config()
    n_epochs = len(config.members()) * config.training.epochs
    with show_progress():
        sim.train(config, tmp_path / "shown")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"  training epochs: {n_epochs}/{n_epochs}, ")
    with show_progress():
        sim.train(config, tmp_path / "told", report=lambda progress: None)
    sim.train(config, tmp_path / "silent")
    assert capsys.readouterr().err == ""


def test_what_is_printed_beside_a_bar_stays_in_its_pipe(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    with show_progress():
        for number in track(range(2), "drawing figures"):
            print("drawn:", number)
    assert capsys.readouterr().out == "drawn: 0\ndrawn: 1\n"
    assert "drawing figures: 0/2" in terminal.getvalue()


def test_epochs_are_timed_without_the_loading_of_workers_and_those_that_a_run_will_not_take(clock, capsys):
    with training_progress(100) as report:
        for seconds in (20, *[0.5] * 99):
            clock[0] += seconds
            report(RunProgress("run", 1, 100))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  training epochs: 1/100"
    assert lines[1] == "  training epochs: 31/100, 2.0 per second, 34 s left"
    assert lines[-1] == "  training epochs: 100/100, 2.0 per second, 0 s left"
    with training_progress(20) as report:
        for run, ends in (("short", 4), ("whole", 10)):
            for epoch in range(1, ends + 1):
                clock[0] += 20
                report(RunProgress(run, epoch, 10, has_ended=epoch == ends))
    lines = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines[2:4] == ["3/20, 20.0 s each, 6 min left", "4/14, 20.0 s each, 3 min left"]
    assert lines[-1] == "14/14, 20.0 s each, 0 s left"
