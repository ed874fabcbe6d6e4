"""Files of plain data: what is read, and what is refused without waiting or filling the memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from theory import InputError, Task
from theory.reading import LARGEST_FILE, load_json, load_toml, parse_toml
from theory.task.task import task_from_dict


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('"γ" = [0.8]\n', encoding="utf-8")
    assert load_toml(tmp_path / "a.toml") == {"γ": [0.8]}
    (tmp_path / "a.json").write_text(json.dumps([1, {"a": 2}]))
    assert load_json(tmp_path / "a.json") == [1, {"a": 2}]


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


def test_a_file_too_large_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(InputError, match="larger than 16 MiB"):
        load_toml(tmp_path / "large.toml")


@pytest.mark.parametrize("keys", ["1..100000000000", f"1..{'9' * 5000}", f"{'1' * 30}..{'1' * 30}"])
def test_a_range_without_end_is_refused(keys: str) -> None:
    table = {"n_anchors": 1, "length": 2, "vocab_size": 9, "reasoning_anchors": [1]}
    with pytest.raises(InputError, match="keys = "):
        task_from_dict(table | {"keys": keys})


def test_a_task_is_read_from_a_path_or_from_text_alone() -> None:
    assert Task.from_toml(Task.paper().to_toml()) == Task.paper()
    with pytest.raises(InputError, match="neither a path nor text"):
        Task.from_toml(b"keys = 1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not valid TOML"):
        parse_toml("a = ")
