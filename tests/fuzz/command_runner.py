"""Run command lines in this process, and say how they ended."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Ran:
    """How a command ended, "refused" and "accepted" as promised, and what it printed."""

    how: str
    out: str = ""
    said: str = ""

    def ending(self, name: str, variant: str, broken: str = "") -> Ending:
        """Return the ending of a case, which may have broken more than the command shows."""
        how = broken if broken and self.how in ("refused", "accepted") else self.how
        return Ending(name, variant, "", how, self.said[-120:])


def ran(arguments: Sequence[str]) -> Ran:
    """Run a command; a warning fails it as an exception does."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            patch("theory.errors.machine_memory", return_value=MEMORY),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            limited(SECONDS),
        ):
            warnings.simplefilter("error")
            code: object = main(list(arguments))
    except Hang:
        return Ran("hang")
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:
        return Ran(type(error).__name__, said=str(error))
    said = err.getvalue().strip()
    if code not in CODES or "Traceback" in said:
        how = f"exit code {code}"
    elif code == 2 and not said.split("\n")[-1].startswith("anchorflow"):
        how = "no reason given"
    else:
        how = "refused" if code == 2 else "accepted"
    return Ran(how, out.getvalue(), said)


class Sandbox:
    """A folder with a user's files, and the paths that the cases name; commands run in it.

    Parameters
    ----------
    folder : Path
        An empty folder.
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
        result = ran(case.arguments)
        is_whole = all(file.is_file() and file.read_text() == text for file, text in self._texts.items())
        self._restore()
        return result.ending(case.name, " ".join(case.arguments)[:120], "" if is_whole else "deletion")

    def _restore(self) -> None:
        for entry in {*self.folder.iterdir(), *(self.folder / "precious").rglob("*")} - self._kept:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        for file, text in self._texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
