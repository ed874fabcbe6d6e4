"""The checksums of files that this program wrote into a folder: no other is ever replaced or deleted.

A JSON object from file names to SHA-256 digests. A file is listed before it is written, so that a kill leaves
no file unlisted: one that is being replaced has two digests, the new one and the one before. So has one that
lines are appended to, which after a kill may end with a part of a line.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sim.errors import DamagedError
from sim.runs.files import encoded, entries, is_leftover, read_regular, write_atomically, write_json
from sim.runs.records import Digests, read_record
from theory import InputError

Listed = dict[str, tuple[str, ...]]
"""The digests that each file may have, the newest first."""


@dataclass(frozen=True)
class Manifest:
    """A folder whose files are listed in one of them, ``name``."""

    name: ClassVar[str] = "manifest.json"
    path: Path

    def listed(self) -> Listed:
        """Return the listed files, none without a list; refuse a list that cannot be read."""
        file = self.path / self.name
        try:
            lines = read_record(Digests, read_regular(file))
        except FileNotFoundError:
            return {}
        except (OSError, DamagedError) as error:
            problem = "not a list of checksums" if isinstance(error, DamagedError) else str(error)
            raise InputError("manifest", str(file), problem, "restore it, or choose another folder") from None
        return {name: (known,) if isinstance(known, str) else tuple(known) for name, known in lines.items()}

    def verified(self, name: str) -> bytes:
        """Return a file's content if it is as listed; else raise FileNotFoundError or DamagedError."""
        for _ in range(2):  # Between the two readings its writer may replace both.
            try:
                content = read_regular(self.path / name)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise DamagedError(f"cannot be read ({error.strerror})") from None
            known = self.listed().get(name)
            if known and (ours := _as_listed(content, known)) is not None:
                return ours
            problem = "has no checksum" if known is None else "differs from its checksum"
        raise DamagedError(f"{problem} in {self.name}")

    def foreign(self) -> list[Path]:
        """Return entries that this program did not write, or that others have changed, links included."""
        listed, foreign = self.listed(), []
        for entry in entries(self.path):
            name = entry.relative_to(self.path).as_posix()
            if name == self.name or is_leftover(entry):
                continue
            is_plain = entry.is_file() and not entry.is_symlink()
            if not is_plain or _as_listed(read_regular(entry), listed.get(name, ())) is None:
                foreign.append(entry)
        return foreign

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a file, or replace one that nobody changed since this program wrote it; else InputError."""
        data, file = encoded(content), self.path / name
        listed, new = self.listed(), digest(data)
        before = self._digest_before(name, listed, new)
        file.parent.mkdir(parents=True, exist_ok=True)
        self._save(listed | {name: (new,) if before in (None, new) else (new, before)})
        if before != new:
            write_atomically(file, data)
            self._save(listed | {name: (new,)})
        return file

    def append(self, name: str, line: str) -> None:
        """Add a line to a file that nobody changed since this program wrote it; else InputError.

        The digest before stays listed beside the new one until the file is written or settled.
        """
        file, listed = self.path / name, self.listed()
        before = self._digest_before(name, listed)
        if before is None:
            raise _refused(file, "was moved or deleted")
        self._save(listed | {name: (digest(read_regular(file) + line.encode()), before)})
        with file.open("ab") as opened:
            opened.write(line.encode())
            opened.flush()
            os.fsync(opened.fileno())

    def settle(self, name: str) -> None:
        """List a file's newest digest alone, once it is written."""
        listed = self.listed()
        if len(listed[name]) > 1:
            self._save(listed | {name: listed[name][:1]})

    def mend(self, name: str) -> None:
        """Cut off the part of a line that a kill left at a file's end."""
        file, known = self.path / name, self.listed().get(name, ())
        if file.is_file() and not file.is_symlink():
            content = read_regular(file)
            if (ours := _as_listed(content, known)) is not None and ours != content:
                write_atomically(file, ours)

    def remove(self, name: str) -> None:
        """Delete a file that this program wrote, if it exists."""
        if self._digest_before(name, self.listed()) is not None:
            (self.path / name).unlink()
        self.forget(name)

    def forget(self, name: str) -> None:
        """Take a file off the list."""
        self._save({other: known for other, known in self.listed().items() if other != name})

    def _digest_before(self, name: str, listed: Listed, new: str = "") -> str | None:
        """Return the digest of our own file, or one with the ``new`` content; None without; refuse others."""
        file = self.path / name
        if Path(os.path.realpath(file)) != Path(os.path.realpath(self.path)) / name or name == self.name:
            raise _refused(file, "is a link, or not a file of this folder")
        if not file.exists():
            return None
        if not file.is_file():
            raise _refused(file, "is not a regular file")
        before = digest(read_regular(file))
        if before not in (*listed.get(name, ()), new):
            how = "was changed since this program wrote it"
            raise _refused(file, how if name in listed else "was not written by this program")
        return before

    def _save(self, listed: Listed) -> None:
        file = self.path / self.name
        if file.is_symlink():
            raise _refused(file, "is a link")
        value = {name: known if len(known) > 1 else known[0] for name, known in listed.items()}
        write_json(file, dict(sorted(value.items())))


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _as_listed(content: bytes, known: tuple[str, ...]) -> bytes | None:
    """Return what a file holds, without a last line that a kill cut short; None if it is not as listed."""
    if digest(content) in known:
        return content
    whole, _, part = content.rpartition(b"\n")
    cut_short = len(known) > 1 and part.startswith(b"{") and digest(whole + b"\n") in known
    return whole + b"\n" if cut_short else None


def _refused(path: Path, problem: str) -> InputError:
    remedy = "move it away, or choose another folder"
    return InputError("out", str(path), f"{problem}, so it stays as it is", remedy)
