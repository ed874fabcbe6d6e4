"""Files of plain data: what is read, and what is refused without waiting or filling the memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from theory import InputError, Task
from theory.reading import DEEPEST, as_path, is_file, is_folder, load_json, load_toml
from theory.task.task import task_from_dict


@pytest.mark.parametrize("load", [load_toml, load_json])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = [" * 3, "not valid"),
        (b"a = \xff", "not text in UTF-8"),
        (b"a = " + b"[" * 20_000 + b"]" * 20_000, "nested more than 50|not valid JSON"),
        (b'{"a": ' * 20_000 + b"1" + b"}" * 20_000, "nested more than 50|not valid TOML"),
        (b"[" + b".".join([b"a"] * 200) + b"]\n", "nested more than 50|not valid JSON"),
        (b"a = " + b"9" * 5000, "not valid"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, load: object, content: bytes, words: str) -> None:
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        load(tmp_path / "bad")  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"file = {str(tmp_path / 'bad')!r}: ")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match="not a regular file"):
        load_toml(tmp_path / "pipe.toml")


@pytest.mark.parametrize(
    "path", ["/dev/zero", "/", "nothing.toml", "file/below.toml", "x" * 300, "a\0b", "/proc/self/mem"]
)
def test_a_path_to_no_file_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file = "):
        load_toml(tmp_path / path)


@pytest.mark.parametrize("keys", ["1..100000000000", f"1..{'9' * 5000}", f"{'1' * 30}..{'1' * 30}"])
def test_a_range_without_end_is_refused(keys: str) -> None:
    table = {"n_anchors": 1, "length": 2, "vocab_size": 9, "reasoning_anchors": [1]}
    with pytest.raises(InputError, match="keys = "):
        task_from_dict(table | {"keys": keys})


def test_limits_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    for depth in (DEEPEST, DEEPEST + 1):
        for load, text in ((load_json, "{}1{}"), (load_toml, "a = {}1{}")):
            n = depth - (load is load_toml)  # A table is a level, too.
            file.write_text(text.format("[" * n, "]" * n))
            if depth == DEEPEST:
                assert load(file)
                continue
            with pytest.raises(InputError, match=f"more than {DEEPEST}"):
                load(file)
    monkeypatch.setattr("theory.reading.LARGEST_FILE", 10)
    file.write_text("a = 123456")
    assert load_toml(file) == {"a": 123456}
    file.write_text("a = 1234567")
    with pytest.raises(InputError, match="larger than"):
        load_toml(file)


def test_a_name_that_no_system_allows_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("x" * 300, "a\0b", "file/below", "nothing"):
        assert not is_file(tmp_path / name)
        assert not is_folder(tmp_path / name)
    assert (is_file(tmp_path / "file"), is_folder(tmp_path)) == (True, True)


def test_the_mark_that_some_editors_put_before_a_text_is_passed_over(tmp_path: Path) -> None:
    for load, text in ((load_json, '{"a": 1}'), (load_toml, "a = 1")):
        (tmp_path / "file").write_text(text, encoding="utf-8-sig")
        assert load(tmp_path / "file") == {"a": 1}


def test_a_home_folder_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match=r"^out = "):
        as_path("out", "~no-such-user/runs")
    assert as_path("out", "~/runs") == Path.home() / "runs"


def test_a_file_is_named_in_a_refusal_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e").write_text("keys = [1]\nn_anchors = 0\nlength = 2\nvocab_size = 9\nmemory_anchors = [2]")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^e: n_anchors = 0: "):
        Task.from_toml(Path("e"))
