"""Output folders: checked before any work, and files of others are never replaced."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sim.runs.files import write_atomically, writing
from sim.runs.manifest import Manifest, digest, entries
from sim.runs.places import is_run_folder, runs_inside
from theory import InputError


@dataclass(frozen=True)
class OutputFolder:
    """A folder that a command writes into, with a manifest of what it wrote."""

    path: Path

    def check(self, names: Iterable[str] = (), folders: Iterable[str] = ()) -> None:
        """Refuse, before any work, a folder that cannot be written, or holds files of others to be replaced.

        A run folder, and whatever is in one, is refused: training deletes it with all in it if asked to.

        Parameters
        ----------
        names : iterable of str
            Files that will be written.
        folders : iterable of str
            Folders inside it that will receive files of any name.

        Raises
        ------
        InputError
        """
        with writing(self.path):
            self._check_no_run()
            _try_to_write(self.path)
            manifest = Manifest(self.path)
            manifest.check(names)
            inside = [self.path / name for name in folders]
            files = [file for folder in inside if folder.is_dir() for file in entries(folder)]
            manifest.check(file.relative_to(self.path).as_posix() for file in files)

    def check_holds_no_runs(self) -> None:
        """Refuse a folder with run folders in it: what is written about runs stays apart from them.

        Raises
        ------
        InputError
        """
        with writing(self.path):
            run = next(filter(_is_own_run, runs_inside(self.path, 1)), None)
        if run is not None:
            raise self._refused(f"holds runs, such as {run.name}")

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file, or replace one that was written before and not changed since.

        Raises
        ------
        InputError
            If something else has that name, or it cannot be written.
        """
        with writing(self.path):
            self._check_no_run()
            self.path.mkdir(parents=True, exist_ok=True)
            Manifest(self.path).write(name, content)
        return self.path / name

    def _check_no_run(self) -> None:
        if (run := _run_around(self.path)) is not None:
            where = "is" if run == Path(os.path.realpath(self.path)) else "is in"
            raise self._refused(f"{where} the folder of a run, {run}")

    def _refused(self, problem: str) -> InputError:
        return InputError("out", str(self.path), problem, "choose another folder")


@dataclass(frozen=True)
class OutputFile:
    """A file that a command writes; one that is there is replaced only if such a command wrote it.

    A link stays, and the file that it leads to is written. A pipe or a device is written to as it is.

    Parameters
    ----------
    path : Path
    argument : str
        Which argument named it.
    is_own : callable
        From a file to whether such a command wrote it.
    """

    path: Path
    argument: str
    is_own: Callable[[Path], bool]

    def check(self) -> None:
        """Refuse a folder, a file of others, and any file in a run folder.

        Raises
        ------
        InputError
        """
        with writing(self.path, self.argument):
            self._check()

    def write(self, content: bytes | str) -> None:
        """Write it whole, or leave what is there.

        Raises
        ------
        InputError
            If it is refused, or cannot be written.
        """
        data = content.encode() if isinstance(content, str) else content
        with writing(self.path, self.argument):
            self._check()
            if self._is_stream():
                # Not made, should it be gone by now: then the system says so.
                with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CLOEXEC), "wb") as stream:
                    stream.write(data)
                return
            target = self._target
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, data)

    @property
    def _target(self) -> Path:
        return Path(os.path.realpath(self.path))

    def _is_stream(self) -> bool:
        """Return whether it is there and neither a file nor a folder."""
        return self.path.exists() and not (self.path.is_file() or self.path.is_dir())

    def _check(self) -> None:
        if self._is_stream():
            return
        target = self._target
        if target.is_dir() or target.is_symlink():
            # What is a link by now leads back to itself.
            number = errno.EISDIR if target.is_dir() else errno.ELOOP
            raise OSError(number, os.strerror(number))
        if (run := _run_around(target.parent)) is not None:
            raise self._refused(f"is in the folder of a run, {run}", "choose another place")
        # An empty file, as mktemp makes one, has nothing to lose.
        if target.exists() and target.stat().st_size > 0 and not self.is_own(target):
            problem = "was not written by this program, so it stays as it is"
            raise self._refused(problem, "move it away, or choose another name")

    def _refused(self, problem: str, remedy: str) -> InputError:
        return InputError(self.argument, str(self.path), problem, remedy)


def _run_around(folder: Path) -> Path | None:
    """Return the run folder that a folder is, or is in; None where there is none."""
    real = Path(os.path.realpath(folder))
    return next(filter(_is_own_run, (real, *real.parents)), None)


def _is_own_run(folder: Path) -> bool:
    """Return whether a folder is a run's and not one of another program that has a config.json as well."""
    own = any((folder / name).exists() for name in (Manifest.name, "metrics.jsonl"))
    return own and is_run_folder(folder)


def check_new_file(path: Path) -> None:
    """Refuse, before any work, a file that exists already or cannot be written."""
    with writing(path):
        if os.path.lexists(path):
            kind = "exists already" if stat.S_ISREG(path.lstat().st_mode) else "is not a regular file"
            raise InputError("out", str(path), kind, "move it away, or choose another name")
        _try_to_write(path.parent, path.name)


def write_new_file(path: Path, content: str) -> None:
    """Write a file that does not exist yet.

    Raises
    ------
    InputError
        If it exists by now, or cannot be written.
    """
    check_new_file(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def file_name(text: str) -> str:
    """Return a file name for any text: different texts get different names."""
    plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", text)
    same = plain == text and 0 < len(text) < 100 and text[0] not in "._"
    return plain if same else f"_{plain[:80]}_{digest(text.encode(errors='surrogatepass'))[:8]}"


def _try_to_write(folder: Path, name: str = "") -> None:
    """Make a folder and a file in it, and remove both again."""
    made = []
    try:
        for parent in reversed([folder, *folder.parents]):
            if not parent.exists():
                parent.mkdir()
                made.append(parent)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}."):
            pass
    finally:
        for parent in reversed(made):
            parent.rmdir()
