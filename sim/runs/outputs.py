"""Files that commands write: they are checked before any work, and files of others are never replaced."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sim.runs.files import entries, is_leftover, only_writer, write_atomically, writing
from sim.runs.folder import is_run_folder
from sim.runs.manifest import Manifest, digest
from theory import InputError

PATIENCE = 60.0
"""Seconds to wait for another command that writes into the same folder."""


class OutputFolder(Manifest):
    """A folder that a command writes into, with a list of what it wrote."""

    def check(self, names: Iterable[str] = (), folders: Iterable[str] = ()) -> None:
        """Before any work, refuse a folder that cannot be written, or where others' files would be replaced.

        ``names`` will be written, and files of any name in the subfolders ``folders``. A run folder, or any
        folder inside one, is refused: training with ``overwrite`` deletes it with all its contents.
        """
        with writing(self.path):
            _check_no_run("out", self.path, self.path)
            _try_to_write(self.path)
            there = [file for name in folders for file in entries(self.path / name) if not is_leftover(file)]
            listed = self.listed()
            for name in (*names, *(file.relative_to(self.path).as_posix() for file in there)):
                self._digest_before(name, listed)

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file, or replace one that was written before and not changed since; else InputError."""
        # Another command that writes here adds to the same list.
        with only_writer(self.path / self.name, wait=PATIENCE), writing(self.path):
            return super().write(name, content)

    def remove(self, name: str) -> None:
        """Delete a file that this program wrote, if it exists."""
        with only_writer(self.path / self.name, wait=PATIENCE), writing(self.path):
            super().remove(name)


@dataclass(frozen=True)
class OutputFile:
    """A file that a command writes; an existing one is kept unless ``overwrite`` is set.

    A link is kept, and its target is written. ``argument`` is the name of the argument that gave the path.
    """

    path: Path
    argument: str = "out"
    overwrite: bool = False

    def check(self) -> Path:
        """Return the file to write; before any work, refuse an existing file, a bad place or a run folder."""
        with writing(self.path, self.argument):
            target = Path(os.path.realpath(self.path))
            # The real path of a pipe, to which /dev/stdout may lead, does not exist.
            if target.is_symlink() or (self.path.exists() and not self.path.is_file()):
                raise OSError(None, "Is a folder, a pipe, a device, or a link that leads back to itself")
            _check_no_run(self.argument, self.path, target.parent)
            # An empty file, such as mktemp makes, has nothing to lose.
            if not self.overwrite and target.exists() and target.stat().st_size > 0:
                remedy = "choose another name, or ask for overwrite=True"
                raise InputError(self.argument, str(self.path), "exists already", remedy)
            _try_to_write(target.parent)
        return target

    def write(self, content: bytes | str) -> None:
        """Write the whole file, or leave the existing one and raise InputError."""
        target = self.check()
        with writing(self.path, self.argument):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, content)


def file_name(text: str) -> str:
    """Return a file name for any text: different texts get different names."""
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", text)
    same = plain == text and 0 < len(text) < 100 and text[0] not in "._"
    return plain if same else f"_{plain[:80]}_{digest(text.encode(errors='surrogatepass'))[:8]}"


def _check_no_run(argument: str, path: Path, folder: Path) -> None:
    """Refuse a run folder, or a folder inside one."""
    real = Path(os.path.realpath(folder))
    for run in (real, *real.parents):
        # Another program may have a config.json as well.
        if is_run_folder(run) and (run / Manifest.name).exists():
            problem = f"{'is' if run == Path(os.path.realpath(path)) else 'is in'} the folder of a run, {run}"
            raise InputError(argument, str(path), problem, "choose another folder")


def _try_to_write(folder: Path) -> None:
    """Create a folder's missing parts under a temporary name: another command may be about to use its own."""
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    with tempfile.TemporaryDirectory(dir=there, prefix=".anchorflow-") as tried:
        Path(tried, folder.relative_to(there)).mkdir(parents=True, exist_ok=True)
