"""Run bad command lines in this process, in a folder with files that none of them may touch."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from pathlib import Path
from unittest.mock import patch

from tests.fuzz.command_lines import TINY, Case
from tests.fuzz.walk import Ending, Hang, limited
from validate.cli import main

SECONDS = 30.0
MEMORY = 2 * 2**30
"""What the machine is taken to have, so that the cases end alike on all."""
CODES = {0, 1, 2, 3, 130}
"""The exit codes that ``anchorflow --help`` promises."""


class Sandbox:
    """A folder with a user's files, and the paths that the cases name.

    Parameters
    ----------
    folder : Path
        An empty folder; commands run in it.
    """

    def __init__(self, folder: Path) -> None:
        import tomli_w

        self.folder = folder
        (folder / "precious" / "thesis").mkdir(parents=True)
        for name in ("notes.md", "config.json", "thesis/chapter.tex", "emb-mlp.safetensors"):
            (folder / "precious" / name).write_text('{"format_version": 1, "name": "mine"}')
        (folder / "link").symlink_to("precious")
        os.mkfifo(folder / "pipe.toml")
        (folder / "binary.toml").write_bytes(bytes(range(256)))
        (folder / "empty.toml").touch()
        (folder / "notes.txt").write_text("a dog saw a cat\n\na cat saw a dog\n\n" * 30)
        (folder / "tiny.toml").write_text(tomli_w.dumps(TINY))
        self._kept = {*folder.iterdir(), *(folder / "precious").rglob("*")}
        self._texts = {file: file.read_text() for file in (folder / "precious").rglob("*") if file.is_file()}

    def ending(self, case: Case) -> Ending:
        """Run a case and return how it ended; leave the folder as it was found."""
        if case.content is not None:
            (self.folder / "case.toml").write_bytes(case.content)
        how, message = _run(case)
        if not self._is_whole():
            how, message = "deletion", "a user's file was changed or deleted"
        self._restore()
        return Ending(case.name, " ".join(case.arguments)[:120], "", how, message)

    def _is_whole(self) -> bool:
        return all(file.is_file() and file.read_text() == text for file, text in self._texts.items())

    def _restore(self) -> None:
        for entry in {*self.folder.iterdir(), *(self.folder / "precious").rglob("*")} - self._kept:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        for file, text in self._texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def _captured(case: Case, out: io.StringIO, err: io.StringIO) -> int:
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        return main(case.arguments)


def _run(case: Case) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        with patch("theory.memory.machine_memory", return_value=MEMORY), limited(SECONDS):
            code: object = _captured(case, out, err)
    except Hang:
        return "hang", ""
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:
        return type(error).__name__, str(error)[:120]
    said = err.getvalue().strip()
    if code not in CODES or "Traceback" in said:
        return f"exit code {code}", said[-120:]
    if code == 2 and not (said.splitlines() and said.splitlines()[-1].startswith("anchorflow")):
        return "no reason given", said[-120:]
    return ("refused" if code == 2 else "accepted"), said[-120:]
